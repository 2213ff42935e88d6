/* Attention of one head, forward and backward, against the definition with all its weights in memory; and its promises about
 * bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "tests/naive.h"
#include "tests/suites.h"

enum { GUARDS = 64, GAP = 3, TILE = ATTENTION_TILE };

static const real guard = 12345;

/* A head with its memory. Rows lie stride = width + GAP apart; gradients and the gaps are filled before the call. */
typedef struct Case {
    AttentionHead head;
    real *start[8]; /* value and gradient of q, k, v, out as they were before the call */
    size_t scratch_size;
} Case;

static AttentionView *view(Case *t, int index)
{
    AttentionView *views[] = {&t->head.q, &t->head.k, &t->head.v, &t->head.out};
    return views[index];
}

static int rows(const Case *t, int index)
{
    return index == 1 || index == 2 ? t->head.n_k : t->head.n_q;
}

static int elements(const Case *t, int index)
{
    return rows(t, index) * (t->head.d_head + GAP);
}

static Case case_make(int n_q, int n_k, int width, int visible, const Dropout *dropout, uint64_t seed)
{
    Case t = {.head = {.n_q = n_q, .n_k = n_k, .d_head = width, .visible = visible, .dropout = dropout,
                       .dropout_group = seed % 97}};
    for (int i = 0; i < 4; i++) {
        AttentionView *v = view(&t, i);
        v->stride = (size_t)(width + GAP);
        v->value = naive_uniform(100 * seed + (uint64_t)i, elements(&t, i));
        v->grad = naive_uniform(100 * seed + 50 + (uint64_t)i, elements(&t, i));
        /* scores far enough from 0 that weights differ */
        for (int e = 0; i < 2 && e < elements(&t, i); e++) v->value[e] *= 2;
        t.start[2 * i] = naive_copy(v->value, elements(&t, i));
        t.start[2 * i + 1] = naive_copy(v->grad, elements(&t, i));
    }
    t.head.lse_stride = 2;
    t.head.lse = naive_uniform(seed, 2 * n_q);
    t.scratch_size = attention_scratch(n_q, n_k, width);
    t.head.scratch = mem_alloc((t.scratch_size + GUARDS) * sizeof(real));
    for (size_t i = 0; i < t.scratch_size; i++) t.head.scratch[i] = (real)NAN; /* nothing may count on what was there */
    for (int i = 0; i < GUARDS; i++) t.head.scratch[t.scratch_size + (size_t)i] = guard;
    return t;
}

static void case_free(Case *t)
{
    for (int i = 0; i < 4; i++) {
        free(view(t, i)->value);
        free(view(t, i)->grad);
        free(t->start[2 * i]);
        free(t->start[2 * i + 1]);
    }
    free(t->head.lse);
    mem_free(t->head.scratch);
}

/* Scratch not overrun, and between the rows of every matrix all as it was */
static void expect_guards(Case *t)
{
    for (int i = 0; i < GUARDS; i++)
        expect_within((double)t->head.scratch[t->scratch_size + (size_t)i], (double)guard, 0,
                      "scratch of %d x %d x %d overrun by %d", t->head.n_q, t->head.n_k, t->head.d_head, i + 1);
    const int width = t->head.d_head, stride = width + GAP;
    for (int i = 0; i < 4; i++)
        for (int r = 0; r < rows(t, i); r++) {
            expect_same(view(t, i)->value + r * stride + width, t->start[2 * i] + r * stride + width, GAP, "gap of row %d",
                        r);
            expect_same(view(t, i)->grad + r * stride + width, t->start[2 * i + 1] + r * stride + width, GAP,
                        "gap of gradient %d", r);
        }
}

/* got[r, c] near want[r, c], plus what was there before if `before` */
static void expect_rows(const Case *t, const real *got, const Sum *want, const real *before, int n, const char *name)
{
    const int width = t->head.d_head, stride = width + GAP;
    for (int r = 0; r < n; r++)
        for (int c = 0; c < width; c++) {
            Sum sum = want[r * width + c];
            if (before) sum_add(&sum, (double)before[r * stride + c]);
            expect_near((double)got[r * stride + c], sum, "%s of %d x %d x %d, visible %d: (%d, %d)", name,
                        t->head.n_q, t->head.n_k, width, t->head.visible, r, c);
        }
}

static void check_attention(int n_q, int n_k, int width, int visible, const Dropout *dropout, uint64_t seed)
{
    Case t = case_make(n_q, n_k, width, visible, dropout, seed);
    kernel->attention_forward(&t.head);
    expect_guards(&t);
    NaiveAttention want = naive_attention(&t.head, true);
    expect_rows(&t, t.head.out.value, want.out, NULL, n_q, "out");
    for (int i = 0; i < n_q; i++) expect_near((double)t.head.lse[2 * i], want.lse[i], "lse of row %d", i);
    for (size_t i = 0; i < t.scratch_size; i++) t.head.scratch[i] = (real)NAN;
    kernel->attention_backward(&t.head);
    expect_guards(&t);
    expect_rows(&t, t.head.q.grad, want.gq, t.start[1], n_q, "gq");
    expect_rows(&t, t.head.k.grad, want.gk, t.start[3], n_k, "gk");
    expect_rows(&t, t.head.v.grad, want.gv, t.start[5], n_k, "gv");
    for (int i = 0; i < 3; i++) expect_same(view(&t, i)->value, t.start[2 * i], elements(&t, i), "input %d", i);
    expect_same(t.head.out.grad, t.start[7], elements(&t, 3), "gradient of out");
    naive_attention_free(&want);
    case_free(&t);
}

static const int widths[] = {1, 3, 8, 16, 32, 33, 64};
enum { N_WIDTHS = sizeof widths / sizeof *widths };

static Dropout dropout_of(uint32_t threshold)
{
    return (Dropout){.stream = random_stream(5, RANDOM_TEST, 7, 9), .threshold = threshold,
                     .keep_scale = 1 / (1 - (real)threshold / 65536)};
}

/* All lengths 1 .. 70, and beyond two tiles: self (all visible), causal, cross, a step of decoding; half with dropout */
START_TEST(equals_the_definition)
{
    naive_use_set(_i);
    const Dropout dropout = dropout_of(13107);
    static const int longer[] = {127, 128, 129, 130, 200};
    for (int index = 0; index < 70 + 5; index++) {
        const int n = index < 70 ? index + 1 : longer[index - 70];
        const uint64_t seed = (uint64_t)n;
        const int width = widths[index % N_WIDTHS], other = 1 + naive_draw(seed, n < 100 ? 90 : 200);
        const Dropout *masks[] = {index % 2 ? &dropout : NULL, index % 2 ? NULL : &dropout};
        check_attention(n, n, width, n, masks[0], seed);
        check_attention(n, n, width, 1, masks[1], seed + 1000);
        check_attention(n, other, width, other, masks[1], seed + 2000);
        check_attention(other, n, widths[(index + 3) % N_WIDTHS], n + 5, masks[0], seed + 3000);
        check_attention(1, n, width, n, NULL, seed + 4000);
    }
}
END_TEST

START_TEST(all_widths)
{
    naive_use_set(_i);
    const Dropout dropout = dropout_of(30000);
    for (int w = 0; w < N_WIDTHS; w++) {
        check_attention(70, 70, widths[w], 1, &dropout, 1);
        check_attention(66, 131, widths[w], 131, NULL, 2);
        check_attention(66, 131, widths[w], 66, &dropout, 3); /* the last 66 of 131: a cache that grows by more than one */
    }
}
END_TEST

/* Weights that span the type's range: a running maximum that rises and falls from tile to tile */
START_TEST(large_scores)
{
    naive_use_set(_i);
    for (int direction = -1; direction <= 1; direction += 2) {
        Case t = case_make(3, 200, 8, 200, NULL, 1);
        for (int j = 0; j < 200; j++)
            for (int c = 0; c < 8; c++) t.head.k.value[(size_t)j * t.head.k.stride + (size_t)c] *= (real)(direction * j) / 4;
        kernel->attention_forward(&t.head);
        NaiveAttention want = naive_attention(&t.head, true);
        expect_rows(&t, t.head.out.value, want.out, NULL, 3, "out");
        kernel->attention_backward(&t.head);
        expect_rows(&t, t.head.q.grad, want.gq, t.start[1], 3, "gq");
        expect_rows(&t, t.head.k.grad, want.gk, t.start[3], 200, "gk");
        naive_attention_free(&want);
        case_free(&t);
    }
}
END_TEST

/* ---- promises about bits ---- */

/* What lies after the last visible key changes no bit of a causal row, however large; the row gives it no gradient. */
START_TEST(causal_row_ignores_the_future)
{
    naive_use_set(_i);
    enum { N = 150, WIDTH = 16 };
    static const int probes[] = {0, 1, 15, 16, 62, 63, 64, 65, 100, 127, 128, 148};
    const Dropout dropout = dropout_of(6554);
    for (size_t p = 0; p < 2 * sizeof probes / sizeof *probes; p++) {
        const int row = probes[p / 2];
        Case t = case_make(N, N, WIDTH, 1, p % 2 ? &dropout : NULL, 1);
        const int stride = (int)t.head.q.stride;
        kernel->attention_forward(&t.head);
        real *out = naive_copy(t.head.out.value, elements(&t, 3)), *lse = naive_copy(t.head.lse, 2 * N);
        for (int e = (row + 1) * stride; e < N * stride; e++) {
            t.head.k.value[e] *= -1000;
            t.head.v.value[e] *= 1000;
        }
        kernel->attention_forward(&t.head);
        expect_same(t.head.out.value, out, (row + 1) * stride, "out up to row %d", row);
        expect_same(t.head.lse, lse, 2 * (row + 1), "lse up to row %d", row);
        /* only this row has a gradient */
        for (int r = 0; r < N; r++)
            for (int c = 0; r != row && c < WIDTH; c++) t.head.out.grad[r * stride + c] = 0;
        kernel->attention_backward(&t.head);
        expect_same(t.head.k.grad + (row + 1) * stride, t.start[3] + (row + 1) * stride, (N - row - 1) * stride,
                    "gk after %d", row);
        expect_same(t.head.v.grad + (row + 1) * stride, t.start[5] + (row + 1) * stride, (N - row - 1) * stride,
                    "gv after %d", row);
        free(out);
        free(lse);
        case_free(&t);
    }
}
END_TEST

/* Decoding with cached keys and values: each step, one query that sees all keys so far, gives the bits of the whole pass. */
START_TEST(step_has_the_bits_of_the_pass)
{
    naive_use_set(_i);
    static const int step_widths[] = {3, 32, 33, 64};
    for (int w = 0; w < 4; w++) {
        const int n = 200, width = step_widths[w];
        Case t = case_make(n, n, width, 1, NULL, (uint64_t)w);
        kernel->attention_forward(&t.head);
        for (int i = 0; i < n; i++) {
            real out[64], lse;
            AttentionHead step = t.head;
            step.n_q = 1;
            step.n_k = step.visible = i + 1;
            step.q.value += (size_t)i * step.q.stride;
            step.out = (AttentionView){.value = out, .stride = 64};
            step.lse = &lse;
            kernel->attention_forward(&step);
            expect_same(out, t.head.out.value + (size_t)i * t.head.out.stride, width, "width %d, step %d", width, i);
            expect_same(&lse, t.head.lse + 2 * i, 1, "width %d, lse of step %d", width, i);
        }
        case_free(&t);
    }
}
END_TEST

/* A query's row has the same bits whatever queries stand beside it. */
START_TEST(row_independent_of_its_neighbours)
{
    naive_use_set(_i);
    enum { N_Q = 90, N_K = 77, WIDTH = 32 };
    Case t = case_make(N_Q, N_K, WIDTH, N_K, NULL, 1);
    kernel->attention_forward(&t.head);
    for (int first = 0; first < N_Q; first += 7)
        for (int n = 1; n <= N_Q - first; n += 11) {
            real out[N_Q * WIDTH], lse[2 * N_Q];
            AttentionHead part = t.head;
            part.n_q = n;
            part.q.value += (size_t)first * part.q.stride;
            part.out = (AttentionView){.value = out, .stride = WIDTH};
            part.lse = lse;
            kernel->attention_forward(&part);
            for (int i = 0; i < n; i++)
                expect_same(out + i * WIDTH, t.head.out.value + (size_t)(first + i) * t.head.out.stride, WIDTH, "row %d",
                            first + i);
        }
    case_free(&t);
}
END_TEST

/* ---- known arithmetic ---- */

/* With one-hot values the output is the weights: rows sum to 1, and score = log(weight) + lse. Scores of random normal
 * queries and keys have the variance 1 whatever the width. */
START_TEST(weights_sum_to_1_and_scores_keep_unit_variance)
{
    naive_use_set(_i);
    enum { N = 64, WIDTH = 64, HEADS = 12 };
    double sum = 0, squares = 0;
    for (int h = 0; h < HEADS; h++) {
        Case t = case_make(N, N, WIDTH, N, NULL, (uint64_t)h);
        RandomStream stream = random_stream((uint64_t)h, RANDOM_TEST, 3, 3);
        for (int i = 0; i < N; i++)
            for (int c = 0; c < WIDTH; c++) {
                size_t e = (size_t)i * t.head.q.stride + (size_t)c;
                t.head.q.value[e] = (real)random_normal(&stream, 2 * e);
                t.head.k.value[e] = (real)random_normal(&stream, 2 * e + 1);
                t.head.v.value[e] = i == c;
            }
        kernel->attention_forward(&t.head);
        for (int i = 0; i < N; i++) {
            Sum row = {0};
            for (int j = 0; j < N; j++) {
                double weight = (double)t.head.out.value[(size_t)i * t.head.out.stride + (size_t)j];
                double score = log(weight) + (double)t.head.lse[2 * i];
                sum_add(&row, weight);
                sum += score;
                squares += score * score;
            }
            expect_near(1, row, "sum of row %d", i);
        }
        case_free(&t);
    }
    const double n = (double)HEADS * N * N, mean = sum / n;
    expect_within(mean, 0, 0.05, "mean of the scores");
    expect_within(squares / n - mean * mean, 1, 0.05, "variance of the scores");
}
END_TEST

/* What isn't a number is never hidden: a query, key or value that is NaN is seen in the output. */
START_TEST(nan_is_seen)
{
    naive_use_set(_i);
    for (int input = 0; input < 3; input++)
        for (int n = 1; n <= 70; n += 23) {
            Case t = case_make(n, n, 8, n, NULL, 1);
            view(&t, input)->value[(size_t)(n - 1) * t.head.q.stride] = (real)NAN;
            kernel->attention_forward(&t.head);
            ck_assert_msg(isnan(t.head.out.value[(size_t)(n - 1) * t.head.q.stride]), "%s: NaN in input %d hidden",
                          kernel->name, input);
            case_free(&t);
        }
}
END_TEST

Suite *suite_attention(void)
{
    Suite *suite = suite_create("attention");
    TCase *sets = tcase_create("each instruction set");
    const int n = naive_n_sets();
    tcase_add_loop_test(sets, equals_the_definition, 0, n);
    tcase_add_loop_test(sets, all_widths, 0, n);
    tcase_add_loop_test(sets, large_scores, 0, n);
    tcase_add_loop_test(sets, causal_row_ignores_the_future, 0, n);
    tcase_add_loop_test(sets, step_has_the_bits_of_the_pass, 0, n);
    tcase_add_loop_test(sets, row_independent_of_its_neighbours, 0, n);
    tcase_add_loop_test(sets, weights_sum_to_1_and_scores_keep_unit_variance, 0, n);
    tcase_add_loop_test(sets, nan_is_seen, 0, n);
    suite_add_tcase(suite, sets);
    return suite;
}
