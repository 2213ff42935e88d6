/* Finding numbers that are none: NaN, and what is too large. */
#ifndef FERRY_RUN_FINITE_H
#define FERRY_RUN_FINITE_H

#include "autograd/params.h"

/* Whether all n numbers are finite. */
bool finite_all(const real *x, size_t n);

/* The name of the first parameter whose part of `block`, which is laid out like the parameters (their values, their
 * gradients), is not all finite; NULL if all are. */
const char *finite_first_bad(const Params *params, const real *block);

/* The name of the parameter whose part of the block, all of it finite, has the largest norm. */
const char *finite_largest(const Kernels *kernels, const Params *params, const real *block);

#endif
