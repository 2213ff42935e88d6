/* What the kernels compute, once more: by the definitions, with plain loops, in double. Nothing here is fast. */
#ifndef FERRY_TESTS_NAIVE_H
#define FERRY_TESTS_NAIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/attention.h"
#include "core/error.h"
#include "core/compute.h"
#include "core/matmul.h"
#include "core/real.h"

/* Rounding errors are judged beside what was added up: a result in `real` may be off by TOLERANCE times the sum of the
 * absolute values of its terms. */
#ifdef FERRY_FP64
#define TOLERANCE 1e-13
#else
#define TOLERANCE 1e-5
#endif

/* A sum and the sum of its terms' absolute values */
typedef struct Sum {
    double value, size;
} Sum;

void sum_add(Sum *sum, double term);

/* Fail the test, with the kernel set's name and the message, unless |got - want| <= limit; `expect_near`: unless got is
 * within TOLERANCE * size of the sum's value. (libcheck's own assertions write to a file each time they hold: too slow for
 * millions of elements.) */
void expect_within(double got, double want, double limit, const char *format, ...) FERRY_PRINTF(4, 5);
void expect_near(double got, Sum want, const char *format, ...) FERRY_PRINTF(3, 4);
/* Unless the n elements are equal bit for bit */
void expect_same(const real *got, const real *want, int n, const char *format, ...) FERRY_PRINTF(4, 5);

/* Kernel sets that run here: for tcase_add_loop_test(tcase, test, 0, naive_n_sets()), in which naive_use_set(_i) is the
 * first line. */
int naive_n_sets(void);
void naive_use_set(int index);
/* What naive_use_set has chosen, and its kernels. NULL before. */
extern Compute naive_compute;
extern const Kernels *kernel;

/* As many threads as a program begins with */
int naive_n_processors(void);

/* A block of exactly n elements (n >= 1), so that AddressSanitizer sees every access beyond them; free with free. Uniform in
 * (-1, 1); the same bits for the same seed. */
real *naive_uniform(uint64_t seed, int n);
real *naive_copy(const real *x, int n);
/* In 0 .. n-1: the draws of a test are numbered. */
int naive_draw(uint64_t seed, int n);

/* Element (i, j) of the product: from `start` on, the sum in double; and the chain of (fused, if `fused`) multiply-adds in
 * increasing order of the inner dimension, in real. */
Sum naive_product(const Matmul *product, int i, int j, real start);
real naive_chain(const Matmul *product, int i, int j, real start, bool fused);

/* The 16-bit number `element` of a stream in the layout of random_group, from the scalar Philox; dropout's mask there */
uint32_t naive_bits(const RandomStream *stream, uint64_t element);
real naive_mask(const Dropout *dropout, uint64_t element);

/* gelu(x) and its derivative */
double naive_gelu(double x);
double naive_gelu_slope(double x);

/* Attention with all its weights in memory; results are dense, [n_q, width] and [n_k, width], lse [n_q]. The gradients,
 * if `backward`, are what has to be added. `weights` [n_q, n_k]: after the softmax, before dropout. */
typedef struct NaiveAttention {
    Sum *weights, *out, *lse, *gq, *gk, *gv;
} NaiveAttention;

NaiveAttention naive_attention(const AttentionHead *head, bool backward);
void naive_attention_free(NaiveAttention *attention);

#endif
