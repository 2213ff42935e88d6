/* The matrix product: kernels, both backends, all kinds, against plain loops; and its promises about bits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/blas.h"
#include "core/threads.h"
#include "tests/product.h"
#include "tests/suites.h"

static void check_product(int kind, int m, int n, int k, uint64_t seed, int gap)
{
    ProductCase t = product_case(kind, m, n, k, seed, gap);
    Arena arena = {0};
    matmul(&naive_compute, &t.p, &arena);
    product_expect(&t, !naive_compute.blas, m * n / 1000 * k / 200 + 1);
    arena_free(&arena);
    product_free(&t);
}

/* All sizes 1 .. 70 in each direction, the others drawn; some drawn in all three; no inner dimension at all. In one thread:
 * thousands of parallel regions would mostly wait for each other on a busy machine. */
static void check_small_products(void)
{
    threads_set(1);
    for (int kind = 0; kind < PRODUCT_KINDS; kind++) {
        for (int axis = 0; axis < 4; axis++)
            for (int length = 1; length <= 70; length++) {
                uint64_t seed = (uint64_t)(length + 100 * axis + 1000 * kind) * 10 + (uint64_t)(length % 3);
                int size[3];
                for (int d = 0; d < 3; d++) size[d] = d == axis ? length : 1 + naive_draw(seed + 50 + (uint64_t)d, 70);
                check_product(kind, size[0], size[1], size[2], seed, 0);
            }
        for (uint64_t start = 0; start < 3; start++) check_product(kind, 5, 37, 0, start, 0);
    }
    threads_set(naive_n_processors());
}

START_TEST(small_products)
{
    naive_use_set(_i);
    check_small_products();
}
END_TEST

/* Sizes at which the packed backend's tiles, chunks and panels end, one more, one less */
START_TEST(products_over_tiles)
{
    naive_use_set(_i);
    static const struct {
        int m, n, k, gap;
    } sizes[] = {
        {96, 33, 256, 0},   {97, 64, 257, 0},    {95, 70, 512, 0},      {193, 16, 700, 0}, /* rows and chunks */
        {130, 40, 20, 1024}, {100, 128, 300, 1000}, {97, 30, 270, 1021}, /* rows far apart */
        {1, 2100, 9, 0},    {1200, 1030, 2, 0},  {2400, 300, 3, 0}, /* many panels, few and many row tiles */
        {3, 128, 40, 1},    {50, 2048, 5, 0}, /* whole panels: B as it lies, if rows are near */
    };
    for (int kind = 0; kind < PRODUCT_KINDS; kind++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            check_product(kind, sizes[s].m, sizes[s].n, sizes[s].k, 3 * s + (uint64_t)kind, sizes[s].gap);
}
END_TEST

/* B read as it lies, its rows having no gaps, in whole panels */
START_TEST(whole_panels)
{
    naive_use_set(_i);
    for (int panels = 1; panels < 6; panels++)
        for (uint64_t start = 0; start < 3; start++) {
            ProductCase t = product_case(MATMUL_NN, 31, panels * kernel->panel, 19, start, 0);
            t.p.b_stride = (size_t)t.p.n;
            Arena arena = {0};
            matmul(&naive_compute, &t.p, &arena);
            product_expect(&t, true, 1);
            arena_free(&arena);
            product_free(&t);
        }
}
END_TEST

/* ---- the kernels themselves ---- */

START_TEST(block_kernel)
{
    naive_use_set(_i);
    for (int n = 1; n <= 70; n++)
        for (int m = 1; m <= 26; m += n % 3 + 1) {
            int k = naive_draw((uint64_t)(100 * n + m), 40);
            ProductCase t = product_case(m % 2 ? MATMUL_TN : MATMUL_NN, m, n, k, (uint64_t)(n * 3 + m), 0);
            /* rows of B to the next whole vector; what lies there is no part of the product */
            int width = (n + kernel->lanes - 1) / kernel->lanes * kernel->lanes;
            free(t.b);
            t.p.b = t.b = naive_uniform((uint64_t)m, (k ? k : 1) * width);
            t.p.b_stride = (size_t)width;
            for (int l = 0; l < k; l++)
                for (int j = n; j < width; j++) t.b[l * width + j] = (real)NAN;
            bool transposed = t.p.kind == MATMUL_TN;
            kernel->matmul_block(m, n, k, t.a, transposed ? 1 : t.p.a_stride, transposed ? t.p.a_stride : 1, t.b,
                                t.p.b_stride, t.p.c, t.p.c_stride, t.p.bias, t.p.add);
            product_expect(&t, true, 1);
            product_free(&t);
        }
}
END_TEST

START_TEST(pack_kernel)
{
    naive_use_set(_i);
    const int widths[] = {kernel->panel, 64};
    for (int w = 0; w < 2; w++)
        for (int n = 1; n <= widths[w]; n++)
            for (int transposed = 0; transposed < 2; transposed++) {
                const int width = widths[w], k = 1 + naive_draw((uint64_t)n, 50), stride = (transposed ? k : n) + n % 3;
                real *b = naive_uniform((uint64_t)n, (transposed ? n - 1 : k - 1) * stride + (transposed ? k : n));
                real *packed = naive_uniform(7, k * width);
                kernel->matmul_pack(k, n, width, b, (size_t)stride, transposed, packed);
                for (int l = 0; l < k; l++)
                    for (int j = 0; j < width; j++) {
                        real want = j >= n ? 0 : transposed ? b[j * stride + l] : b[l * stride + j];
                        expect_same(packed + l * width + j, &want, 1, "width %d, n %d: (%d, %d)", width, n, l, j);
                    }
                free(b);
                free(packed);
            }
}
END_TEST

/* ---- promises about bits ---- */

START_TEST(bits_independent_of_cut)
{
    naive_use_set(_i);
    for (int kind = 0; kind < PRODUCT_KINDS; kind++) product_check_cut(kind, PRECISION_FP32);
}
END_TEST

START_TEST(bits_independent_of_threads)
{
    naive_use_set(_i);
    for (int kind = 0; kind < PRODUCT_KINDS; kind++)
        for (uint64_t start = 0; start < 3; start++) {
            product_check_threads(kind, PRECISION_FP32, 300, 200, 260, start);
            product_check_threads(kind, PRECISION_FP32, 20, 1500, 30, start);
        }
}
END_TEST

START_TEST(packed_weights)
{
    naive_use_set(_i);
    for (int draw = 0; draw < 16; draw++) {
        int m = 1 + naive_draw((uint64_t)draw, draw % 4 ? 9 : 300), n = 1 + naive_draw((uint64_t)draw + 100, 200);
        int k = 1 + naive_draw((uint64_t)draw + 200, 300);
        ProductCase t = product_case(MATMUL_NT, m, n, k, (uint64_t)draw, 0);
        Arena arena = {0};
        matmul(&naive_compute, &t.p, &arena);
        real *want = naive_copy(t.c, t.c_size);
        product_again(&t);
        void *memory = mem_alloc(matmul_weights_size(&naive_compute, PRECISION_FP32, n, k));
        const MatmulWeights weights = matmul_pack_weights(&naive_compute, PRECISION_FP32, n, k, t.b, t.p.b_stride,
                                                          memory);
        t.p.b = NULL;
        matmul_packed(&t.p, &weights, &arena);
        expect_same(t.c, want, t.c_size, "packed %d x %d x %d", m, n, k);
        mem_free(memory);
        free(want);
        arena_free(&arena);
        product_free(&t);
    }
}
END_TEST

/* No rows or no columns: nothing is read, nothing written. */
START_TEST(empty_products)
{
    Arena arena = {0};
    naive_use_set(0);
    matmul(&naive_compute, &(Matmul){.n = 3, .k = 2}, &arena);
    matmul(&naive_compute, &(Matmul){.m = 3, .k = 2}, &arena);
    matmul_packed(&(Matmul){.n = 3, .k = 2}, &(MatmulWeights){.n = 3, .k = 2}, &arena);
    ck_assert_uint_eq(arena_size(&arena), 0);
    arena_free(&arena);
}
END_TEST

/* ---- OpenBLAS ---- */

/* False, with a line that says so, where there is no OpenBLAS: Ferry runs without. */
static bool use_openblas(void)
{
    Error error = {0};
    naive_use_set(0);
    naive_compute.blas = blas_load(&error);
    if (naive_compute.blas) return true;
    ck_assert_int_eq(error.code, ERROR_FAILED);
    fprintf(stderr, "skipped, for want of OpenBLAS: %s\n", error.text);
    return false;
}

START_TEST(names)
{
    naive_use_set(0);
    char name[COMPUTE_NAME], want[COMPUTE_NAME];
    snprintf(want, sizeof want, "packed %s", kernel->name);
    ck_assert_str_eq(compute_name(&naive_compute, PRECISION_FP32, name), want);
    /* The choice of whoever loads it stands. Any OpenBLAS for x86-64 that chooses at run time knows Nehalem. */
    setenv("OPENBLAS_CORETYPE", "Nehalem", 1);
    if (!use_openblas()) return;
    ck_assert_str_eq(getenv("OPENBLAS_CORETYPE"), "Nehalem");
    ck_assert_str_eq(naive_compute.blas->name, "Nehalem");
    ck_assert_str_eq(compute_name(&naive_compute, PRECISION_FP32, name), "openblas Nehalem");
    Error error = {0};
    ck_assert_ptr_eq(blas_load(&error), naive_compute.blas);
}
END_TEST

START_TEST(openblas_products)
{
    if (!use_openblas()) return;
    check_small_products();
    static const int sizes[][3] = {
        {512, 513, 20}, {513, 40, 1025}, {1030, 520, 5}, /* tiles of C */
        {30, 20, 2047}, {30, 20, 2048}, {40, 70, 3100}, {1025, 3, 2048}, {3, 1025, 2050}, /* long inner dimensions */
    };
    for (int kind = 0; kind < PRODUCT_KINDS; kind++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            check_product(kind, sizes[s][0], sizes[s][1], sizes[s][2], 3 * s + (uint64_t)kind, 0);
}
END_TEST

START_TEST(openblas_bits_independent_of_threads)
{
    if (!use_openblas()) return;
    for (int kind = 0; kind < PRODUCT_KINDS; kind++)
        for (uint64_t start = 0; start < 3; start++) {
            product_check_threads(kind, PRECISION_FP32, 1100, 520, 30, start);
            product_check_threads(kind, PRECISION_FP32, 50, 60, 5000, start);
            product_check_threads(kind, PRECISION_FP32, 600, 90, 130, start);
        }
}
END_TEST

Suite *suite_matmul(void)
{
    Suite *suite = suite_create("matmul");
    TCase *sets = tcase_create("each instruction set"), *once = tcase_create("openblas");
    const int n = naive_n_sets();
    tcase_add_loop_test(sets, small_products, 0, n);
    tcase_add_loop_test(sets, products_over_tiles, 0, n);
    tcase_add_loop_test(sets, whole_panels, 0, n);
    tcase_add_loop_test(sets, block_kernel, 0, n);
    tcase_add_loop_test(sets, pack_kernel, 0, n);
    tcase_add_loop_test(sets, bits_independent_of_cut, 0, n);
    tcase_add_loop_test(sets, bits_independent_of_threads, 0, n);
    tcase_add_loop_test(sets, packed_weights, 0, n);
    tcase_add_test(once, empty_products);
    tcase_add_test(once, names);
    tcase_add_test(once, openblas_products);
    tcase_add_test(once, openblas_bits_independent_of_threads);
    suite_add_tcase(suite, sets);
    suite_add_tcase(suite, once);
    return suite;
}
