#include "core/threads.h"

#include <omp.h>
#include <stdlib.h>

void threads_set(int n)
{
    if (n > 0) omp_set_num_threads(n);
    else if (!getenv("OMP_NUM_THREADS")) omp_set_num_threads(omp_get_num_procs());
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
