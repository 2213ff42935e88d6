/* train/tree_sum: the sum of a step's gradients against a naive twin, which adds them in rounds; that training uses it; and
 * that a run which began before it is told. */
#include <string.h>

#include "core/memory.h"
#include "core/threads.h"
#include "system/files.h"
#include "tests/sample.h"
#include "tests/suites.h"
#include "tests/training.h"
#include "train/setup.h"
#include "train/trainer.h"
#include "train/tree_sum.h"

/* The twin: in each round the first is added to the second, the third to the fourth, ...; one that is left over waits for the
 * next round. Leaves the sums in gradient[0] and loss[0]. */
static void sum_in_rounds(int n, size_t size, real **gradient, double *loss)
{
    for (; n > 1; n = (n + 1) / 2)
        for (int to = 0; 2 * to < n; to++) {
            const bool pair = 2 * to + 1 < n;
            for (size_t i = 0; i < size; i++)
                gradient[to][i] = pair ? gradient[2 * to][i] + gradient[2 * to + 1][i] : gradient[2 * to][i];
            loss[to] = pair ? loss[2 * to] + loss[2 * to + 1] : loss[2 * to];
        }
}

static real **new_gradients(int n, size_t size)
{
    real **gradient = mem_alloc((size_t)n * sizeof *gradient);
    for (int i = 0; i < n; i++) gradient[i] = mem_zalloc(size * sizeof(real));
    return gradient;
}

static void free_gradients(real **gradient, int n)
{
    for (int i = 0; i < n; i++) mem_free(gradient[i]);
    mem_free(gradient);
}

enum { SIZE = 1003, MOST = 40 };

START_TEST(is_the_naive_twins)
{
    for (int n = 1; n <= MOST; n++) {
        real **gradient = new_gradients(n, SIZE), *sum_of = mem_alloc(SIZE * sizeof(real)),
             *one_by_one = mem_zalloc(SIZE * sizeof(real));
        double loss[MOST], total = 0;
        TreeSum sum;
        threads_set(1 + n % 3);
        tree_sum_init(&sum, SIZE, n);
        tree_sum_begin(&sum, n); /* a step that a signal or an error cut short leaves nothing behind */
        memset(sum_of, 0, SIZE * sizeof(real));
        if (n > 1) tree_sum_add(&sum, sum_of, &total);
        tree_sum_begin(&sum, n);
        for (int b = 0; b < n; b++) {
            sample_normal((uint64_t)(100 * n + b), b % 3 ? 1 : 30, SIZE, gradient[b]);
            loss[b] = total = 1.0 / (b + 3);
            for (size_t i = 0; i < SIZE; i++) one_by_one[i] += gradient[b][i];
            memcpy(sum_of, gradient[b], SIZE * sizeof(real));
            tree_sum_add(&sum, sum_of, &total);
        }
        sum_in_rounds(n, SIZE, gradient, loss);
        ck_assert_msg(!memcmp(sum_of, gradient[0], SIZE * sizeof(real)), "%d batches", n);
        ck_assert_msg(!memcmp(&total, loss, sizeof total), "%d batches: loss %.17g, not %.17g", n, total, loss[0]);
        /* the order matters, or this test would say nothing */
        ck_assert_int_eq(memcmp(sum_of, one_by_one, SIZE * sizeof(real)) != 0, n > 3);
        tree_sum_free(&sum);
        mem_free(sum_of);
        mem_free(one_by_one);
        free_gradients(gradient, n);
    }
}
END_TEST

/* The order written down. Sums of powers of two are exact, unless they are too far apart: 2^30 and 2^-30 give 2^30. So of a
 * large number, its opposite and small ones, those that meet the large one before its opposite are lost. */
START_TEST(the_order_by_hand)
{
    static const struct {
        int n;
        float batch[9], sum;
    } cases[] = {
        {1, {1}, 1},
        {2, {1, 2}, 3},
        {3, {0x1p30f, 1, -0x1p30f}, 0},                     /* (0 + 1) + 2 */
        {4, {0x1p30f, -0x1p30f, 1, 2}, 3},                  /* (0 + 1) + (2 + 3) */
        {4, {0x1p30f, 1, -0x1p30f, 2}, 0},
        {5, {0x1p30f, 1, 2, -0x1p30f, 4}, 4},               /* ((0 + 1) + (2 + 3)) + 4 */
        {6, {0x1p30f, 1, 2, -0x1p30f, 4, 8}, 12},           /* ((0 + 1) + (2 + 3)) + (4 + 5) */
        {7, {1, 2, 4, 8, 0x1p30f, 16, -0x1p30f}, 15},       /* ((0 + 1) + (2 + 3)) + ((4 + 5) + 6) */
        {8, {1, 2, 4, 8, 0x1p30f, -0x1p30f, 16, 32}, 63},
        {8, {1, 2, 4, 8, 0x1p30f, 16, 32, -0x1p30f}, 15},
        {9, {1, 2, 4, 0x1p30f, 8, 16, -0x1p30f, 32, 64}, 64}, /* 8 is last alone */
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        TreeSum sum;
        real gradient = 0;
        double loss = 0;
        tree_sum_init(&sum, 1, 9);
        tree_sum_begin(&sum, cases[c].n);
        for (int b = 0; b < cases[c].n; b++) {
            gradient = (real)cases[c].batch[b];
            loss = 1;
            tree_sum_add(&sum, &gradient, &loss);
        }
        ck_assert_msg(gradient == (real)cases[c].sum, "case %zu: %g", c, (double)gradient);
        ck_assert_double_eq(loss, cases[c].n);
        tree_sum_free(&sum);
    }
}
END_TEST

/* ---- in training ---- */

static void open_trainer(Trainer *t, const Options *options, char *folder)
{
    Error error = {0};
    *t = (Trainer){.options = options, .folder = folder};
    ck_assert_msg(setup_find(t, &error) && setup_check(t, &error) && setup_commit(t, &error), "%s", error.text);
}

/* The gradient of each of the step's batches, from zero. */
static int batches_alone(Trainer *t, real **gradient, double *loss)
{
    Params *params = &t->model->params;
    const int n = (int)t->options->train_accumulate;
    int64_t n_tokens = 0;
    for (int b = 0; b < n; b++) {
        batches_next(&t->batches, &t->batch[b]);
        n_tokens += t->batch[b].batch.target.n_tokens;
    }
    ck_assert_int_eq(t->batches.epoch, 0);
    for (int b = 0; b < n; b++) {
        LossSums sums;
        t->tape.pass = (uint32_t)b;
        t->tape.dropout = true;
        memset(params->grad, 0, params->size * sizeof(real));
        tape_begin(&t->tape, true);
        Tensor *y = transformer_loss(t->model, &t->tape, &t->batch[b].batch, (real)(1 / (double)n_tokens), &sums);
        *tape_grad(&t->tape, y) = 1;
        tape_backward(&t->tape);
        memcpy(gradient[b], params->grad, params->size * sizeof(real));
        loss[b] = sums.loss;
    }
    return n;
}

START_TEST(is_how_training_adds)
{
    Error error = {0};
    Options options;
    training_options(&options, 1, "train.accumulate=5");
    char *folder[] = {training_path("naive", ""), training_path("real", "")};
    Trainer naive, real_one;
    open_trainer(&naive, &options, folder[0]);
    open_trainer(&real_one, &options, folder[1]);
    const size_t size = naive.model->params.size;
    double loss[5];
    real **gradient = new_gradients(5, size);
    const int n = batches_alone(&naive, gradient, loss);
    sum_in_rounds(n, size, gradient, loss);
    ck_assert_msg(trainer_step(&real_one, &error), "%s", error.text);
    ck_assert(!memcmp(real_one.model->params.grad, gradient[0], size * sizeof(real)));
    ck_assert_double_eq(real_one.state.window_loss, loss[0]);
    free_gradients(gradient, n);
    setup_close(&naive);
    setup_close(&real_one);
    for (int i = 0; i < 2; i++) mem_free(folder[i]);
    options_free(&options);
}
END_TEST

/* Write the run's checkpoint anew, its line for what computed it cut at `cut`. */
static void cut_kernel_line(const char *run, const char *name, const char *cut)
{
    Error error = {0};
    char *path = training_path(run, name);
    Checkpoint checkpoint;
    Params params = {0};
    Adam adam;
    ck_assert_msg(checkpoint_open(&checkpoint, path, &error) && checkpoint_declare_params(&checkpoint, &params, &error), "%s",
                  error.text);
    params_allocate(&params, true);
    adam_init(&adam, params.size, 0.9, 0.98, 1e-9);
    ck_assert_msg(checkpoint_read_params(&checkpoint, &params, &error) &&
                      checkpoint_read_adam(&checkpoint, &params, &adam, &error), "%s", error.text);
    CheckpointOrigin origin = checkpoint.origin;
    char *line = mem_string(origin.kernel), *end = strstr(line, cut);
    ck_assert_msg(end != NULL, "%s", line);
    *end = '\0';
    origin.kernel = line;
    ck_assert_msg(checkpoint_save(path, &params, &adam, &checkpoint.state, &origin, &error), "%s", error.text);
    checkpoint_close(&checkpoint);
    adam_free(&adam);
    params_free(&params);
    mem_free(line);
    mem_free(path);
}

START_TEST(a_run_from_before_is_told)
{
    ck_assert_int_eq(training_run("old", 2, "train.accumulate=2", 0, NULL), 0);
    ck_assert_int_eq(training_run("old", 3, "train.accumulate=2", 0, NULL), 0);
    char *said = training_said();
    ck_assert_msg(!strstr(said, "last bits"), "%s", said);
    mem_free(said);
    cut_kernel_line("old", "checkpoint-00000003.safetensors", ", batches added in a tree");
    ck_assert_int_eq(training_run("old", 4, "train.accumulate=2", 0, NULL), 0);
    said = training_said();
    ck_assert_msg(strstr(said, ", batches added in a tree': the last bits of the results may differ") != NULL, "%s", said);
    mem_free(said);
    ck_assert_int_eq(training_run("one", 2, "train.accumulate=1", 0, NULL), 0); /* nothing is new with one */
    char *path = training_path("one", "last");
    Error error = {0};
    Checkpoint checkpoint;
    ck_assert_msg(checkpoint_open(&checkpoint, path, &error), "%s", error.text);
    ck_assert_msg(!strstr(checkpoint.origin.kernel, "tree"), "%s", checkpoint.origin.kernel);
    checkpoint_close(&checkpoint);
    mem_free(path);
}
END_TEST

Suite *suite_tree_sum(void)
{
    Suite *suite = suite_create("tree_sum");
    TCase *alone = tcase_create("alone"), *training = tcase_create("training");
    tcase_add_test(alone, is_the_naive_twins);
    tcase_add_test(alone, the_order_by_hand);
    suite_add_tcase(suite, alone);
    tcase_add_checked_fixture(training, training_setup, training_teardown);
    tcase_add_test(training, is_how_training_adds);
    tcase_add_test(training, a_run_from_before_is_told);
    suite_add_tcase(suite, training);
    return suite;
}
