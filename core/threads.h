/* Threads. Results never depend on how many run: work is cut by shapes alone (or each element's arithmetic has one order),
 * and
 * `#pragma omp parallel for` deals the pieces out. */
#ifndef FERRY_CORE_THREADS_H
#define FERRY_CORE_THREADS_H

#include "core/memory.h"
#include "core/real.h"

/* Use n threads; 0: OMP_NUM_THREADS if set, else all cores. */
void threads_set(int n);
int threads_count(void);
/* The calling thread's number inside a parallel region, 0 outside. */
int threads_self(void);

/* Scratch for each thread: `elements` elements times threads_count(), from the arena; thread t's lies at t * elements
 * rounded up to a cache line, see scratch_self. Taken before the parallel region, released with the arena's mark. */
typedef struct ThreadScratch {
    real *base;
    size_t stride;
} ThreadScratch;

ThreadScratch threads_scratch(Arena *arena, size_t elements);
/* The calling thread's part */
real *threads_scratch_self(const ThreadScratch *scratch);

#endif
