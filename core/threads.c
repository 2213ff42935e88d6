#include "core/threads.h"

#include <omp.h>

void threads_set(int n)
{
    if (n > 0) omp_set_num_threads(n);
}

int threads_begin(int n)
{
    const int before = omp_get_max_threads();
    threads_set(n);
    return before;
}

void threads_end(int before)
{
    omp_set_num_threads(before);
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
