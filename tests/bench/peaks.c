#include "tests/bench/peaks.h"

#include <string.h>

#include "core/compute.h"
#include "core/threads.h"
#include "system/progress.h"

enum { SGEMM_SIZE = 2048, LARGE_SIZE = 3072, COPY_BYTES = 64 << 20 };

/* Random numbers: a product of zeros costs less power, and so runs at a higher clock. */
static void fill(real *values, size_t n)
{
    const RandomStream stream = random_stream(1, RANDOM_TEST, 0, 0);
    uint32_t word[4];
    for (size_t i = 0; i < n; i++) {
        if (i % 4 == 0) random_block(&stream, i / 4, word);
        values[i] = (real)word[i % 4] / (real)(1u << 31) - 1;
    }
}

/* Each thread its own product (OpenBLAS), or one after another on all threads (our kernel). */
static double sgemm(int size)
{
    const size_t elements = (size_t)size * (size_t)size;
    const int n = threads_count();
    real *inputs = mem_alloc(2 * elements * sizeof(real)), *outputs = mem_alloc((size_t)n * elements * sizeof(real));
    fill(inputs, 2 * elements);
    memset(outputs, 0, (size_t)n * elements * sizeof(real));
    Matmul product = {.kind = MATMUL_NN, .m = size, .n = size, .k = size, .a = inputs, .b = inputs + elements,
                      .a_stride = (size_t)size, .b_stride = (size_t)size, .c_stride = (size_t)size};
    Arena arena = {0};
    Error missing = {0};
    const Compute compute = compute_best();
    const Blas *blas = blas_load(&missing);
    const double started = progress_clock();
    if (blas) {
#pragma omp parallel for schedule(static) firstprivate(product)
        for (int t = 0; t < n; t++) {
            product.c = outputs + (size_t)t * elements;
            blas_gemm(blas, &product);
        }
    } else {
        for (int t = 0; t < n; t++) {
            product.c = outputs + (size_t)t * elements;
            matmul(&compute, &product, &arena);
        }
    }
    const double seconds = progress_clock() - started;
    arena_free(&arena);
    mem_free(inputs);
    mem_free(outputs);
    return 2.0 * (double)elements * size * n / seconds / 1e9;
}

double peaks_sgemm(void)
{
    return sgemm(SGEMM_SIZE);
}

static double sgemm_large(void)
{
    return sgemm(LARGE_SIZE);
}

/* Bytes read and written, of blocks that no cache holds. */
static double copy(void)
{
    enum { TIMES = 4 };
    const int n = threads_count();
    char *from = mem_alloc((size_t)n * COPY_BYTES), *to = mem_alloc((size_t)n * COPY_BYTES);
    double started = 0;
    for (int i = -1; i < TIMES; i++) { /* the first one takes the pages */
        if (i == 0) started = progress_clock();
#pragma omp parallel for schedule(static)
        for (int t = 0; t < n; t++) {
            const size_t at = (size_t)t * COPY_BYTES;
            if (i < 0) memset(from + at, 1, COPY_BYTES);
            memcpy(to + at, from + at, COPY_BYTES);
        }
    }
    const double seconds = progress_clock() - started;
    mem_free(from);
    mem_free(to);
    return 2.0 * TIMES * n * COPY_BYTES / seconds / 1e9;
}

/* Long enough for a thread's start not to count. */
static double from_registers(double (*operations)(long rounds), long rounds)
{
    double done = 0;
    const int n = threads_count();
    const double started = progress_clock();
#pragma omp parallel for schedule(static) reduction(+ : done)
    for (int t = 0; t < n; t++) done += operations(rounds);
    return done / (progress_clock() - started) / 1e9;
}

static double bf16_avx512(void)
{
    return from_registers(peaks_bf16_avx512, 20000000);
}

static double bf16_amx(void)
{
    return from_registers(peaks_bf16_amx, 1000000);
}

/* A new peak is a row. */
static const Peak peaks[] = {
    [PEAK_SGEMM] = {"sgemm 2048^3", "GFLOP/s", NULL, peaks_sgemm},
    [PEAK_SGEMM_LARGE] = {"sgemm 3072^3", "GFLOP/s", NULL, sgemm_large},
    [PEAK_BF16_AVX512] = {"bf16 AVX512-BF16, registers only", "GFLOP/s", peaks_bf16_avx512_available, bf16_avx512},
    [PEAK_BF16_AMX] = {"bf16 AMX, registers only", "GFLOP/s", peaks_bf16_amx_available, bf16_amx},
    [PEAK_COPY] = {"copy (read + written)", "GB/s", NULL, copy},
};

const Peak *peaks_get(int index)
{
    return index < (int)(sizeof peaks / sizeof *peaks) ? &peaks[index] : NULL;
}
