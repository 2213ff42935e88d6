/* Threads. Results never depend on how many run: work is cut by shapes alone (or each element's arithmetic has one order),
 * and
 * `#pragma omp parallel for` deals the pieces out. */
#ifndef FERRY_CORE_THREADS_H
#define FERRY_CORE_THREADS_H

#include "core/memory.h"
#include "core/real.h"

/* For main, first of all. GNU OpenMP's threads wait for each other by spinning for milliseconds, which costs ten times the time
 * when other programs want the processor, and gains little when none does. It reads its environment only while it loads:
 * unless the user has set it, let them spin for microseconds only, and start this program again. Where that can't be done, go
 * on. */
void threads_wait_politely(char **argv);

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
