/* What computes: instruction set, matrix product, threads. */
#ifndef FERRY_TRAIN_MACHINE_H
#define FERRY_TRAIN_MACHINE_H

#include "core/error.h"
#include "train/options.h"

/* Set up kernels and threads as the options say; every command that computes calls this first. train.matmul = auto is our
 * packed kernel where it has AVX2 or AVX-512, where it measured faster than OpenBLAS, else OpenBLAS if it is there. */
bool machine_start(const Options *options, Error *error);

/* The kernels in use, for checkpoints and people: "packed avx512". */
const char *machine_kernel(void);

#endif
