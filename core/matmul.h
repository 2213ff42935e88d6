/* The matrix product, on all threads.
 *
 * Two ways to compute it:
 *   packed    our own kernel (core/kernel_matmul.c): each element is one chain of fused multiply-adds in increasing k, so its
 *             bits depend on nothing but its row of A, its column of B and what it starts from: not on the batch, not on the
 *             cut, not on the threads.
 *   openblas  single-threaded OpenBLAS on tiles whose borders depend on shapes alone: bits don't depend on the threads, but a
 *             row's may on its place in the batch. For training only, and the reference that the other is measured beside. */
#ifndef FERRY_CORE_MATMUL_H
#define FERRY_CORE_MATMUL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/memory.h"
#include "core/precision.h"
#include "core/real.h"

/* Which operand lies transposed in memory. All matrices are row-major; strides are elements from row to row.
 *   NN  C[m, n] = A[m, k] B[k, n]       NT  B is [n, k]       TN  A is [k, m] */
typedef enum MatmulKind { MATMUL_NN, MATMUL_NT, MATMUL_TN } MatmulKind;

struct Compute; /* core/compute.h: what computes */

typedef struct Matmul {
    MatmulKind kind;
    int m, n, k;
    const real *a, *b;
    size_t a_stride, b_stride;
    real *c;
    size_t c_stride;
    const real *bias; /* [n], what each row starts from, or NULL */
    bool add;         /* without bias: start from C (else from 0) */
    Precision precision; /* fp32, or bf16 where matmul_can says so */
    bool a_rounded;      /* bf16: A went through matmul_round_rows */
} Matmul;

/* Compute it: by OpenBLAS if `compute` says so, in fp32. Scratch comes from the arena and goes back before it returns. Not from
 * inside a parallel region. */
void matmul(const struct Compute *compute, const Matmul *product, Arena *arena);

/* Bytes that it takes at most, whatever of this machine computes; what counts of the product are kind, m, n, k, b_stride. */
size_t matmul_scratch(const Matmul *product);

/* Round rows of fp32 to bf16 where they lie, each in the first half of its place: for products that take them as A, a_stride
 * unchanged, which then need not convert them. One thread; `rows` is as wide as a_stride or less. */
void matmul_round_rows(const struct Compute *compute, int m, int k, real *rows, size_t stride);

/* Whether `compute` multiplies in this precision; always true of fp32 and, but in the tests' fp64 build, of int8. */
bool matmul_can(const struct Compute *compute, Precision precision);

/* A weight matrix B^T, B being [n, k], packed once for many products C = init + A B^T, by what will multiply it. */
typedef struct MatmulWeights {
    const struct Kernels *kernels;
    const struct Unit *unit;           /* bf16, int8 */
    const struct Bf16Packing *packing; /* bf16 */
    Precision precision;
    int n, k;
    void *panels;        /* fp32: reals; bf16, int8: cells (core/units.h) */
    real *scale;         /* [n] int8: what a step of each column is worth */
    int32_t *column_sum; /* [n] int8: sum of the bytes */
} MatmulWeights;

/* Bytes that packed weights take; pack into `memory` of that size, 64-byte aligned, which the result points into. int8: k is
 * at most MATMUL_INT8_MAX_K, so that sums can't overflow. */
enum { MATMUL_INT8_MAX_K = 65536 };
size_t matmul_weights_size(const struct Compute *compute, Precision precision, int n, int k);
MatmulWeights matmul_pack_weights(const struct Compute *compute, Precision precision, int n, int k, const real *b,
                                  size_t b_stride, void *memory);

/* The product by our own kernels, OpenBLAS or not; kind, b and precision come from the weights. Each row of C depends on its
 * row of A alone. */
void matmul_packed(const Matmul *product, const MatmulWeights *weights, Arena *arena);

#endif
