#include "core/threads.h"

#include <omp.h>
#include <stdlib.h>
#include <unistd.h>

/* Some ten microseconds: a step has hundreds of parallel regions, and to sleep and be woken for each took an eighth of its
 * time. */
#define SPINS "2000"

void threads_wait_politely(char **argv)
{
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1); /* by its own name, or ps would call it "exe" */
    if (n <= 0 || setenv("OMP_WAIT_POLICY", "passive", 0) != 0 || setenv("GOMP_SPINCOUNT", SPINS, 0) != 0) return;
    path[n] = '\0';
    execv(path, argv);
}

void threads_set(int n)
{
    static int usual; /* what OMP_NUM_THREADS said, which omp_set_num_threads overwrites */
    if (!usual) usual = getenv("OMP_NUM_THREADS") ? omp_get_max_threads() : omp_get_num_procs();
    omp_set_num_threads(n > 0 ? n : usual);
}

int threads_count(void)
{
    return omp_get_max_threads();
}

int threads_self(void)
{
    return omp_get_thread_num();
}

ThreadScratch threads_scratch(Arena *arena, size_t elements)
{
    size_t unit = MEM_ALIGN / sizeof(real);
    ThreadScratch scratch = {.stride = (elements + unit - 1) / unit * unit};
    scratch.base = arena_alloc(arena, scratch.stride * (size_t)threads_count() * sizeof(real));
    return scratch;
}

real *threads_scratch_self(const ThreadScratch *scratch)
{
    return scratch->base + scratch->stride * (size_t)threads_self();
}
