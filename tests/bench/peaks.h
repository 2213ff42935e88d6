/* What this machine can do at best: the rates that training is measured beside. Each runs on all threads at once. */
#ifndef FERRY_TESTS_BENCH_PEAKS_H
#define FERRY_TESTS_BENCH_PEAKS_H

#include <stdbool.h>

#include "tests/bench/figure.h"

typedef struct Peak {
    const char *name, *unit;
    bool (*available)(void); /* on this CPU, in this build; NULL: always */
    double (*rate)(void);    /* one run, in `unit` */
} Peak;

/* By index; NULL after the last. PEAK_SGEMM and PEAK_COPY are always there. */
enum { PEAK_SGEMM, PEAK_SGEMM_LARGE, PEAK_BF16_AVX512, PEAK_BF16_AMX, PEAK_COPY };
const Peak *peaks_get(int index);

/* One run of single-threaded cblas_sgemm on 2048^3 on every thread at once, GFLOP/s of all together; our own kernel where
 * OpenBLAS is missing. */
double peaks_sgemm(void);

/* peaks_bf16.c: products of bf16 numbers with sums in fp32 that never leave the registers, `rounds` times on the calling
 * thread; returns how many operations that were. */
bool peaks_bf16_avx512_available(void);
double peaks_bf16_avx512(long rounds);
bool peaks_bf16_amx_available(void);
double peaks_bf16_amx(long rounds);

#endif
