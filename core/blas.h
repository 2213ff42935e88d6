/* OpenBLAS, loaded at run time: so that whoever runs first can choose the kernel it picks (OPENBLAS_CORETYPE is read only while it
 * loads; the program does so: cli/startup.h), and so that all works, slower on old CPUs, where it is missing. */
#ifndef FERRY_CORE_BLAS_H
#define FERRY_CORE_BLAS_H

#include "core/error.h"
#include "core/matmul.h"

/* cblas_sgemm, in fp64 cblas_dgemm */
typedef void BlasGemm(int order, int transpose_a, int transpose_b, int m, int n, int k, real alpha, const real *a, int lda,
                      const real *b, int ldb, real beta, real *c, int ldc);

typedef struct Blas {
    BlasGemm *gemm;
    char name[32]; /* the kernel that it runs: "SkylakeX" */
} Blas;

/* Load libopenblas at the first call, set it single-threaded, and check a product against a plain loop. NULL with a message if
 * it isn't there or computes wrong results. The same at each call; constant, and there as long as the process. Where OpenBLAS
 * has threads of its own, others in the process that call it have one from then on. Not from inside a parallel region. */
const Blas *blas_load(Error *error);

/* C = init + A B by tiles, each one single-threaded call. See core/matmul.h. */
void blas_matmul(const Blas *blas, const Matmul *product, Arena *arena);

/* Bytes that it takes from the arena meanwhile. */
size_t blas_scratch(const Matmul *product);

/* A x B, single-threaded, the size of one call as given: for measuring the machine's peak. */
void blas_gemm(const Blas *blas, const Matmul *product);

#endif
