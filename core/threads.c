#include "core/threads.h"

#include <omp.h>
#include <stdlib.h>

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
