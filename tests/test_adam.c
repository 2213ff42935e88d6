/* run/adam: against Kingma and Ba's algorithm 1 written out in double precision. */
#include <math.h>
#include <string.h>

#include "core/kernels.h"
#include "core/memory.h"
#include "core/threads.h"
#include "run/adam.h"
#include "tests/sample.h"
#include "tests/suites.h"

enum { SIZE = 3 * (1 << 14) + 37 }; /* some tiles, and a rest that fills no vector */

/* One nameless parameter of SIZE elements. */
static Params new_params(void)
{
    Params params = {0};
    params_declare(&params, 1, 1, SIZE, INIT_ZEROS, 0, "x");
    params_allocate(&params, true);
    sample_normal(1, 1, SIZE, params.value);
    return params;
}

static void set_gradient(Params *params, int step)
{
    sample_normal(100 + (uint64_t)step, pow(10, step % 3 - 1), SIZE, params->grad);
    params->grad[5] = 0; /* never moves */
}

START_TEST(follows_the_algorithm)
{
    const double beta1 = 0.9, beta2 = 0.98, epsilon = 1e-9, scale = 0.25, rate = 0.01;
    Params params = new_params();
    const double start5 = params.value[5];
    double *x = mem_alloc(SIZE * sizeof *x), *m = mem_zalloc(SIZE * sizeof *m), *v = mem_zalloc(SIZE * sizeof *v);
    for (int i = 0; i < SIZE; i++) x[i] = params.value[i];
    Adam adam;
    adam_init(&adam, SIZE, beta1, beta2, epsilon);
    for (int t = 1; t <= 7; t++) {
        set_gradient(&params, t);
        for (int i = 0; i < SIZE; i++) {
            const double g = scale * params.grad[i];
            m[i] = beta1 * m[i] + (1 - beta1) * g;
            v[i] = beta2 * v[i] + (1 - beta2) * g * g;
            x[i] -= rate / t * (m[i] / (1 - pow(beta1, t))) / (sqrt(v[i] / (1 - pow(beta2, t))) + epsilon);
        }
        adam_update(&adam, &params, rate / t, scale);
    }
    const double tolerance = sizeof(real) == 4 ? 2e-6 : 1e-13;
    for (int i = 0; i < SIZE; i++) {
        ck_assert_double_eq_tol(params.value[i], x[i], tolerance * fmax(1, fabs(x[i])));
        ck_assert_double_eq_tol(adam.m[i], m[i], tolerance);
        ck_assert_double_eq_tol(adam.v[i], v[i], tolerance * fmax(1, v[i]));
    }
    ck_assert_double_eq(params.value[5], start5);
    ck_assert_int_eq(adam.step, 7);
    mem_free(x);
    mem_free(m);
    mem_free(v);
    adam_free(&adam);
    params_free(&params);
}
END_TEST

/* Weight decay, and the average's decay growing with the step until it is at its highest, from the 13th step on. */
START_TEST(weight_decay_and_moving_average)
{
    enum { STEPS = 16 };
    const double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, rate = 0.1, weight_decay = 0.3, ema_decay = 0.6;
    Params params = new_params();
    double *x = mem_alloc(SIZE * sizeof *x), *m = mem_zalloc(SIZE * sizeof *m), *v = mem_zalloc(SIZE * sizeof *v);
    double *average = mem_alloc(SIZE * sizeof *average);
    for (int i = 0; i < SIZE; i++) average[i] = x[i] = params.value[i];
    Adam adam;
    adam_init(&adam, SIZE, beta1, beta2, epsilon);
    adam.weight_decay = weight_decay;
    adam_start_ema(&adam, &params, ema_decay);
    for (int t = 1; t <= STEPS; t++) {
        const double rising = (1.0 + t) / (10.0 + t), decay = rising < ema_decay ? rising : ema_decay;
        ck_assert_int_eq(decay < ema_decay, t < 13);
        set_gradient(&params, t);
        for (int i = 0; i < SIZE; i++) {
            const double g = params.grad[i];
            m[i] = beta1 * m[i] + (1 - beta1) * g;
            v[i] = beta2 * v[i] + (1 - beta2) * g * g;
            x[i] = x[i] - rate * weight_decay * x[i] -
                   rate * (m[i] / (1 - pow(beta1, t))) / (sqrt(v[i] / (1 - pow(beta2, t))) + epsilon);
            average[i] = decay * average[i] + (1 - decay) * x[i];
        }
        adam_update(&adam, &params, rate, 1);
    }
    const double tolerance = sizeof(real) == 4 ? 2e-5 : 1e-13;
    for (int i = 0; i < SIZE; i++) {
        ck_assert_double_eq_tol(params.value[i], x[i], tolerance * fmax(1, fabs(x[i])));
        ck_assert_double_eq_tol(adam.ema[i], average[i], tolerance * fmax(1, fabs(average[i])));
    }
    real *weights = mem_alloc(SIZE * sizeof *weights), *averages = mem_alloc(SIZE * sizeof *averages);
    memcpy(weights, params.value, SIZE * sizeof *weights);
    memcpy(averages, adam.ema, SIZE * sizeof *averages);
    adam_swap_ema(&adam, &params);
    ck_assert_mem_eq(params.value, averages, SIZE * sizeof *averages);
    ck_assert_mem_eq(adam.ema, weights, SIZE * sizeof *weights);
    adam_swap_ema(&adam, &params);
    ck_assert_mem_eq(params.value, weights, SIZE * sizeof *weights);
    ck_assert_mem_eq(adam.ema, averages, SIZE * sizeof *averages);
    mem_free(weights);
    mem_free(averages);
    mem_free(average);
    mem_free(x);
    mem_free(m);
    mem_free(v);
    adam_free(&adam);
    params_free(&params);
}
END_TEST

/* That an average is kept changes no bit of the weights. */
START_TEST(moving_average_only_looks_on)
{
    Params params[2] = {new_params(), new_params()};
    for (int averages = 0; averages <= 1; averages++) {
        Adam adam;
        adam_init(&adam, SIZE, 0.9, 0.98, 1e-9);
        if (averages) adam_start_ema(&adam, &params[averages], 0.999);
        for (int t = 1; t <= 3; t++) {
            set_gradient(&params[averages], t);
            adam_update(&adam, &params[averages], 0.1, 0.5);
        }
        adam_free(&adam);
    }
    ck_assert_mem_eq(params[0].value, params[1].value, SIZE * sizeof(real));
    params_free(&params[0]);
    params_free(&params[1]);
}
END_TEST

/* Betas of which a float knows only 1, or little more: 1 - beta must be theirs. */
START_TEST(betas_next_to_one)
{
    static const double betas[][2] = {{0.999999, 0.999999999}, {0.9, 0.99999997}, {0.99999, 0.999999}, {0, 0}};
    for (size_t b = 0; b < sizeof betas / sizeof *betas; b++) {
        const double beta1 = betas[b][0], beta2 = betas[b][1];
        Params params = new_params();
        double *x = mem_alloc(SIZE * sizeof *x), *m = mem_zalloc(SIZE * sizeof *m), *v = mem_zalloc(SIZE * sizeof *v);
        for (int i = 0; i < SIZE; i++) x[i] = params.value[i];
        Adam adam;
        adam_init(&adam, SIZE, beta1, beta2, 1e-9);
        for (int t = 1; t <= 4; t++) {
            set_gradient(&params, t);
            for (int i = 0; i < SIZE; i++) {
                const double g = params.grad[i];
                m[i] = beta1 * m[i] + (1 - beta1) * g;
                v[i] = beta2 * v[i] + (1 - beta2) * g * g;
                x[i] -= 0.01 * (m[i] / (1 - pow(beta1, t))) / (sqrt(v[i] / (1 - pow(beta2, t))) + 1e-9);
            }
            adam_update(&adam, &params, 0.01, 1);
        }
        for (int i = 0; i < SIZE; i++)
            ck_assert_msg(fabs(params.value[i] - x[i]) < 1e-5 * fmax(1, fabs(x[i])), "beta %g, %.9g, element %d: %.9g, not %.9g",
                          beta1, beta2, i, params.value[i], x[i]);
        mem_free(x);
        mem_free(m);
        mem_free(v);
        adam_free(&adam);
        params_free(&params);
    }
}
END_TEST

/* Gradients whose squares vanish among the reals: no weight moves by more than some learning rates. */
START_TEST(gradients_without_squares)
{
    static const double epsilons[] = {1e-20, 1e-9}, betas[] = {0, 0.98, 0.999999999};
    for (int e = 0; e < 2; e++)
        for (int b = 0; b < 3; b++) {
            Params params = new_params();
            Adam adam;
            adam_init(&adam, SIZE, 0.9, betas[b], epsilons[e]);
            memset(params.value, 0, SIZE * sizeof(real));
            for (int i = 0; i < SIZE; i++) params.grad[i] = (real)pow(10, -i % 40);
            for (int t = 1; t <= 10; t++) adam_update(&adam, &params, 0.001, 1);
            for (int i = 0; i < SIZE; i++)
                ck_assert_msg(fabs(params.value[i]) < 10 * 0.002, "epsilon %g, beta2 %.9g, gradient %g: moved by %g", epsilons[e],
                              betas[b], params.grad[i], params.value[i]);
            adam_free(&adam);
            params_free(&params);
        }
}
END_TEST

START_TEST(norm)
{
    const Adam adam = {.kernels = compute_best().kernels};
    Params params = new_params();
    ck_assert_double_eq(adam_gradient_norm(&adam, &params), 0);
    params.grad[0] = 3;
    params.grad[SIZE - 1] = -4;
    ck_assert_double_eq(adam_gradient_norm(&adam, &params), 5);
    sample_normal(3, 2, SIZE, params.grad);
    double squares = 0;
    for (int i = 0; i < SIZE; i++) squares += (double)params.grad[i] * params.grad[i];
    ck_assert_double_eq_tol(adam_gradient_norm(&adam, &params), sqrt(squares), 1e-6 * sqrt(squares));
    params.grad[SIZE / 2] = (real)NAN;
    ck_assert(isnan(adam_gradient_norm(&adam, &params)));
    params.grad[SIZE / 2] = (real)-INFINITY;
    ck_assert(isinf(adam_gradient_norm(&adam, &params)));
    params_free(&params);
}
END_TEST

START_TEST(any_number_of_threads)
{
    double first_norm = 0;
    real *first = mem_alloc(SIZE * sizeof *first), *first_ema = mem_alloc(SIZE * sizeof *first_ema);
    for (int threads = 1; threads <= 3; threads++) {
        threads_set(threads);
        Params params = new_params();
        Adam adam;
        adam_init(&adam, SIZE, 0.9, 0.999, 1e-8);
        adam_start_ema(&adam, &params, 0.5);
        set_gradient(&params, 1);
        const double gradient_norm = adam_gradient_norm(&adam, &params);
        adam_update(&adam, &params, 0.1, 1);
        if (threads == 1) {
            first_norm = gradient_norm;
            memcpy(first, params.value, SIZE * sizeof *first);
            memcpy(first_ema, adam.ema, SIZE * sizeof *first_ema);
        }
        ck_assert(gradient_norm == first_norm && !memcmp(first, params.value, SIZE * sizeof *first));
        ck_assert(!memcmp(first_ema, adam.ema, SIZE * sizeof *first_ema));
        adam_free(&adam);
        params_free(&params);
    }
    mem_free(first);
    mem_free(first_ema);
}
END_TEST

Suite *suite_adam(void)
{
    Suite *suite = suite_create("adam");
    TCase *tcase = tcase_create("adam");
    tcase_add_test(tcase, follows_the_algorithm);
    tcase_add_test(tcase, weight_decay_and_moving_average);
    tcase_add_test(tcase, moving_average_only_looks_on);
    tcase_add_test(tcase, betas_next_to_one);
    tcase_add_test(tcase, gradients_without_squares);
    tcase_add_test(tcase, norm);
    tcase_add_test(tcase, any_number_of_threads);
    suite_add_tcase(suite, tcase);
    return suite;
}
