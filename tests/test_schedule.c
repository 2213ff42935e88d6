/* train/schedule: rates that follow from the definitions by hand. */
#include <math.h>

#include "tests/suites.h"
#include "train/schedule.h"

static Options options;

static void setup(void)
{
    options_init(&options);
    options.train_learning_rate = 0.5;
    options.train_warmup = 4;
}

static void teardown(void)
{
    options_free(&options);
}

static void assert_rate(int64_t step, double rate)
{
    ck_assert_double_eq_tol(schedule_rate(&options, step), rate, 1e-15);
}

START_TEST(inverse_square_root)
{
    assert_rate(1, 0.125);
    assert_rate(3, 0.375);
    assert_rate(4, 0.5);
    assert_rate(16, 0.25);
    assert_rate(400, 0.05);
}
END_TEST

/* Equation 3 of Vaswani et al. 2017: d_model^-0.5 min(step^-0.5, step warmup^-1.5). */
START_TEST(the_papers)
{
    options.train_warmup = 4000;
    options.train_learning_rate = 1 / sqrt(512 * 4000.0);
    for (int step = 1; step < 100000; step += 777)
        assert_rate(step, fmin(1 / sqrt(step), step * pow(4000, -1.5)) / sqrt(512));
}
END_TEST

START_TEST(constant)
{
    options.train_schedule = SCHEDULE_CONSTANT;
    assert_rate(2, 0.25);
    assert_rate(4, 0.5);
    assert_rate(1000000000, 0.5);
}
END_TEST

START_TEST(linear)
{
    options.train_schedule = SCHEDULE_LINEAR;
    options.train_decay_steps = 104;
    assert_rate(2, 0.25);
    assert_rate(4, 0.5);
    assert_rate(54, 0.5 * (1 + SCHEDULE_END) / 2);
    assert_rate(104, 0.5 * SCHEDULE_END);
    assert_rate(1000, 0.5 * SCHEDULE_END);
    options.train_decay_steps = 2; /* over before the warm-up is */
    assert_rate(3, 0.375);
    assert_rate(4, 0.5 * SCHEDULE_END);
}
END_TEST

START_TEST(cosine)
{
    options.train_schedule = SCHEDULE_COSINE;
    options.train_decay_steps = 124;
    assert_rate(2, 0.25);
    assert_rate(4, 0.5);
    assert_rate(44, 0.5 * (SCHEDULE_END + (1 - SCHEDULE_END) * 0.75)); /* a third of the way: (1 + cos 60 degrees) / 2 */
    assert_rate(64, 0.5 * (1 + SCHEDULE_END) / 2);
    assert_rate(84, 0.5 * (SCHEDULE_END + (1 - SCHEDULE_END) * 0.25));
    assert_rate(124, 0.5 * SCHEDULE_END);
    assert_rate(1000, 0.5 * SCHEDULE_END);
    options.train_decay_steps = 2; /* over before the warm-up is */
    assert_rate(3, 0.375);
    assert_rate(4, 0.5 * SCHEDULE_END);
}
END_TEST

START_TEST(no_warmup)
{
    options.train_warmup = 0;
    assert_rate(1, 0.5);
    assert_rate(4, 0.25);
    options.train_schedule = SCHEDULE_CONSTANT;
    assert_rate(1, 0.5);
}
END_TEST

Suite *suite_schedule(void)
{
    Suite *suite = suite_create("schedule");
    TCase *tcase = tcase_create("schedule");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, inverse_square_root);
    tcase_add_test(tcase, the_papers);
    tcase_add_test(tcase, constant);
    tcase_add_test(tcase, linear);
    tcase_add_test(tcase, cosine);
    tcase_add_test(tcase, no_warmup);
    suite_add_tcase(suite, tcase);
    return suite;
}
