/* The kernels over rows and flat blocks (core/kernel_*.c), in each instruction set, against plain loops in double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/threads.h"
#include "core/vec.h"
#include "tests/naive.h"
#include "tests/suites.h"

/* Row lengths: all up to 70, so that every tail of every vector occurs, and a common model width */
static int length(int index)
{
    return index < 70 ? index + 1 : 512;
}
enum { N_LENGTHS = 71 };

static Dropout dropout_of(double probability, uint32_t place)
{
    const uint32_t threshold = (uint32_t)lround(probability * 65536);
    return (Dropout){.stream = random_stream(3, RANDOM_TEST, place, 1), .threshold = threshold,
                     .keep_scale = (real)(1 / (1 - threshold / 65536.0))};
}

/* A mask of dropout's kind, n elements; free with free */
static real *mask_of(int n)
{
    const Dropout dropout = dropout_of(0.25, 11);
    real *mask = malloc((size_t)n * sizeof *mask);
    for (int i = 0; i < n; i++) mask[i] = naive_mask(&dropout, (uint64_t)i);
    return mask;
}

static void free_all(int n, real **blocks)
{
    for (int i = 0; i < n; i++) free(blocks[i]);
}

#define FREE(...) free_all(sizeof (real *[]){__VA_ARGS__} / sizeof(real *), (real *[]){__VA_ARGS__})

/* ---- exp ---- */

#ifdef FERRY_FP64
enum { MANTISSA = 52 };
static const double exp_low = -708, exp_high = 709;
#else
enum { MANTISSA = 23 };
static const double exp_low = -87, exp_high = 88;
#endif

/* In units of the last place of what it should be: exp(x), x as it is in real, to more digits than real has */
static double ulps(real got, real x)
{
    long double want = expl((long double)x);
    return (double)(fabsl((long double)got - want) / ldexpl(1, ilogbl(want) - MANTISSA));
}

START_TEST(exp_within_2_units)
{
    enum { STEPS = 400000 };
    double worst = 0;
    for (int i = 0; i <= STEPS; i++) {
        real x = (real)(exp_low + (exp_high - exp_low) * i / STEPS);
        worst = fmax(worst, ulps(vec_exp(vec_set(x))[i % LANES], x));
    }
    ck_assert_msg(worst < 2, "off by %.3f units of the last place", worst);
    ck_assert(vec_exp(vec_set(0))[0] == 1);
    /* Beyond, the nearest normal result */
    ck_assert(vec_exp(vec_set(-10000))[0] == vec_exp(vec_set((real)exp_low))[0]);
    ck_assert(vec_exp(vec_set(10000))[0] == vec_exp(vec_set((real)exp_high))[0]);
    ck_assert(vec_exp(vec_set(-INFINITY))[0] < (real)1e-37 && vec_exp(vec_set(-INFINITY))[0] > 0);
    ck_assert(isnan(vec_exp(vec_set((real)NAN))[0]));
}
END_TEST

/* The exp of the other sets, through the softmax in cross-entropy's gradient: it is exp(x - largest) / sum, and the two rows of
 * x = largest = 0, of which one is the label, show 1 / sum. One more rounding, so 3 units. */
START_TEST(exp_within_3_units_in_softmax)
{
    naive_use_set(_i);
    enum { N = 1003, ROUNDS = 100 };
    real logits[N], x[N];
    double worst = 0, nll;
    for (int round = 0; round < ROUNDS; round++) {
        logits[0] = logits[1] = 0;
        for (int i = 2; i < N; i++) logits[i] = (real)(exp_low * (i * ROUNDS + round) / (N * ROUNDS));
        memcpy(x, logits, sizeof x);
        kernel->cross_entropy_row(N, logits, 0, 0, true, 1, &nll);
        for (int i = 2; i < N; i++)
            if (x[i] + (real)log((double)logits[1]) >= (real)exp_low)
                worst = fmax(worst, ulps((real)((double)logits[i] / (double)logits[1]), x[i]));
    }
    ck_assert_msg(worst > 0 && worst < 3, "%s: off by %.3f units of the last place", kernel->name, worst);
}
END_TEST

/* ---- random masks ---- */

START_TEST(random_bits_are_philox)
{
    naive_use_set(_i);
    enum { GROUPS = 3 };
    /* also where the counter's lower word wraps, and the last groups whose elements have 64-bit numbers */
    static const uint64_t firsts[] = {0, 1, 12345, (1ull << 28) - 2, 1ull << 32, (1ull << 57) - 3};
    for (int s = 0; s < 4; s++) {
        RandomStream stream = random_stream(0x123456789abcdefull * (uint64_t)s, RANDOM_DROPOUT, (uint32_t)s * 77,
                                            0xfffffff0u + (uint32_t)s);
        for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
            uint16_t bits[GROUPS * RANDOM_GROUP + 1];
            bits[GROUPS * RANDOM_GROUP] = 4711;
            kernel->random_group(&stream, firsts[f], GROUPS, bits);
            for (int i = 0; i < GROUPS * RANDOM_GROUP; i++)
                expect_within(bits[i], naive_bits(&stream, firsts[f] * RANDOM_GROUP + (uint64_t)i), 0, "stream %d, bits %d",
                              s, i);
            ck_assert_uint_eq(bits[GROUPS * RANDOM_GROUP], 4711);
        }
    }
}
END_TEST

START_TEST(dropout_share_and_values)
{
    naive_use_set(_i);
    enum { N = 1000 * RANDOM_GROUP };
    static const double probabilities[] = {0, 0.1, 0.3, 0.5, 0.99};
    real *mask = naive_uniform(1, N);
    for (size_t p = 0; p < sizeof probabilities / sizeof *probabilities; p++) {
        const Dropout dropout = dropout_of(probabilities[p], 0);
        kernel->dropout_mask(&dropout, 5 * RANDOM_GROUP, N, mask);
        int zeros = 0;
        for (int i = 0; i < N; i++) {
            if (mask[i] == 0) zeros++;
            else expect_within((double)mask[i], (double)dropout.keep_scale, 0, "mask %d", i);
        }
        const double q = probabilities[p], deviation = sqrt(q * (1 - q) / N);
        expect_within((double)zeros / N, q, 5 * deviation, "share of zeros");
    }
    free(mask);
}
END_TEST

/* The mask is a function of the element: cut at any group, with any length, it is the same, and the scalar Philox's. */
START_TEST(dropout_independent_of_cut)
{
    naive_use_set(_i);
    const Dropout dropout = dropout_of(0.3, 2);
    for (int cut = 0; cut < 8; cut++)
        for (int n = 1; n < 600; n += 37) {
            const uint64_t first = (uint64_t)cut * RANDOM_GROUP;
            real *mask = naive_uniform(1, n);
            kernel->dropout_mask(&dropout, first, n, mask);
            for (int i = 0; i < n; i++)
                expect_within((double)mask[i], (double)naive_mask(&dropout, first + (uint64_t)i), 0,
                              "from group %d: mask %d of %d", cut, i, n);
            free(mask);
        }
}
END_TEST

/* ---- flat blocks ---- */

START_TEST(flat_blocks)
{
    naive_use_set(_i);
    for (int index = 0; index < N_LENGTHS; index++) {
        const int n = length(index);
        const real factor = (real)-0.7;
        real *x = naive_uniform(1, n), *y = naive_uniform(2, n), *z = naive_uniform(3, n), *mask = mask_of(n);
        real *got = naive_copy(x, n);
        kernel->scale(n, factor, got);
        for (int i = 0; i < n; i++) {
            Sum want = {0};
            sum_add(&want, (double)factor * (double)x[i]);
            expect_near((double)got[i], want, "scale %d: %d", n, i);
        }
        memcpy(got, y, (size_t)n * sizeof *got);
        kernel->add_scaled(n, factor, x, got);
        for (int i = 0; i < n; i++) {
            Sum want = {0};
            sum_add(&want, (double)y[i]);
            sum_add(&want, (double)factor * (double)x[i]);
            expect_near((double)got[i], want, "add_scaled %d: %d", n, i);
        }
        for (int masked = 0; masked < 4; masked++) { /* from 2 on: added to nothing */
            memcpy(got, y, (size_t)n * sizeof *got);
            kernel->add_masked(n, masked < 2 ? got : NULL, x, masked % 2 ? mask : NULL, got);
            for (int i = 0; i < n; i++) {
                Sum want = {0};
                sum_add(&want, masked < 2 ? (double)y[i] : 0);
                sum_add(&want, (double)x[i] * (masked % 2 ? (double)mask[i] : 1));
                expect_near((double)got[i], want, "add_masked %d: %d", n, i);
            }
            kernel->embed_row(n, x, 16, z, masked % 2 ? mask : NULL, got);
            for (int i = 0; i < n; i++) {
                Sum want = {0};
                sum_add(&want, 16 * (double)x[i] * (masked % 2 ? (double)mask[i] : 1));
                sum_add(&want, (double)z[i] * (masked % 2 ? (double)mask[i] : 1));
                expect_near((double)got[i], want, "embed_row %d: %d", n, i);
            }
        }
        Sum squares = {0};
        for (int i = 0; i < n; i++) sum_add(&squares, (double)x[i] * (double)x[i]);
        expect_within(kernel->sum_of_squares(n, x), squares.value, 1e-14 * squares.size, "sum_of_squares %d", n);
        FREE(x, y, z, mask, got);
    }
}
END_TEST

/* ---- layer norm ---- */

/* Forward on x (+ z mask), then backward, beside the definition */
static void check_layer_norm(int n, bool with_z, bool with_mask)
{
    real *x = naive_uniform(1, n), *z = naive_uniform(2, n), *mask = mask_of(n);
    real *gain = naive_uniform(4, n), *bias = naive_uniform(5, n);
    real *s = naive_uniform(6, n), *y = naive_uniform(7, n), *untouched = naive_copy(s, n), statistics[2];
    for (int i = 0; i < n; i++) x[i] = 3 * x[i] + 1;
    kernel->layer_norm_row(n, x, with_z ? z : NULL, with_mask ? mask : NULL, gain, bias, s, y, statistics);
    for (int i = 0; i < n && with_z; i++) {
        Sum want = {0};
        sum_add(&want, (double)x[i]);
        sum_add(&want, (double)z[i] * (with_mask ? (double)mask[i] : 1));
        expect_near((double)s[i], want, "layer norm %d: s %d", n, i);
    }
    if (!with_z) expect_same(s, untouched, n, "layer norm %d: s without z", n);
    const real *input = with_z ? s : x;

    Sum mean = {0};
    double variance = 0;
    for (int i = 0; i < n; i++) sum_add(&mean, (double)input[i] / n);
    for (int i = 0; i < n; i++) variance += pow((double)input[i] - mean.value, 2) / n;
    const double inverse = 1 / sqrt(variance + (double)LAYER_NORM_EPSILON);
    expect_near((double)statistics[0], mean, "layer norm %d: mean", n);
    /* d variance = 2 deviation d s, by which the inverse deviation changes as its third power */
    expect_near((double)statistics[1], (Sum){inverse, inverse * (1 + inverse * mean.size)},
                "layer norm %d: 1 / deviation", n);
    for (int i = 0; i < n; i++) {
        const double size = inverse * (fabs((double)input[i]) + mean.size);
        const Sum want = {((double)input[i] - mean.value) * inverse * (double)gain[i] + (double)bias[i],
                          size * (1 + size) * fabs((double)gain[i]) + fabs((double)bias[i])};
        expect_near((double)y[i], want, "layer norm %d: y %d", n, i);
    }

    real *gy = naive_uniform(8, n), *gs = naive_uniform(9, n), *ggain = naive_uniform(10, n), *gbias = naive_uniform(11, n);
    real *gs0 = naive_copy(gs, n), *ggain0 = naive_copy(ggain, n), *gbias0 = naive_copy(gbias, n);
    const bool adds = n % 2;
    if (!adds) memset(gs0, 0, (size_t)n * sizeof *gs0);
    kernel->layer_norm_row_backward(n, input, gain, statistics, gy, adds ? gs : NULL, gs, ggain, gbias);
    Sum average_g = {0}, average_gh = {0};
    for (int i = 0; i < n; i++) {
        const double h = ((double)input[i] - (double)statistics[0]) * (double)statistics[1];
        const double g = (double)gy[i] * (double)gain[i];
        sum_add(&average_g, g / n);
        sum_add(&average_gh, g * h / n);
        Sum want_gain = {0}, want_bias = {0};
        sum_add(&want_gain, (double)ggain0[i]);
        sum_add(&want_gain, (double)gy[i] * h);
        sum_add(&want_bias, (double)gbias0[i]);
        sum_add(&want_bias, (double)gy[i]);
        expect_near((double)ggain[i], want_gain, "layer norm %d: ggain %d", n, i);
        expect_near((double)gbias[i], want_bias, "layer norm %d: gbias %d", n, i);
    }
    for (int i = 0; i < n; i++) {
        const double h = ((double)input[i] - (double)statistics[0]) * (double)statistics[1], r = (double)statistics[1];
        Sum want = {0};
        sum_add(&want, (double)gs0[i]);
        sum_add(&want, r * (double)gy[i] * (double)gain[i]);
        want.value -= r * (average_g.value + h * average_gh.value);
        want.size += r * (average_g.size + fabs(h) * average_gh.size);
        expect_near((double)gs[i], want, "layer norm %d: gs %d", n, i);
    }
    FREE(x, z, mask, gain, bias, s, y, untouched, gy, gs, ggain, gbias, gs0, ggain0, gbias0);
}

START_TEST(layer_norm)
{
    naive_use_set(_i);
    for (int index = 0; index < N_LENGTHS; index++) {
        check_layer_norm(length(index), false, false);
        check_layer_norm(length(index), true, false);
        check_layer_norm(length(index), true, true);
    }
}
END_TEST

START_TEST(layer_norm_of_four_numbers)
{
    naive_use_set(_i);
    /* mean 3.5, variance (4 + 6.25 + 1 + 12.25) / 4 = 5.875 */
    const real x[] = {1.5, 1.0, 4.5, 7.0}, gain[] = {1, 1, 1, 1}, bias[] = {0, 0, 0, 0};
    const double want[] = {-0.825137, -1.031422, 0.412569, 1.443990};
    real y[4], statistics[2];
    kernel->layer_norm_row(4, x, NULL, NULL, gain, bias, NULL, y, statistics);
    expect_within((double)statistics[0], 3.5, 1e-6, "mean");
    expect_within(1 / pow((double)statistics[1], 2), 5.87501, 1e-5, "variance");
    for (int i = 0; i < 4; i++) expect_within((double)y[i], want[i], 2e-6, "y[%d]", i);
}
END_TEST

/* ---- activations ---- */

/* Inputs of all sizes that matter, both signs, and 0 */
static real *activation_inputs(int n)
{
    real *x = naive_uniform(1, n);
    for (int i = 0; i < n; i++) x[i] *= i % 3 ? 3 : 12;
    x[n / 2] = 0;
    return x;
}

START_TEST(relu_and_its_gradient)
{
    naive_use_set(_i);
    for (int index = 0; index < 4 * N_LENGTHS; index++) {
        const int n = length(index / 4);
        real *x = activation_inputs(n), *y = naive_uniform(2, n), *mask = mask_of(n);
        real *gy = naive_uniform(3, n), *gx = naive_uniform(4, n), *gx0 = naive_copy(gx, n);
        kernel->relu(n, x, index % 2 ? mask : NULL, y);
        if (index & 2) memset(gx0, 0, (size_t)n * sizeof *gx0);
        kernel->relu_backward(n, x, index % 2 ? mask : NULL, gy, index & 2 ? NULL : gx, gx);
        for (int i = 0; i < n; i++) {
            const double m = index % 2 ? (double)mask[i] : 1;
            Sum want = {0}, slope = {0};
            sum_add(&want, fmax((double)x[i], 0) * m);
            sum_add(&slope, (double)gx0[i]);
            sum_add(&slope, x[i] > 0 ? (double)gy[i] * m : 0);
            expect_near((double)y[i], want, "relu(%g)", (double)x[i]);
            expect_near((double)gx[i], slope, "relu'(%g)", (double)x[i]);
        }
        FREE(x, y, gy, gx, mask, gx0);
    }
}
END_TEST

START_TEST(gelu_and_its_gradient)
{
    naive_use_set(_i);
    for (int index = 0; index < 4 * N_LENGTHS; index++) {
        const int n = length(index / 4);
        real *x = activation_inputs(n), *y = naive_uniform(2, n), *mask = mask_of(n);
        real *gy = naive_uniform(3, n), *gx = naive_uniform(4, n), *gx0 = naive_copy(gx, n);
        kernel->gelu(n, x, index % 2 ? mask : NULL, y);
        if (index & 2) memset(gx0, 0, (size_t)n * sizeof *gx0);
        kernel->gelu_backward(n, x, index % 2 ? mask : NULL, gy, index & 2 ? NULL : gx, gx);
        for (int i = 0; i < n; i++) {
            const double m = index % 2 ? (double)mask[i] : 1, v = (double)x[i];
            /* 1 + erf is a difference where x < 0: its error is relative to 1. */
            expect_near((double)y[i], (Sum){naive_gelu(v) * m, fabs(v) * m}, "gelu(%g)", v);
            const Sum slope = {(double)gx0[i] + (double)gy[i] * m * naive_gelu_slope(v),
                               fabs((double)gx0[i]) + fabs((double)gy[i]) * m * (1 + fabs(v))};
            expect_near((double)gx[i], slope, "gelu'(%g)", v);
        }
        FREE(x, y, gy, gx, mask, gx0);
    }
    real known[] = {0, 1, -1, 2}, y[4];
    const double want[] = {0, 0.841344746, -0.158655254, 1.954499736}; /* x times the normal distribution function */
    kernel->gelu(4, known, NULL, y);
    for (int i = 0; i < 4; i++) expect_within((double)y[i], want[i], 5e-7, "gelu(%g)", (double)known[i]);
}
END_TEST

/* ---- cross-entropy ---- */

static void check_cross_entropy(int n, real spread, real smoothing, real scale)
{
    real *logits = naive_uniform((uint64_t)n, n), *gradient;
    const int label = naive_draw((uint64_t)n + 7, n);
    for (int i = 0; i < n; i++) logits[i] = logits[i] * spread + (i % 2 ? spread / 2 : 0);
    gradient = naive_copy(logits, n);
    double largest = -INFINITY, total = 0, biggest = 0;
    for (int i = 0; i < n; i++) {
        largest = fmax(largest, (double)logits[i]);
        biggest = fmax(biggest, fabs((double)logits[i]));
    }
    for (int i = 0; i < n; i++) total += exp((double)logits[i] - largest);
    const double log_sum = largest + log(total), size = 1 + biggest + fabs(log_sum), s = (double)smoothing;
    double loss = 0, nll;
    for (int i = 0; i < n; i++) loss += (log_sum - (double)logits[i]) * (s / n + (i == label ? 1 - s : 0));

    expect_near(kernel->log_sum_exp(n, logits), (Sum){log_sum, size}, "log_sum_exp of %d", n);
    double got = kernel->cross_entropy_row(n, gradient, label, smoothing, false, scale, &nll);
    expect_near(got, (Sum){loss, size}, "loss of %d", n);
    expect_near(nll, (Sum){log_sum - (double)logits[label], size}, "nll of %d", n);
    expect_same(gradient, logits, n, "logits of a loss without gradient");
    double same = kernel->cross_entropy_row(n, gradient, label, smoothing, true, scale, &nll);
    ck_assert(same == got);
    Sum sum = {0}, probability = {0};
    for (int i = 0; i < n; i++) {
        const double p = exp((double)logits[i] - log_sum), target = s / n + (i == label ? 1 - s : 0);
        const double least = exp(exp_low + 1) / TOLERANCE; /* exp never returns less than a normal number */
        const double own_size = p * size + target + least;
        expect_near((double)gradient[i], (Sum){(p - target) * (double)scale, own_size * (double)scale},
                    "gradient of %d: %d", n, i);
        sum.value += (double)gradient[i];
        sum.size += own_size * (double)scale;
        probability.value += (double)gradient[i] / (double)scale + target;
        probability.size += own_size;
    }
    expect_near(0, sum, "sum of the gradient of %d", n);
    expect_near(1, probability, "sum of the softmax of %d", n);
    FREE(logits, gradient);
}

START_TEST(cross_entropy)
{
    naive_use_set(_i);
    for (int n = 1; n <= 71; n++) {
        const int length = n <= 70 ? n : 1000;
        for (int smoothed = 0; smoothed < 2; smoothed++) {
            const real smoothing = smoothed ? (real)0.1 : 0;
            check_cross_entropy(length, 5, smoothing, 1);
            check_cross_entropy(length, (real)0.01, smoothing, (real)0.125);
            check_cross_entropy(length, 3000, smoothing, 1);
        }
    }
}
END_TEST

START_TEST(cross_entropy_of_known_rows)
{
    naive_use_set(_i);
    double nll;
    real even[10] = {0};
    expect_within(kernel->cross_entropy_row(10, even, 3, (real)0.1, true, 1, &nll), log(10), 1e-6, "loss of even logits");
    expect_within((double)even[3], 0.1 - 0.9 - 0.01, 1e-7, "its gradient at the label");
    expect_within((double)even[4], 0.1 - 0.01, 1e-7, "and elsewhere");
    real one = -7;
    expect_within(kernel->cross_entropy_row(1, &one, 0, (real)0.1, true, 1, &nll), 0, 1e-6, "loss where there is no choice");
    expect_within((double)one, 0, 1e-6, "its gradient");
}
END_TEST

/* What isn't a number is seen in every result that it enters. */
START_TEST(nan_is_seen)
{
    naive_use_set(_i);
    for (int n = 1; n <= 70; n += 3)
        for (int at = 0; at < n; at += 5) {
            real *x = naive_uniform(1, n), *y = naive_uniform(2, n);
            double nll;
            x[at] = (real)NAN;
            ck_assert(isnan(kernel->log_sum_exp(n, x)) && isnan(kernel->sum_of_squares(n, x)));
            kernel->relu(n, x, NULL, y);
            ck_assert(isnan(y[at]));
            kernel->gelu(n, x, NULL, y);
            ck_assert(isnan(y[at]));
            kernel->gelu_backward(n, x, NULL, x, y, y);
            ck_assert(isnan(y[at]));
            ck_assert(isnan(kernel->cross_entropy_row(n, x, n - 1, 0, true, 1, &nll)) && isnan(nll));
            for (int i = 0; i < n; i++) ck_assert(isnan(x[i]));
            FREE(x, y);
        }
}
END_TEST

/* ---- Adam ---- */

START_TEST(adam)
{
    naive_use_set(_i);
    const double beta1 = 0.9, beta2 = 0.98, rate = 0.01, epsilon = 1e-9, clip = 0.5, decay = 0.02, ema_decay = 0.7;
    enum { STEPS = 7 };
    for (int index = 0; index < N_LENGTHS; index++) {
        const int n = length(index);
        const bool averages = index % 2 == 0;
        real *weight = naive_uniform(1, n), *m = naive_uniform(2, n), *v = naive_uniform(3, n), *ema = naive_uniform(4, n);
        double *want = malloc(4 * (size_t)n * sizeof *want), *want_m = want + n, *want_v = want_m + n, *want_ema = want_v + n;
        for (int i = 0; i < n; i++) {
            want_ema[i] = (double)ema[i];
            m[i] = v[i] = 0;
            want[i] = (double)weight[i];
            want_m[i] = want_v[i] = 0;
        }
        for (int t = 1; t <= STEPS; t++) {
            real *gradient = naive_uniform(100 + (uint64_t)t, n), *before = naive_copy(gradient, n);
            const AdamStep step = {
                .gradient_scale = (real)clip,
                .beta1 = (real)beta1,
                .beta2 = (real)beta2,
                .gain1 = (real)(1 - beta1),
                .gain2 = (real)(1 - beta2),
                .rate = (real)(rate / (1 - pow(beta1, t))),
                .v_scale = (real)(1 / sqrt(1 - pow(beta2, t))),
                .epsilon = (real)epsilon,
                .decay = (real)decay,
                .ema_rate = (real)(1 - ema_decay),
            };
            kernel->adam(n, &step, weight, gradient, m, v, averages ? ema : NULL);
            expect_same(gradient, before, n, "gradient");
            for (int i = 0; i < n; i++) {
                const double g = clip * (double)gradient[i];
                want_m[i] = beta1 * want_m[i] + (1 - beta1) * g;
                want_v[i] = beta2 * want_v[i] + (1 - beta2) * g * g;
                want[i] *= 1 - decay;
                want[i] -= rate * want_m[i] / (1 - pow(beta1, t)) / (sqrt(want_v[i] / (1 - pow(beta2, t))) + epsilon);
                expect_near((double)m[i], (Sum){want_m[i], 1}, "adam %d, step %d: m %d", n, t, i);
                expect_near((double)v[i], (Sum){want_v[i], want_v[i]}, "adam %d, step %d: v %d", n, t, i);
                if (averages) want_ema[i] = ema_decay * want_ema[i] + (1 - ema_decay) * want[i];
                expect_near((double)weight[i], (Sum){want[i], 1}, "adam %d, step %d: weight %d", n, t, i);
                expect_near((double)ema[i], (Sum){want_ema[i], 1}, "adam %d, step %d: average %d", n, t, i);
            }
            FREE(gradient, before);
        }
        FREE(weight, m, v, ema);
        free(want);
    }
}
END_TEST

/* ---- sets and threads ---- */

START_TEST(sets_by_name)
{
    Compute compute;
    ck_assert(compute_choose(&compute, NULL, NULL));
    ck_assert_ptr_eq(compute.kernels, kernels_get(0));
    ck_assert(!compute_choose(&compute, "abacus", NULL));
    ck_assert_ptr_eq(compute.kernels, kernels_get(0));
    ck_assert_str_eq(kernels_get(naive_n_sets() - 1)->name, "base");
    ck_assert(compute_choose(&compute, "base", NULL));
    ck_assert_str_eq(compute.kernels->name, "base");
    ck_assert_int_eq(compute.kernels->lanes, LANES); /* this file is compiled for the base set, too */
    ck_assert_ptr_eq(compute_best().kernels, kernels_get(0));
}
END_TEST

START_TEST(threads_and_their_scratch)
{
    const int usual = threads_count();
    for (int n = 1; n <= 3; n++) {
        threads_set(n);
        ck_assert_int_eq(threads_count(), n);
        ck_assert_int_eq(threads_self(), 0);
        Arena arena = {0};
        const ThreadScratch scratch = threads_scratch(&arena, 37);
        real *own[3] = {NULL};
#pragma omp parallel num_threads(n)
        {
            real *mine = own[threads_self()] = threads_scratch_self(&scratch);
            for (int i = 0; i < 37; i++) mine[i] = (real)threads_self();
        }
        for (int t = 0; t < n; t++) {
            ck_assert_ptr_nonnull(own[t]);
            ck_assert_uint_eq((uintptr_t)own[t] % MEM_ALIGN, 0);
            for (int i = 0; i < 37; i++) expect_within((double)own[t][i], t, 0, "scratch of thread %d", t);
        }
        arena_free(&arena);
    }
    threads_set(0);
    ck_assert_int_eq(threads_count(), 3);
    int inside[3] = {0}; /* what runs there is alone: it needs no scratch for others */
#pragma omp parallel num_threads(3)
    inside[threads_self()] = threads_count();
    for (int t = 0; t < 3; t++) ck_assert_int_eq(inside[t], 1);
    threads_set(usual);
}
END_TEST

/* What the caller had comes back, also from within another one's. */
START_TEST(threads_of_a_caller)
{
    threads_set(5);
    const int outer = threads_begin(2);
    ck_assert_int_eq(threads_count(), 2);
    const int inner = threads_begin(0);
    ck_assert_int_eq(threads_count(), 2);
    threads_set(7);
    threads_end(inner);
    ck_assert_int_eq(threads_count(), 2);
    threads_end(outer);
    ck_assert_int_eq(threads_count(), 5);
}
END_TEST

Suite *suite_kernels(void)
{
    Suite *suite = suite_create("kernels");
    TCase *sets = tcase_create("each instruction set"), *once = tcase_create("once");
    const int n = naive_n_sets();
    tcase_add_loop_test(sets, exp_within_3_units_in_softmax, 0, n);
    tcase_add_loop_test(sets, random_bits_are_philox, 0, n);
    tcase_add_loop_test(sets, dropout_share_and_values, 0, n);
    tcase_add_loop_test(sets, dropout_independent_of_cut, 0, n);
    tcase_add_loop_test(sets, flat_blocks, 0, n);
    tcase_add_loop_test(sets, layer_norm, 0, n);
    tcase_add_loop_test(sets, layer_norm_of_four_numbers, 0, n);
    tcase_add_loop_test(sets, relu_and_its_gradient, 0, n);
    tcase_add_loop_test(sets, gelu_and_its_gradient, 0, n);
    tcase_add_loop_test(sets, cross_entropy, 0, n);
    tcase_add_loop_test(sets, cross_entropy_of_known_rows, 0, n);
    tcase_add_loop_test(sets, nan_is_seen, 0, n);
    tcase_add_loop_test(sets, adam, 0, n);
    tcase_add_test(once, exp_within_2_units);
    tcase_add_test(once, sets_by_name);
    tcase_add_test(once, threads_and_their_scratch);
    tcase_add_test(once, threads_of_a_caller);
    suite_add_tcase(suite, sets);
    suite_add_tcase(suite, once);
    return suite;
}
