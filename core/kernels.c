#include "core/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

extern const Kernels kernels_base;
#ifdef __x86_64__
extern const Kernels kernels_avx2, kernels_avx512;
#endif

Kernels kernel;

/* The sets that run here, best first. */
static const Kernels *set(int index)
{
    const Kernels *runnable[3];
    int n = 0;
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
        runnable[n++] = &kernels_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        runnable[n++] = &kernels_avx2;
#endif
    runnable[n++] = &kernels_base;
    return index < n ? runnable[index] : NULL;
}

const char *kernels_name(int index)
{
    const Kernels *candidate = set(index);
    return candidate ? candidate->name : NULL;
}

bool kernels_use(const char *name)
{
    for (int i = 0; set(i); i++)
        if (!strcmp(set(i)->name, name)) {
            kernel = *set(i);
            return true;
        }
    return false;
}

void kernels_init(void)
{
    const char *wanted = getenv("FERRY_ISA");
    kernel = *set(0);
    if (wanted && *wanted && !kernels_use(wanted))
        warn("FERRY_ISA=%s: no such instruction set here; using %s", wanted, kernel.name);
}
