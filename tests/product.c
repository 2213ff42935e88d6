#include "tests/product.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/threads.h"
#include "tests/suites.h"

enum { PRODUCT_MARGIN = 16 };

static const real guard = 12345;

ProductCase product_case(int kind, int m, int n, int k, uint64_t seed, int gap)
{
    const int a_rows = kind == MATMUL_TN ? k : m, a_width = kind == MATMUL_TN ? m : k;
    const int b_rows = kind == MATMUL_NT ? n : k, b_width = kind == MATMUL_NT ? k : n;
    ProductCase t = {.p = {.kind = (MatmulKind)kind, .m = m, .n = n, .k = k}};
    t.p.a_stride = (size_t)(a_width + gap + naive_draw(seed, 3));
    t.p.b_stride = (size_t)(b_width + gap + naive_draw(seed + 1, 3));
    t.p.c_stride = (size_t)(n + gap + naive_draw(seed + 2, 3));
    /* Operands end with their last element. */
    t.p.a = t.a = naive_uniform(seed + 3, k ? (a_rows - 1) * (int)t.p.a_stride + a_width : 1);
    t.p.b = t.b = naive_uniform(seed + 4, k ? (b_rows - 1) * (int)t.p.b_stride + b_width : 1);
    t.bias = naive_uniform(seed + 5, n);
    if (seed % 3 == 1) t.p.bias = t.bias;
    t.p.add = seed % 3 == 2;
    t.c_size = 2 * PRODUCT_MARGIN + m * (int)t.p.c_stride;
    t.c = naive_uniform(seed + 6, t.c_size);
    t.p.c = t.c + PRODUCT_MARGIN;
    for (int at = 0; at < t.c_size; at++) {
        int row = (at - PRODUCT_MARGIN) / (int)t.p.c_stride, column = (at - PRODUCT_MARGIN) % (int)t.p.c_stride;
        bool outside = at < PRODUCT_MARGIN || row >= m || column >= n;
        /* What is neither bias nor addend must not be read. */
        if (outside) t.c[at] = guard;
        else if (!t.p.add) t.c[at] = (real)NAN;
    }
    t.before = naive_copy(t.c, t.c_size);
    return t;
}

void product_free(ProductCase *t)
{
    real *blocks[] = {t->a, t->b, t->bias, t->c, t->before};
    for (int i = 0; i < 5; i++) free(blocks[i]);
}

real product_start(const ProductCase *t, int i, int j)
{
    return t->p.bias ? t->p.bias[j] : t->p.add ? t->before[PRODUCT_MARGIN + i * (int)t->p.c_stride + j] : 0;
}

void product_expect_guards(const ProductCase *t)
{
    for (int at = 0; at < t->c_size; at++) {
        int row = (at - PRODUCT_MARGIN) / (int)t->p.c_stride, column = (at - PRODUCT_MARGIN) % (int)t->p.c_stride;
        if (at < PRODUCT_MARGIN || row >= t->p.m || column >= t->p.n)
            expect_within((double)t->c[at], (double)guard, 0, "kind %d, %d x %d x %d: guard %d", t->p.kind, t->p.m, t->p.n,
                          t->p.k, at);
    }
}

void product_expect(const ProductCase *t, bool chain, int step)
{
    const Matmul *p = &t->p;
    const bool fused = strcmp(kernel->name, "base") != 0;
    for (int e = 0; e < p->m * p->n; e += step) {
        int i = e / p->n, j = e % p->n;
        real start = product_start(t, i, j), got = p->c[(size_t)i * p->c_stride + (size_t)j];
        expect_near((double)got, naive_product(p, i, j, start), "kind %d, %d x %d x %d: (%d, %d)", p->kind, p->m, p->n,
                    p->k, i, j);
        if (!chain) continue;
        real want = naive_chain(p, i, j, start, fused);
        expect_same(&got, &want, 1, "kind %d, %d x %d x %d: chain of (%d, %d)", p->kind, p->m, p->n, p->k, i, j);
    }
    product_expect_guards(t);
}

void product_again(ProductCase *t)
{
    memcpy(t->c, t->before, (size_t)t->c_size * sizeof(real));
}

static void check_part(const ProductCase *t, int i0, int m, int j0, int n, Arena *arena)
{
    Matmul part = t->p;
    part.m = m;
    part.n = n;
    part.a += part.kind == MATMUL_TN ? (size_t)i0 : (size_t)i0 * part.a_stride;
    part.b += part.kind == MATMUL_NT ? (size_t)j0 * part.b_stride : (size_t)j0;
    if (part.bias) part.bias += j0;
    real *c = malloc((size_t)(m * n) * sizeof *c);
    part.c = c;
    part.c_stride = (size_t)n;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) c[i * n + j] = product_start(t, i0 + i, j0 + j);
    matmul(&naive_compute, &part, arena);
    for (int i = 0; i < m; i++)
        expect_same(c + i * n, t->p.c + (size_t)(i0 + i) * t->p.c_stride + j0, n, "kind %d: row %d from %d on", part.kind,
                    i0 + i, j0);
    free(c);
}

void product_check_cut(int kind, Precision precision)
{
    ProductCase t = product_case(kind, 130, 150, 300, (uint64_t)kind, 0);
    Arena arena = {0};
    t.p.precision = precision;
    threads_set(1);
    matmul(&naive_compute, &t.p, &arena);
    for (uint64_t draw = 0; draw < 60; draw++) {
        int i0 = naive_draw(draw, t.p.m), m = 1 + naive_draw(draw + 100, draw % 2 ? t.p.m - i0 : 1);
        int j0 = naive_draw(draw + 200, t.p.n), n = 1 + naive_draw(draw + 300, t.p.n - j0);
        check_part(&t, i0, m, j0, n, &arena);
    }
    threads_set(naive_n_processors());
    arena_free(&arena);
    product_free(&t);
}

void product_check_threads(int kind, Precision precision, int m, int n, int k, uint64_t seed)
{
    ProductCase t = product_case(kind, m, n, k, seed, 0);
    Arena arena = {0};
    t.p.precision = precision;
    real *first = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        threads_set(threads);
        ck_assert_int_eq(threads_count(), threads);
        product_again(&t);
        matmul(&naive_compute, &t.p, &arena);
        if (first) expect_same(t.c, first, t.c_size, "kind %d, %d x %d x %d by %d threads", kind, m, n, k, threads);
        else first = naive_copy(t.c, t.c_size);
    }
    threads_set(naive_n_processors());
    free(first);
    arena_free(&arena);
    product_free(&t);
}
