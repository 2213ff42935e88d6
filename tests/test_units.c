/* Low-precision products (core/matmul_bf16.c, matmul_int8.c) on every unit that runs here: against sums in double of operands
 * rounded by the definitions, and their promises about bits. */
#ifndef FERRY_FP64 /* units work on fp32 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/threads.h"
#include "core/units.h"
#include "tests/product.h"
#include "tests/suites.h"

/* fp32 rounded to bf16's 8 bits of mantissa, ties to even; finite numbers of ordinary size */
static float bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t rest = bits & 0xffff, odd = bits >> 16 & 1;
    bits &= 0xffff0000;
    if (rest > 0x8000 || (rest == 0x8000 && odd)) bits += 0x10000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

extern const Unit unit_emulated_amx_bf16, unit_emulated_amx_int8; /* tests/unit_emulated.c */

/* Those that run here, then AMX on emulated tiles. */
static const Unit *unit_of(int index)
{
    static const Unit *const emulated[] = {&unit_emulated_amx_bf16, &unit_emulated_amx_int8, NULL};
    int n = 0;
    while (units_get(kernel, n)) n++;
    return index < n ? units_get(kernel, index) : emulated[index - n];
}

static int n_units(void)
{
    int n = 0;
    kernel = kernels_get(0);
    while (unit_of(n)) n++;
    return n;
}

/* Let naive_compute take unit `index` for its precision; false if that is another one, or not to be had here. */
static bool take(int index, Precision precision)
{
    const Unit *unit = unit_of(index);
    if (unit->precision != precision || !unit->runs_here()) return false;
    naive_compute.unit[precision] = unit;
    naive_compute.packing = units_packing();
    return true;
}

static bool use(int index, Precision precision)
{
    naive_use_set(0);
    return take(index, precision);
}

static void wrong(int m, int n, int cells, const int32_t *a, size_t a_row, size_t a_k, const int32_t *b, float *c,
                  size_t c_stride, const float *bias, bool add)
{
    unit_emulated_amx_bf16.bf16(m, n, cells, a, a_row, a_k, b, c, c_stride, bias, add);
    c[3 * c_stride + 2] += 1;
}

START_TEST(checked)
{
    const Unit broken = {.name = "broken", .precision = PRECISION_BF16, .bf16 = wrong};
    ck_assert(unit_check(&unit_emulated_amx_bf16));
    ck_assert(unit_check(&unit_emulated_amx_int8));
    ck_assert(!unit_check(&broken));
}
END_TEST

/* Each precision gets the first unit of its own, or the one that is named if that runs here. */
START_TEST(chosen_by_name)
{
    naive_use_set(0);
    const Unit *unit;
    Compute compute;
    for (int i = 0; (unit = units_get(kernel, i)); i++) {
        ck_assert(compute_choose(&compute, NULL, unit->name));
        ck_assert_ptr_eq(compute.unit[unit->precision], unit);
        ck_assert(compute_choose(&compute, NULL, "abacus"));
        int first = 0;
        while (units_get(kernel, first)->precision != unit->precision) first++;
        ck_assert_ptr_eq(compute.unit[unit->precision], units_get(kernel, first));
    }
    ck_assert_ptr_nonnull(compute.unit[PRECISION_INT8]);
    ck_assert_int_eq(!compute.unit[PRECISION_BF16], !compute.packing);
    ck_assert_ptr_null(compute.unit[PRECISION_FP32]);
}
END_TEST

static float *rounded(const float *x, int n)
{
    float *y = naive_copy(x, n);
    for (int i = 0; i < n; i++) y[i] = bf16(y[i]);
    return y;
}

static void check_bf16(int kind, int m, int n, int k, uint64_t seed, int gap)
{
    ProductCase t = product_case(kind, m, n, k, seed, gap);
    Arena arena = {0};
    t.p.precision = PRECISION_BF16;
    matmul(&naive_compute, &t.p, &arena);
    const int rows_a = kind == MATMUL_TN ? k : m, rows_b = kind == MATMUL_NT ? n : k;
    float *a = rounded(t.a, (rows_a - 1) * (int)t.p.a_stride + (kind == MATMUL_TN ? m : k));
    float *b = rounded(t.b, (rows_b - 1) * (int)t.p.b_stride + (kind == MATMUL_NT ? k : n));
    t.p.a = a;
    t.p.b = b;
    product_expect(&t, false, m * n / 1000 * k / 200 + 1);
    free(a);
    free(b);
    arena_free(&arena);
    product_free(&t);
}

START_TEST(bf16_small_products)
{
    if (!use(_i, PRECISION_BF16)) return;
    threads_set(1);
    for (int kind = 0; kind < PRODUCT_KINDS; kind++)
        for (int axis = 0; axis < 4; axis++)
            for (int length = 1; length <= 70; length++) {
                uint64_t seed = (uint64_t)(length + 100 * axis + 1000 * kind) * 10 + (uint64_t)(length % 3);
                int size[3];
                for (int d = 0; d < 3; d++) size[d] = d == axis ? length : 1 + naive_draw(seed + 50 + (uint64_t)d, 70);
                check_bf16(kind, size[0], size[1], size[2], seed, 0);
            }
    threads_set(naive_n_processors());
}
END_TEST

/* Sizes at which tiles (96 rows), chunks (512 elements along k) and panels (32 columns) end, one more, one less */
START_TEST(bf16_products_over_tiles)
{
    if (!use(_i, PRECISION_BF16)) return;
    static const struct {
        int m, n, k, gap;
    } sizes[] = {{96, 33, 512, 0},   {97, 64, 513, 0},     {95, 70, 1024, 0},    {193, 16, 1300, 0},
                 {97, 30, 511, 1021}, {1, 2100, 9, 0},      {1200, 1030, 2, 0},   {2400, 300, 3, 0}};
    for (int kind = 0; kind < PRODUCT_KINDS; kind++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            check_bf16(kind, sizes[s].m, sizes[s].n, sizes[s].k, 3 * s + (uint64_t)kind, sizes[s].gap);
}
END_TEST

/* Packing rounds to the nearest, ties to even, and keeps what is not finite. */
START_TEST(bf16_rounding)
{
    if (!use(_i, PRECISION_BF16)) return;
    const float a[] = {1, 1 + 0x1p-8f, 1 + 0x1.8p-8f, 1 + 0x1p-7f + 0x1p-8f, -3.14159f, 1e30f, -1e-30f, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof a / sizeof *a; i++) {
        float c, one = 1, want = isfinite(a[i]) ? bf16(a[i]) : a[i];
        Arena arena = {0};
        matmul(&naive_compute,
               &(Matmul){.kind = MATMUL_NN, .m = 1, .n = 1, .k = 1, .a = &a[i], .a_stride = 1, .b = &one, .b_stride = 1,
                         .c = &c, .c_stride = 1, .precision = PRECISION_BF16},
               &arena);
        arena_free(&arena);
        ck_assert_msg(c == want || (isnan(c) && isnan(want)), "%a became %a, not %a", (double)a[i], (double)c, (double)want);
    }
}
END_TEST

START_TEST(bf16_bits)
{
    if (!use(_i, PRECISION_BF16)) return;
    for (int kind = 0; kind < PRODUCT_KINDS; kind++) {
        product_check_cut(kind, PRECISION_BF16);
        for (uint64_t start = 0; start < 3; start++) {
            product_check_threads(kind, PRECISION_BF16, 300, 200, 260, start);
            product_check_threads(kind, PRECISION_BF16, 20, 1500, 30, start);
        }
    }
}
END_TEST

/* Packed once or for each product: the same bits. */
START_TEST(bf16_packed_weights)
{
    if (!use(_i, PRECISION_BF16)) return;
    for (int draw = 0; draw < 16; draw++) {
        int m = 1 + naive_draw((uint64_t)draw, draw % 4 ? 9 : 300), n = 1 + naive_draw((uint64_t)draw + 100, 200);
        int k = 1 + naive_draw((uint64_t)draw + 200, 600);
        ProductCase t = product_case(MATMUL_NT, m, n, k, (uint64_t)draw, 0);
        Arena arena = {0};
        t.p.precision = PRECISION_BF16;
        matmul(&naive_compute, &t.p, &arena);
        real *want = naive_copy(t.c, t.c_size);
        product_again(&t);
        void *memory = mem_alloc(matmul_weights_size(&naive_compute, PRECISION_BF16, n, k));
        const MatmulWeights weights = matmul_pack_weights(&naive_compute, PRECISION_BF16, n, k, t.b, t.p.b_stride,
                                                          memory);
        matmul_packed(&t.p, &weights, &arena);
        expect_same(t.c, want, t.c_size, "packed %d x %d x %d", m, n, k);
        mem_free(memory);
        free(want);
        arena_free(&arena);
        product_free(&t);
    }
}
END_TEST

/* ---- int8 ---- */

/* x / scale to the nearest integer, ties to even; scale = largest magnitude / 127 */
static float bytes_of(const float *x, int n, int *bytes)
{
    float largest = 0;
    for (int i = 0; i < n; i++) largest = fmaxf(largest, fabsf(x[i]));
    const float inverse = largest > 0 ? 127 / largest : 0;
    for (int i = 0; i < n; i++) bytes[i] = (int)rintf(x[i] * inverse);
    return largest / 127;
}

static void int8_product(ProductCase *t, Arena *arena)
{
    void *memory = mem_alloc(matmul_weights_size(&naive_compute, PRECISION_INT8, t->p.n, t->p.k));
    const MatmulWeights weights = matmul_pack_weights(&naive_compute, PRECISION_INT8, t->p.n, t->p.k, t->b,
                                                      t->p.b_stride, memory);
    matmul_packed(&t->p, &weights, arena);
    mem_free(memory);
}

static void check_int8(int m, int n, int k, uint64_t seed)
{
    ProductCase t = product_case(MATMUL_NT, m, n, k, seed, 0);
    Arena arena = {0};
    if (seed % 5 == 0) memset(t.a, 0, (size_t)k * sizeof *t.a); /* a row of zeros */
    int8_product(&t, &arena);
    int *a = malloc((size_t)k * sizeof *a), *b = malloc((size_t)k * sizeof *b);
    const int step = m * n * k / 200000 + 1;
    for (int e = 0; e < m * n; e += step) {
        const int i = e / n, j = e % n;
        const double scale_a = (double)bytes_of(t.a + (size_t)i * t.p.a_stride, k, a);
        const double scale_b = (double)bytes_of(t.b + (size_t)j * t.p.b_stride, k, b);
        int64_t exact = 0;
        for (int l = 0; l < k; l++) exact += (int64_t)a[l] * b[l];
        const double term = (double)exact * scale_a * scale_b, start = (double)product_start(&t, i, j);
        expect_within((double)t.p.c[(size_t)i * t.p.c_stride + (size_t)j], term + start, 4e-7 * (fabs(term) + fabs(start)),
                      "%d x %d x %d: (%d, %d)", m, n, k, i, j);
    }
    product_expect_guards(&t);
    free(a);
    free(b);
    arena_free(&arena);
    product_free(&t);
}

START_TEST(int8_products)
{
    if (!use(_i, PRECISION_INT8)) return;
    threads_set(1);
    for (int axis = 0; axis < 4; axis++)
        for (int length = 1; length <= 70; length++) {
            uint64_t seed = (uint64_t)(length + 100 * axis) * 15 + (uint64_t)(length % 15);
            int size[3];
            for (int d = 0; d < 3; d++) size[d] = d == axis ? length : 1 + naive_draw(seed + 50 + (uint64_t)d, 70);
            check_int8(size[0], size[1], size[2], seed);
        }
    threads_set(naive_n_processors());
    static const int sizes[][3] = {{96, 33, 1024}, {97, 64, 1027}, {95, 2100, 9}, {300, 31, 2050}, {2, 40, 65536}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) check_int8(sizes[s][0], sizes[s][1], sizes[s][2], s + 1);
}
END_TEST

/* Sums are exact: every unit gives the same bits (with the kernels of one instruction set, which may scale by fused
 * multiply-adds or not). */
START_TEST(int8_units_agree)
{
    for (int set = 0; set < naive_n_sets(); set++) {
        real *want = NULL;
        naive_use_set(set);
        for (int index = 0; unit_of(index); index++) {
            if (!take(index, PRECISION_INT8)) continue;
            for (int threads = 1; threads <= 3; threads++) {
                threads_set(threads);
                ProductCase t = product_case(MATMUL_NT, 110, 90, 333, 1, 0);
                Arena arena = {0};
                int8_product(&t, &arena);
                if (want) expect_same(t.c, want, t.c_size, "%s, %d threads", unit_of(index)->name, threads);
                else want = naive_copy(t.c, t.c_size);
                arena_free(&arena);
                product_free(&t);
            }
        }
        free(want);
    }
    threads_set(naive_n_processors());
}
END_TEST

/* What isn't finite shows in the results of its row and in no other. */
START_TEST(int8_not_finite)
{
    if (!use(_i, PRECISION_INT8)) return;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int draw = 0; draw < 3; draw++) {
        ProductCase t = product_case(MATMUL_NT, 3, 40, 50, 0, 0);
        Arena arena = {0};
        t.a[t.p.a_stride + 7] = bad[draw];
        int8_product(&t, &arena);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 40; j++)
                ck_assert_int_eq(isfinite(t.p.c[(size_t)i * t.p.c_stride + (size_t)j]) != 0, i != 1);
        arena_free(&arena);
        product_free(&t);
    }
}
END_TEST

Suite *suite_units(void)
{
    Suite *suite = suite_create("units");
    TCase *each = tcase_create("each unit"), *all = tcase_create("all units");
    const int n = n_units();
    tcase_add_loop_test(each, bf16_small_products, 0, n);
    tcase_add_loop_test(each, bf16_products_over_tiles, 0, n);
    tcase_add_loop_test(each, bf16_rounding, 0, n);
    tcase_add_loop_test(each, bf16_bits, 0, n);
    tcase_add_loop_test(each, bf16_packed_weights, 0, n);
    tcase_add_loop_test(each, int8_products, 0, n);
    tcase_add_loop_test(each, int8_not_finite, 0, n);
    tcase_add_test(all, checked);
    tcase_add_test(all, chosen_by_name);
    tcase_add_test(all, int8_units_agree);
    suite_add_tcase(suite, each);
    suite_add_tcase(suite, all);
    return suite;
}
#else
typedef int test_units_is_fp32_only;
#endif
