/* run/average: means of small checkpoints, which are known. */
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "core/threads.h"
#include "run/average.h"
#include "run/checkpoint.h"
#include "system/files.h"
#include "tests/sample.h"
#include "tests/suites.h"
#include "tests/temp.h"

enum { ROWS = 50, COLS = 30, SIZE = ROWS * COLS + COLS };

static char *folder, *output;
static const char *options_text = "[model]\n"; /* of the checkpoints that are saved next */

static void setup(void)
{
    folder = temp_folder();
    output = path_join(folder, "mean.safetensors");
}

static void teardown(void)
{
    mem_free(output);
    temp_remove(folder);
}

static Params new_params(int rows, bool has_more)
{
    Params params = {0};
    params_declare(&params, 2, rows, COLS, INIT_ZEROS, 0, "a.weight");
    params_declare(&params, 1, 1, COLS, INIT_ZEROS, 0, "a.bias");
    if (has_more) params_declare(&params, 1, 1, 2, INIT_ZEROS, 0, "b.bias");
    params_allocate(&params, false);
    return params;
}

/* The weights of the checkpoint of a step, and their moving average. */
static void sample(int step, real value[SIZE], real ema[SIZE])
{
    sample_normal((uint64_t)step, 1, SIZE, value);
    sample_normal(1000 + (uint64_t)step, 1, SIZE, ema);
}

static char *save_as(const char *name, int step, Params *params, bool ema, uint32_t tokenizer_hash)
{
    char *path = path_join(folder, name);
    Adam adam;
    real averages[SIZE];
    adam_init(&adam, params->size, 0, 0, 0);
    if (params->size == SIZE) sample(step, params->value, averages);
    else sample_normal(1, 1, params->size, params->value);
    if (ema) {
        adam_start_ema(&adam, params, 0.5);
        memcpy(adam.ema, averages, sizeof averages);
    }
    const TrainState state = {.step = step, .epoch = step / 10, .best_step = step, .best_score = 7, .validated_step = step};
    const CheckpointOrigin origin = {.options = options_text, .tokenizer_hash = tokenizer_hash, .data_hash = 5,
                                     .kernel = "kernel"};
    Error error = {0};
    ck_assert_msg(checkpoint_save(path, params, &adam, &state, &origin, &error), "%s", error.text);
    adam_free(&adam);
    params_free(params);
    return path;
}

/* The mean of n checkpoints, written to `output`. */
static bool average(char *const *path, int n, bool ema, Error *error)
{
    Average *mean = average_new(path, n, ema, 1, error);
    const bool good = mean && average_save(mean, output, error);
    average_free(mean);
    return good;
}

/* Save the checkpoint of a step; returns its path. */
static char *save(int step, bool ema)
{
    char name[32];
    snprintf(name, sizeof name, "step-%d", step);
    Params params = new_params(ROWS, false);
    return save_as(name, step, &params, ema, 1);
}

/* The parameters of the checkpoint `path`, and its state. */
static void read(const char *path, real value[SIZE], TrainState *state)
{
    Error error = {0};
    Checkpoint checkpoint;
    Params params = new_params(ROWS, false);
    ck_assert_msg(checkpoint_open(&checkpoint, path, &error), "%s", error.text);
    ck_assert(!checkpoint_has_ema(&checkpoint));
    ck_assert_msg(checkpoint_read_weights(&checkpoint, true, &params, &error), "%s", error.text);
    memcpy(value, params.value, SIZE * sizeof(real));
    if (state) *state = checkpoint.state;
    params_free(&params);
    checkpoint_close(&checkpoint);
}

START_TEST(of_one_it_is_itself)
{
    char *path = save(3, false);
    real value[SIZE], ema[SIZE], got[SIZE];
    Error error = {0};
    sample(3, value, ema);
    ck_assert_msg(average(&path, 1, true, &error), "%s", error.text);
    read(output, got, NULL);
    ck_assert_mem_eq(got, value, sizeof got);
    mem_free(path);
}
END_TEST

/* Five; in fp32 all additions in double precision are exact, or nearly. */
START_TEST(of_some_it_is_their_mean)
{
    enum { N = 5 };
    char *path[N];
    real value[SIZE], ema[SIZE], got[SIZE];
    long double sum[SIZE] = {0};
    for (int i = 0; i < N; i++) {
        path[i] = save(40 - i, false);
        sample(40 - i, value, ema);
        for (int k = 0; k < SIZE; k++) sum[k] += (long double)value[k];
    }
    Error error = {0};
    real first[SIZE];
    for (int threads = 1; threads <= 3; threads++) {
        threads_set(threads);
        ck_assert_msg(average(path, N, false, &error), "%s", error.text);
        read(output, got, NULL);
        if (threads == 1) memcpy(first, got, sizeof got);
        ck_assert_mem_eq(got, first, sizeof got);
    }
    for (int k = 0; k < SIZE; k++) {
#ifdef FERRY_FP64
        ck_assert_double_eq_tol(got[k], (double)(sum[k] / N), 1e-15);
#else
        ck_assert_double_eq(got[k], (real)(sum[k] / N));
#endif
    }
    for (int i = 0; i < N; i++) mem_free(path[i]);
}
END_TEST

START_TEST(moving_averages_have_a_mean_too)
{
    char *path[] = {save(1, true), save(2, true)};
    real value[2][SIZE], ema[2][SIZE], got[SIZE];
    for (int i = 0; i < 2; i++) sample(1 + i, value[i], ema[i]);
    Error error = {0};
    for (int averages = 0; averages <= 1; averages++) {
        ck_assert_msg(average(path, 2, averages, &error), "%s", error.text);
        read(output, got, NULL);
        for (int k = 0; k < SIZE; k++) {
            const real *a = averages ? ema[0] : value[0], *b = averages ? ema[1] : value[1];
            ck_assert_double_eq(got[k], (real)(((double)a[k] + (double)b[k]) / 2));
        }
    }
    mem_free(path[0]);
    mem_free(path[1]);
}
END_TEST

/* The latest is not the last here, and one is called by a link. */
START_TEST(it_says_what_it_is)
{
    char *path[] = {save(10, false), save(30, false), save(20, false)}, *link = path_join(folder, "best");
    Error error = {0};
    ck_assert(symlink_replace(link, "step-20", &error));
    mem_free(path[2]);
    path[2] = link;
    ck_assert_msg(average(path, 3, true, &error), "%s", error.text);
    Checkpoint checkpoint;
    ck_assert_msg(checkpoint_open(&checkpoint, output, &error), "%s", error.text);
    ck_assert_str_eq(checkpoint.origin.averaged, "step-10 step-30 step-20");
    ck_assert_str_eq(checkpoint.origin.options, options_text);
    ck_assert_uint_eq(checkpoint.origin.tokenizer_hash, 1);
    ck_assert_int_eq(checkpoint.state.step, 30);
    ck_assert_int_eq(checkpoint.state.epoch, 3);
    ck_assert_int_eq(checkpoint.state.best_step, 0);
    /* Training can't go on from it. */
    Params params = new_params(ROWS, false);
    Adam adam;
    adam_init(&adam, params.size, 0, 0, 0);
    ck_assert(!checkpoint_read_adam(&checkpoint, &params, &adam, &error));
    ck_assert_msg(strstr(error.text, "adam.m.a.weight") != NULL, "%s", error.text);
    adam_free(&adam);
    params_free(&params);
    checkpoint_close(&checkpoint);
    for (int i = 0; i < 3; i++) mem_free(path[i]);
}
END_TEST

/* The mean of `other` and a checkpoint is refused with this message, in either order, and nothing is written. */
static void assert_refused(char *other, const char *message)
{
    char *good = save(1, false);
    for (int order = 0; order < 2; order++) {
        char *path[] = {order ? other : good, order ? good : other};
        Error error = {0};
        ck_assert(!average(path, 2, true, &error));
        ck_assert_msg(strstr(error.text, other) && strstr(error.text, message), "%s", error.text);
        ck_assert(!file_exists(output));
    }
    mem_free(good);
    mem_free(other);
}

/* What shapes training but not the model may differ. */
START_TEST(of_two_trainings)
{
    char *path[2];
    Error error = {0};
    options_text = "[model]\nheads = 4\n[train]\nwarmup = 5\n";
    path[0] = save(1, false);
    options_text = "[model]\nheads = 4\n[train]\nwarmup = 6\n";
    path[1] = save(2, false);
    ck_assert_msg(average(path, 2, false, &error), "%s", error.text);
    for (int i = 0; i < 2; i++) mem_free(path[i]);
}
END_TEST

START_TEST(what_has_no_mean)
{
    Params params = new_params(ROWS - 1, false);
    char *path = save_as("narrow", 2, &params, false, 1);
    char *good = save(1, false), *both[] = {good, path};
    Error error = {0};
    ck_assert(!average(both, 2, true, &error));
    ck_assert_msg(strstr(error.text, path) && strstr(error.text, "a.weight is F") && strstr(error.text, "[49, 30]"), "%s",
                  error.text);
    mem_free(good);
    mem_free(path);
    params = new_params(ROWS, true);
    assert_refused(save_as("more", 2, &params, false, 1), "different models");
    params = new_params(ROWS, false);
    assert_refused(save_as("tokenizer", 2, &params, false, 2), "not trained with the tokenizer");
    /* Models that only happen to have equal shapes. */
    options_text = "[model]\nheads = 4\nactivation = gelu\n[train]\nwarmup = 5\n";
    params = new_params(ROWS, false);
    char *other = save_as("heads", 2, &params, false, 1);
    options_text = "[model]\nheads = 8\n";
    for (int order = 0; order < 2; order++) {
        good = save(1, false);
        char *pair[] = {order ? other : good, order ? good : other};
        error = (Error){0};
        ck_assert(!average(pair, 2, true, &error));
        ck_assert_msg(strstr(error.text, "heads and ") || strstr(error.text, "step-1 and "), "%s", error.text);
        const char *differences = order ? "  model.heads: 4 and 8\n  model.activation: gelu and relu"
                                        : "  model.heads: 8 and 4\n  model.activation: relu and gelu";
        ck_assert_msg(strstr(error.text, differences), "%s", error.text);
        ck_assert(!strstr(error.text, "warmup") && !file_exists(output));
        mem_free(good);
    }
    mem_free(other);
    assert_refused(temp_file(folder, "broken", "broken", 6), "");
    assert_refused(path_join(folder, "nowhere"), "");
}
END_TEST

Suite *suite_average(void)
{
    Suite *suite = suite_create("average");
    TCase *tcase = tcase_create("average");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, of_one_it_is_itself);
    tcase_add_test(tcase, of_some_it_is_their_mean);
    tcase_add_test(tcase, moving_averages_have_a_mean_too);
    tcase_add_test(tcase, it_says_what_it_is);
    tcase_add_test(tcase, of_two_trainings);
    tcase_add_test(tcase, what_has_no_mean);
    suite_add_tcase(suite, tcase);
    return suite;
}
