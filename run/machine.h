/* What computes, as the options say: instruction set, matrix product, threads. */
#ifndef FERRY_RUN_MACHINE_H
#define FERRY_RUN_MACHINE_H

#include "core/compute.h"
#include "core/error.h"
#include "options/options.h"

/* Choose what computes, and let the calling thread have train.threads threads (0: as many as it has, but no more than a quota of
 * processor time allows, unless OMP_NUM_THREADS says how many). train.matmul = auto is our packed kernel where it has AVX2 or
 * AVX-512, where it measured faster than OpenBLAS, else OpenBLAS if it is there. For tests, the environment may name another
 * instruction set (FERRY_ISA) and a unit of low precision (FERRY_UNIT). */
bool machine_start(const Options *options, Compute *compute, Error *error);

/* `wanted`, or fp32 with a warning that names the option if nothing here multiplies in that precision. */
Precision machine_precision(const Compute *compute, Precision wanted, const char *option);

#endif
