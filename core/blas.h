/* OpenBLAS, loaded at run time: so that the kernel it picks can be chosen before it looks (OPENBLAS_CORETYPE is read only
 * while it loads), and so that the program runs, slower on old CPUs, where it is missing. */
#ifndef FERRY_CORE_BLAS_H
#define FERRY_CORE_BLAS_H

#include "core/error.h"
#include "core/matmul.h"

/* Load libopenblas, steer it to the kernel for this CPU unless the user did (OPENBLAS_CORETYPE), set it single-threaded, and
 * check a product against a plain loop. False with a message if it isn't there or computes wrong results. Call it before any
 * OpenMP region, once. */
bool blas_load(Error *error);

/* The kernel that OpenBLAS runs ("SkylakeX"), or NULL if it isn't loaded. */
const char *blas_name(void);

/* C = init + A B by tiles, each one single-threaded call. See core/matmul.h. */
void blas_matmul(const Matmul *product, Arena *arena);

/* A x B, single-threaded, the size of one call as given: for measuring the machine's peak. */
void blas_gemm(const Matmul *product);

#endif
