/* What computes: instruction set, matrix product, threads. */
#ifndef FERRY_RUN_MACHINE_H
#define FERRY_RUN_MACHINE_H

#include "core/error.h"
#include "options/options.h"

/* Set up kernels and threads as the options say; every command that computes calls this first. train.matmul = auto is our
 * packed kernel where it has AVX2 or AVX-512, where it measured faster than OpenBLAS, else OpenBLAS if it is there. */
bool machine_start(const Options *options, Error *error);

/* `wanted`, or fp32 with a warning that names the option if this processor can't multiply in that precision. */
Precision machine_precision(Precision wanted, const char *option);

/* What computes products in this precision, for checkpoints and people: "packed avx512", "avx512-bf16 (avx512)". */
const char *machine_kernel(Precision precision);

#endif
