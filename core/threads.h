/* Threads. Results never depend on how many run: work is cut by shapes alone (or each element's arithmetic has one order), and
 * `#pragma omp parallel for` deals the pieces out. How many there are is the calling thread's own setting in OpenMP. */
#ifndef FERRY_CORE_THREADS_H
#define FERRY_CORE_THREADS_H

#include "core/memory.h"
#include "core/real.h"

/* Let what the calling thread computes have n threads from now on; 0 changes nothing: OpenMP begins with OMP_NUM_THREADS, else
 * with all processors that the process may use. */
void threads_set(int n);
/* The same until threads_end gives the calling thread back what it had, which threads_begin returns: for a library, whose caller
 * may use OpenMP, too. */
int threads_begin(int n);
void threads_end(int before);
/* How many a parallel region that the calling thread begins has at most: inside of another region, one, unless OpenMP was told to
 * nest them. */
int threads_count(void);
/* The calling thread's number inside a parallel region, 0 outside. */
int threads_self(void);

/* Scratch for each thread: `elements` elements, rounded up to whole cache lines, times threads_count(), from the arena. Taken
 * before the parallel region, released with the arena's mark. */
typedef struct ThreadScratch {
    real *base;
    size_t stride; /* elements from one thread's to the next one's */
} ThreadScratch;

/* Bytes that it takes for n threads */
size_t threads_scratch_size(int n_threads, size_t elements);
ThreadScratch threads_scratch(Arena *arena, size_t elements);
/* The calling thread's part */
real *threads_scratch_self(const ThreadScratch *scratch);

#endif
