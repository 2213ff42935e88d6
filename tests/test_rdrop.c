/* The kernel of R-Drop's loss, cross_entropy_pair, in each instruction set, against the definitions in double. That the
 * gradient is one is checked with the op's (test_gradients.c), what the model makes of it in test_model.c. */
#include <math.h>
#include <stdlib.h>

#include "tests/naive.h"
#include "tests/suites.h"

#ifdef FERRY_FP64
#define LEAST_EXP exp(-707)
#else
#define LEAST_EXP exp(-86)
#endif

/* log of the sum of the row's exps */
static double log_sum_of(int n, const real *row)
{
    double largest = -INFINITY, total = 0;
    for (int i = 0; i < n; i++) largest = fmax(largest, (double)row[i]);
    for (int i = 0; i < n; i++) total += exp((double)row[i] - largest);
    return largest + log(total);
}

/* Two rows of log-probabilities for one label, and what should come of them. */
typedef struct PairCase {
    int n, label;
    double smoothing, divergence;
    double *log_p[2];
    double kl[2]; /* of each row from the other */
} PairCase;

static double target(const PairCase *c, int i)
{
    return c->smoothing / c->n + (i == c->label ? 1 - c->smoothing : 0);
}

static double naive_loss(PairCase *c)
{
    double loss = 0;
    for (int r = 0; r < 2; r++) {
        c->kl[r] = 0;
        for (int i = 0; i < c->n; i++) {
            loss -= c->log_p[r][i] * target(c, i) / 2;
            c->kl[r] += exp(c->log_p[r][i]) * (c->log_p[r][i] - c->log_p[1 - r][i]);
        }
    }
    return loss + c->divergence / 4 * (c->kl[0] + c->kl[1]);
}

/* d loss / d logit, and the size of its terms. */
static Sum naive_gradient(const PairCase *c, int r, int i, double size)
{
    const double log_p = c->log_p[r][i], log_q = c->log_p[1 - r][i], p = exp(log_p), q = exp(log_q);
    const double value = (p - target(c, i)) / 2 + c->divergence / 4 * (p * (log_p - log_q - c->kl[r]) + p - q);
    return (Sum){value, (p + q) * size * (1 + fabs(log_p - log_q)) + target(c, i) + LEAST_EXP / TOLERANCE};
}

/* The second row is the first, each logit moved by up to `moved`. */
static void check_pair(int n, double spread, double moved, double smoothing, double divergence, double scale)
{
    real *row[2] = {naive_uniform((uint64_t)n, n), naive_uniform((uint64_t)n + 1000, n)}, *gradient[2];
    double block[2][1000], largest = 0, nll = 0;
    PairCase c = {.n = n, .label = naive_draw((uint64_t)n + 7, n), .smoothing = (double)(real)smoothing,
                  .divergence = divergence, .log_p = {block[0], block[1]}};
    for (int i = 0; i < n; i++) {
        row[0][i] *= (real)spread;
        row[1][i] = row[0][i] + row[1][i] * (real)moved;
    }
    for (int r = 0; r < 2; r++) {
        gradient[r] = naive_copy(row[r], n);
        const double log_sum = log_sum_of(n, row[r]);
        for (int i = 0; i < n; i++) {
            c.log_p[r][i] = (double)row[r][i] - log_sum;
            largest = fmax(largest, fabs((double)row[r][i]) + fabs(log_sum));
        }
        nll -= c.log_p[r][c.label] / 2;
    }
    const double loss = naive_loss(&c), size = (1 + largest) * (1 + divergence / 2);
    double got_nll;
    for (int with_gradient = 0; with_gradient <= 1; with_gradient++) {
        for (int r = 0; r < 2; r++) expect_same(gradient[r], row[r], n, "logits of a loss without gradient");
        const double got = kernel->cross_entropy_pair(n, gradient[0], gradient[1], c.label, (real)smoothing, (real)divergence,
                                                     with_gradient, (real)scale, &got_nll);
        expect_near(got, (Sum){loss, size}, "loss of a pair of %d", n);
        expect_near(got_nll, (Sum){nll, size}, "nll of a pair of %d", n);
    }
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < n; i++) {
            const Sum want = naive_gradient(&c, r, i, size);
            expect_near((double)gradient[r][i], (Sum){want.value * scale, want.size * scale}, "gradient of a pair of %d: %d", n,
                        i);
        }
        free(row[r]);
        free(gradient[r]);
    }
}

/* All lengths up to 70, so that every tail of every vector occurs, and a long one. */
START_TEST(losses_and_gradients)
{
    naive_use_set(_i);
    for (int n = 1; n <= 71; n++) {
        const int length = n <= 70 ? n : 1000;
        check_pair(length, 5, 0.5, 0.1, 5, 1);
        check_pair(length, 5, 5, 0, 1, 0.125);
        check_pair(length, 0.01, 0.01, 0.1, 0, 1);
        check_pair(length, 30, 30, 0.1, 2, 1);
    }
}
END_TEST

/* Equal rows don't diverge: what is left is the loss of one, and half its gradient each. */
START_TEST(equal_rows)
{
    naive_use_set(_i);
    enum { N = 100 };
    real *a = naive_uniform(1, N), *b = naive_copy(a, N), *one = naive_copy(a, N);
    double nll, nll_of_one;
    const double loss = kernel->cross_entropy_pair(N, a, b, 3, (real)0.1, 7, true, 1, &nll);
    expect_near(loss, (Sum){kernel->cross_entropy_row(N, one, 3, (real)0.1, true, 1, &nll_of_one), 1}, "loss of equal rows");
    expect_near(nll, (Sum){nll_of_one, 1}, "nll of equal rows");
    expect_same(a, b, N, "gradients of equal rows");
    for (int i = 0; i < N; i++) expect_near(2 * (double)a[i], (Sum){(double)one[i], 1}, "gradient of equal rows: %d", i);
    free(a);
    free(b);
    free(one);
}
END_TEST

START_TEST(nan_is_seen)
{
    naive_use_set(_i);
    for (int n = 1; n <= 40; n++) {
        for (int r = 0; r < 2; r++) {
            real *row[2] = {naive_uniform(1, n), naive_uniform(2, n)};
            double nll;
            row[r][n / 2] = (real)NAN;
            ck_assert(isnan(kernel->cross_entropy_pair(n, row[0], row[1], 0, 0, 1, true, 1, &nll)));
            free(row[0]);
            free(row[1]);
        }
    }
}
END_TEST

Suite *suite_rdrop(void)
{
    Suite *suite = suite_create("rdrop");
    TCase *sets = tcase_create("each instruction set");
    tcase_add_loop_test(sets, losses_and_gradients, 0, naive_n_sets());
    tcase_add_loop_test(sets, equal_rows, 0, naive_n_sets());
    tcase_add_loop_test(sets, nan_is_seen, 0, naive_n_sets());
    suite_add_tcase(suite, sets);
    return suite;
}
