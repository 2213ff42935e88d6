#include "core/kernels.h"

#include <string.h>

extern const Kernels kernels_base;
#ifdef __x86_64__
extern const Kernels kernels_avx2, kernels_avx512;
#endif

const Kernels *kernels_get(int index)
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

const Kernels *kernels_named(const char *name)
{
    const Kernels *set;
    for (int i = 0; (set = kernels_get(i)); i++)
        if (!strcmp(set->name, name)) return set;
    return NULL;
}
