/* The matrix product, on all threads.
 *
 * Two ways to compute it:
 *   packed    our own kernel (core/kernel_matmul.c): each element is one chain of fused multiply-adds in increasing k, so
 * its bits depend on nothing but its row of A, its column of B and what it starts from: not on the batch, not on the cut,
 *             not on the threads.
 *   openblas  single-threaded OpenBLAS on tiles whose borders depend on shapes alone: bits don't depend on the threads, but
 * a row's may on its place in the batch. For training only, and the reference that the other is measured beside. */
#ifndef FERRY_CORE_MATMUL_H
#define FERRY_CORE_MATMUL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/memory.h"
#include "core/real.h"

/* Which operand lies transposed in memory. All matrices are row-major; strides are elements from row to row.
 *   NN  C[m, n] = A[m, k] B[k, n]       NT  B is [n, k]       TN  A is [k, m] */
typedef enum MatmulKind { MATMUL_NN, MATMUL_NT, MATMUL_TN } MatmulKind;

typedef enum MatmulBackend { MATMUL_PACKED, MATMUL_OPENBLAS } MatmulBackend;

typedef struct Matmul {
    MatmulKind kind;
    int m, n, k;
    const real *a, *b;
    size_t a_stride, b_stride;
    real *c;
    size_t c_stride;
    const real *bias; /* [n], what each row starts from, or NULL */
    bool add;         /* without bias: start from C (else from 0) */
} Matmul;

/* Compute it. Scratch comes from the arena and goes back before it returns. Not from inside a parallel region. */
void matmul(const Matmul *product, Arena *arena);

/* The backend of `matmul`; its choice is the program's. MATMUL_OPENBLAS needs blas_load to have succeeded. */
void matmul_use(MatmulBackend backend);
MatmulBackend matmul_backend(void);
/* "packed avx512", "openblas SkylakeX" */
const char *matmul_name(void);

/* A weight matrix B^T, B being [n, k], packed once for many products (inference). Size in elements; pack; C = init + A B^T
 * by the packed kernel whatever the backend. product->b is the packed weights and its kind is ignored. */
size_t matmul_packed_size(int n, int k);
void matmul_pack_weights(int n, int k, const real *b, size_t b_stride, real *packed);
void matmul_packed(const Matmul *product);

#endif
