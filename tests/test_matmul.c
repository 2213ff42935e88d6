/* The matrix product: kernels, both backends, all kinds, against plain loops; and its promises about bits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/blas.h"
#include "core/threads.h"
#include "tests/naive.h"
#include "tests/suites.h"

enum { MARGIN = 16, KINDS = 3 };

static const real guard = 12345;

/* A product with its memory. C has MARGIN elements before and behind it and gaps between its rows, all of them `guard`. */
typedef struct Case {
    Matmul p;
    real *a, *b, *bias, *c, *before;
    int c_size;
} Case;

/* `seed` gives the operands and, by its residues, what C starts from and how far apart rows are; `gap` is added to those. */
static Case case_make(int kind, int m, int n, int k, uint64_t seed, int gap)
{
    const int a_rows = kind == MATMUL_TN ? k : m, a_width = kind == MATMUL_TN ? m : k;
    const int b_rows = kind == MATMUL_NT ? n : k, b_width = kind == MATMUL_NT ? k : n;
    Case t = {.p = {.kind = (MatmulKind)kind, .m = m, .n = n, .k = k}};
    t.p.a_stride = (size_t)(a_width + gap + naive_draw(seed, 3));
    t.p.b_stride = (size_t)(b_width + gap + naive_draw(seed + 1, 3));
    t.p.c_stride = (size_t)(n + gap + naive_draw(seed + 2, 3));
    /* Operands end with their last element. */
    t.p.a = t.a = naive_uniform(seed + 3, k ? (a_rows - 1) * (int)t.p.a_stride + a_width : 1);
    t.p.b = t.b = naive_uniform(seed + 4, k ? (b_rows - 1) * (int)t.p.b_stride + b_width : 1);
    t.bias = naive_uniform(seed + 5, n);
    if (seed % 3 == 1) t.p.bias = t.bias;
    t.p.add = seed % 3 == 2;
    t.c_size = 2 * MARGIN + m * (int)t.p.c_stride;
    t.c = naive_uniform(seed + 6, t.c_size);
    t.p.c = t.c + MARGIN;
    for (int at = 0; at < t.c_size; at++) {
        int row = (at - MARGIN) / (int)t.p.c_stride, column = (at - MARGIN) % (int)t.p.c_stride;
        bool outside = at < MARGIN || row >= m || column >= n;
        /* What is neither bias nor addend must not be read. */
        if (outside) t.c[at] = guard;
        else if (!t.p.add) t.c[at] = (real)NAN;
    }
    t.before = naive_copy(t.c, t.c_size);
    return t;
}

static void case_free(Case *t)
{
    real *blocks[] = {t->a, t->b, t->bias, t->c, t->before};
    for (int i = 0; i < 5; i++) free(blocks[i]);
}

/* What element (i, j) starts from */
static real case_start(const Case *t, int i, int j)
{
    return t->p.bias ? t->p.bias[j] : t->p.add ? t->before[MARGIN + i * (int)t->p.c_stride + j] : 0;
}

static void expect_guards(const Case *t)
{
    for (int at = 0; at < t->c_size; at++) {
        int row = (at - MARGIN) / (int)t->p.c_stride, column = (at - MARGIN) % (int)t->p.c_stride;
        if (at < MARGIN || row >= t->p.m || column >= t->p.n)
            expect_within((double)t->c[at], (double)guard, 0, "kind %d, %d x %d x %d: guard %d", t->p.kind, t->p.m, t->p.n, t->p.k, at);
    }
}

/* The whole of C near the sums in double; `chain`: and each element the bits of the chain. Big products: every `step`-th element. */
static void expect_product(const Case *t, bool chain, int step)
{
    const Matmul *p = &t->p;
    const bool fused = strcmp(kernel.name, "base") != 0;
    for (int e = 0; e < p->m * p->n; e += step) {
        int i = e / p->n, j = e % p->n;
        real start = case_start(t, i, j), got = p->c[(size_t)i * p->c_stride + (size_t)j];
        expect_near((double)got, naive_product(p, i, j, start), "kind %d, %d x %d x %d: (%d, %d)", p->kind, p->m, p->n, p->k, i, j);
        if (!chain) continue;
        real want = naive_chain(p, i, j, start, fused);
        expect_same(&got, &want, 1, "kind %d, %d x %d x %d: chain of (%d, %d)", p->kind, p->m, p->n, p->k, i, j);
    }
    expect_guards(t);
}

static void check_product(int kind, int m, int n, int k, uint64_t seed, int gap)
{
    Case t = case_make(kind, m, n, k, seed, gap);
    Arena arena = {0};
    matmul(&t.p, &arena);
    expect_product(&t, matmul_backend() == MATMUL_PACKED, m * n / 1000 * k / 200 + 1);
    arena_free(&arena);
    case_free(&t);
}

/* All sizes 1 .. 70 in each direction, the others drawn; some drawn in all three; no inner dimension at all */
static void check_small_products(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        for (int axis = 0; axis < 4; axis++)
            for (int length = 1; length <= 70; length++) {
                uint64_t seed = (uint64_t)(length + 100 * axis + 1000 * kind) * 10 + (uint64_t)(length % 3);
                int size[3];
                for (int d = 0; d < 3; d++) size[d] = d == axis ? length : 1 + naive_draw(seed + 50 + (uint64_t)d, 70);
                check_product(kind, size[0], size[1], size[2], seed, 0);
            }
        for (uint64_t start = 0; start < 3; start++) check_product(kind, 5, 37, 0, start, 0);
    }
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
    for (int kind = 0; kind < KINDS; kind++)
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
            Case t = case_make(MATMUL_NN, 31, panels * kernel.panel, 19, start, 0);
            t.p.b_stride = (size_t)t.p.n;
            Arena arena = {0};
            matmul(&t.p, &arena);
            expect_product(&t, true, 1);
            arena_free(&arena);
            case_free(&t);
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
            Case t = case_make(m % 2 ? MATMUL_TN : MATMUL_NN, m, n, k, (uint64_t)(n * 3 + m), 0);
            /* rows of B to the next whole vector; what lies there is no part of the product */
            int width = (n + kernel.lanes - 1) / kernel.lanes * kernel.lanes;
            free(t.b);
            t.p.b = t.b = naive_uniform((uint64_t)m, (k ? k : 1) * width);
            t.p.b_stride = (size_t)width;
            for (int l = 0; l < k; l++)
                for (int j = n; j < width; j++) t.b[l * width + j] = (real)NAN;
            bool transposed = t.p.kind == MATMUL_TN;
            kernel.matmul_block(m, n, k, t.a, transposed ? 1 : t.p.a_stride, transposed ? t.p.a_stride : 1, t.b, t.p.b_stride,
                                t.p.c, t.p.c_stride, t.p.bias, t.p.add);
            expect_product(&t, true, 1);
            case_free(&t);
        }
}
END_TEST

START_TEST(pack_kernel)
{
    naive_use_set(_i);
    const int widths[] = {kernel.panel, 64};
    for (int w = 0; w < 2; w++)
        for (int n = 1; n <= widths[w]; n++)
            for (int transposed = 0; transposed < 2; transposed++) {
                const int width = widths[w], k = 1 + naive_draw((uint64_t)n, 50), stride = (transposed ? k : n) + n % 3;
                real *b = naive_uniform((uint64_t)n, (transposed ? n - 1 : k - 1) * stride + (transposed ? k : n));
                real *packed = naive_uniform(7, k * width);
                kernel.matmul_pack(k, n, width, b, (size_t)stride, transposed, packed);
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

/* A row computed alone, or some columns alone, have the bits they have in the whole product. */
START_TEST(bits_independent_of_cut)
{
    naive_use_set(_i);
    for (int kind = 0; kind < KINDS; kind++) {
        Case t = case_make(kind, 130, 150, 300, (uint64_t)kind, 0);
        Arena arena = {0};
        matmul(&t.p, &arena);
        for (int draw = 0; draw < 60; draw++) {
            int i0 = naive_draw((uint64_t)draw, t.p.m), m = 1 + naive_draw((uint64_t)draw + 100, draw % 2 ? t.p.m - i0 : 1);
            int j0 = naive_draw((uint64_t)draw + 200, t.p.n), n = 1 + naive_draw((uint64_t)draw + 300, t.p.n - j0);
            Matmul part = t.p;
            part.m = m;
            part.n = n;
            part.a += kind == MATMUL_TN ? (size_t)i0 : (size_t)i0 * t.p.a_stride;
            part.b += kind == MATMUL_NT ? (size_t)j0 * t.p.b_stride : (size_t)j0;
            if (part.bias) part.bias += j0;
            real *c = malloc((size_t)(m * n) * sizeof *c);
            part.c = c;
            part.c_stride = (size_t)n;
            for (int i = 0; i < m; i++)
                for (int j = 0; j < n; j++) c[i * n + j] = case_start(&t, i0 + i, j0 + j);
            matmul(&part, &arena);
            for (int i = 0; i < m; i++)
                expect_same(c + i * n, t.p.c + (size_t)(i0 + i) * t.p.c_stride + j0, n, "kind %d: row %d from %d on", kind, i0 + i, j0);
            free(c);
        }
        arena_free(&arena);
        case_free(&t);
    }
}
END_TEST

static void check_threads(int kind, int m, int n, int k, uint64_t seed)
{
    Case t = case_make(kind, m, n, k, seed, 0);
    Arena arena = {0};
    real *first = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        threads_set(threads);
        ck_assert_int_eq(threads_count(), threads);
        memcpy(t.c, t.before, (size_t)t.c_size * sizeof(real));
        matmul(&t.p, &arena);
        if (first) expect_same(t.c, first, t.c_size, "kind %d, %d x %d x %d by %d threads", kind, m, n, k, threads);
        else first = naive_copy(t.c, t.c_size);
    }
    free(first);
    arena_free(&arena);
    case_free(&t);
}

START_TEST(bits_independent_of_threads)
{
    naive_use_set(_i);
    for (int kind = 0; kind < KINDS; kind++)
        for (uint64_t start = 0; start < 3; start++) {
            check_threads(kind, 300, 200, 260, start);
            check_threads(kind, 20, 1500, 30, start);
        }
}
END_TEST

START_TEST(packed_weights)
{
    naive_use_set(_i);
    for (int draw = 0; draw < 40; draw++) {
        int m = 1 + naive_draw((uint64_t)draw, draw % 4 ? 9 : 300), n = 1 + naive_draw((uint64_t)draw + 100, 200);
        int k = 1 + naive_draw((uint64_t)draw + 200, 300);
        Case t = case_make(MATMUL_NT, m, n, k, (uint64_t)draw, 0);
        Arena arena = {0};
        matmul(&t.p, &arena);
        real *want = naive_copy(t.c, t.c_size);
        memcpy(t.c, t.before, (size_t)t.c_size * sizeof(real));
        real *packed = naive_uniform(1, (int)matmul_packed_size(n, k));
        matmul_pack_weights(n, k, t.b, t.p.b_stride, packed);
        t.p.b = packed;
        matmul_packed(&t.p);
        expect_same(t.c, want, t.c_size, "packed %d x %d x %d", m, n, k);
        free(packed);
        free(want);
        arena_free(&arena);
        case_free(&t);
    }
}
END_TEST

/* No rows or no columns: nothing is read, nothing written. */
START_TEST(empty_products)
{
    kernels_init();
    Arena arena = {0};
    matmul(&(Matmul){.n = 3, .k = 2}, &arena);
    matmul(&(Matmul){.m = 3, .k = 2}, &arena);
    matmul_packed(&(Matmul){.n = 3, .k = 2});
    ck_assert_uint_eq(arena_size(&arena), 0);
    arena_free(&arena);
}
END_TEST

/* ---- OpenBLAS ---- */

/* False, with a line that says so, where there is no OpenBLAS: Ferry runs without. */
static bool use_openblas(void)
{
    Error error = {0};
    kernels_init();
    if (!blas_load(&error)) {
        ck_assert_int_eq(error.code, ERROR_FAILED);
        ck_assert_ptr_null(blas_name());
        fprintf(stderr, "skipped, for want of OpenBLAS: %s\n", error.text);
        return false;
    }
    matmul_use(MATMUL_OPENBLAS);
    return true;
}

START_TEST(openblas_names)
{
    kernels_init();
    char name[64];
    snprintf(name, sizeof name, "packed %s", kernel.name);
    ck_assert_str_eq(matmul_name(), name);
    ck_assert_int_eq(matmul_backend(), MATMUL_PACKED);
    ck_assert_ptr_null(blas_name());
    /* The user's choice stands. Any OpenBLAS for x86-64 that chooses at run time knows Nehalem. */
    setenv("OPENBLAS_CORETYPE", "Nehalem", 1);
    if (!use_openblas()) return;
    ck_assert_str_eq(getenv("OPENBLAS_CORETYPE"), "Nehalem");
    ck_assert_uint_gt(strlen(blas_name()), 0);
    snprintf(name, sizeof name, "openblas %s", blas_name());
    ck_assert_str_eq(matmul_name(), name);
    ck_assert_int_eq(matmul_backend(), MATMUL_OPENBLAS);
}
END_TEST

START_TEST(openblas_products)
{
    if (!use_openblas()) return;
    check_small_products();
    static const int sizes[][3] = {
        {512, 513, 20}, {513, 40, 1025}, {1030, 520, 5}, /* tiles of C */
        {30, 20, 2047}, {30, 20, 2048}, {40, 70, 3100}, {1025, 3, 2048}, {3, 1025, 2050}, /* the inner dimension cut, or not */
    };
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            check_product(kind, sizes[s][0], sizes[s][1], sizes[s][2], 3 * s + (uint64_t)kind, 0);
}
END_TEST

START_TEST(openblas_bits_independent_of_threads)
{
    if (!use_openblas()) return;
    for (int kind = 0; kind < KINDS; kind++)
        for (uint64_t start = 0; start < 3; start++) {
            check_threads(kind, 1100, 520, 30, start);
            check_threads(kind, 50, 60, 5000, start);
            check_threads(kind, 600, 90, 130, start);
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
    tcase_add_test(once, openblas_names);
    tcase_add_test(once, openblas_products);
    tcase_add_test(once, openblas_bits_independent_of_threads);
    suite_add_tcase(suite, sets);
    suite_add_tcase(suite, once);
    return suite;
}
