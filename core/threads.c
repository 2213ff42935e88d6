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
    return omp_get_active_level() < omp_get_max_active_levels() ? omp_get_max_threads() : 1;
}

int threads_self(void)
{
    return omp_get_thread_num();
}

static size_t stride_of(size_t elements)
{
    const size_t unit = MEM_ALIGN / sizeof(real);
    return (elements + unit - 1) / unit * unit;
}

size_t threads_scratch_size(int n_threads, size_t elements)
{
    return (size_t)n_threads * stride_of(elements) * sizeof(real);
}

ThreadScratch threads_scratch(Arena *arena, size_t elements)
{
    return (ThreadScratch){.base = arena_alloc(arena, threads_scratch_size(threads_count(), elements)),
                           .stride = stride_of(elements)};
}

real *threads_scratch_self(const ThreadScratch *scratch)
{
    return scratch->base + scratch->stride * (size_t)threads_self();
}
