/* Random bits as a function of their place, not as a state: Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as
 * easy as 1, 2, 3"). The key says what the bits are for, the counter where they are used; nothing is stored, so training
 * resumes exactly and results don't depend on the order in which threads ask. */
#ifndef FERRY_CORE_RANDOM_H
#define FERRY_CORE_RANDOM_H

#include <stdint.h>

typedef enum RandomPurpose {
    RANDOM_INIT = 1,    /* initial weights */
    RANDOM_DROPOUT = 2, /* dropout masks */
    RANDOM_SHUFFLE = 3, /* the order of the training pairs in an epoch */
    RANDOM_SAMPLE = 4,  /* sampling translations */
    RANDOM_TOY = 5,     /* the toy corpus */
    RANDOM_TEST = 6,
    RANDOM_SEGMENT = 7, /* BPE-dropout */
} RandomPurpose;

/* A stream of random bits: the key and the upper half of the counter. The lower half is the position in the stream. */
typedef struct RandomStream {
    uint32_t key[2];   /* seed, purpose, and the upper bits of a large place1 */
    uint32_t place[2]; /* upper half of the counter: e.g. (step, op) */
} RandomStream;

/* The stream of `purpose` under `seed` at a place, e.g. (epoch, 0) or (step, op). place1 < 2^RANDOM_PLACE_BITS: what doesn't fit
 * into the counter stands beside the purpose, in the key. */
enum { RANDOM_PLACE_BITS = 36 };
RandomStream random_stream(uint64_t seed, RandomPurpose purpose, uint32_t place0, uint64_t place1);

/* The four 32-bit words at `position` of the stream. */
void random_block(const RandomStream *stream, uint64_t position, uint32_t out[4]);

/* The word number `index` of the stream (four to a block). */
uint32_t random_word(const RandomStream *stream, uint64_t index);

/* Uniform in [0, 1) with 53 bits, from the block at `position`. */
double random_uniform(const RandomStream *stream, uint64_t position);

/* Uniform in 0 .. n-1 (n >= 1) without bias worth the name (64-bit multiply-shift), from the block at `position`. */
uint32_t random_below(const RandomStream *stream, uint64_t position, uint32_t n);

/* Standard normal (Box and Muller), from the block at `position`. */
double random_normal(const RandomStream *stream, uint64_t position);

#endif
