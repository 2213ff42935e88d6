/* Numbers beyond all bounds, planted in checkpoints whose checksums are right: training stops and names the step and the
 * tensor, or goes on without such steps; nothing that was good is overwritten. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "run/checkpoint.h"
#include "run/run.h"
#include "run/safetensors.h"
#include "system/files.h"
#include "tests/suites.h"
#include "tests/training.h"

/* Write the run's last checkpoint anew with this number at one place of a tensor, under right checksums. */
static void plant(const char *run, const char *name, size_t place, float number)
{
    Error error = {0};
    char *path = training_path(run, RUN_LAST), *link = symlink_target(path), *file_name = training_path(run, link);
    Safetensors *old = safetensors_open(file_name, &error);
    ck_assert_msg(old != NULL, "%s", error.text);
    const SafeTensor *there = safetensors_find(old, name);
    ck_assert(there && place < safetensors_n_elements(there));
    float *changed = mem_alloc(safetensors_n_elements(there) * sizeof *changed);
    memcpy(changed, there->data, safetensors_n_elements(there) * sizeof *changed);
    changed[place] = number;
    SafeTensor *tensor = mem_alloc((size_t)old->n_tensors * sizeof *tensor);
    SafeEntry *entry = mem_alloc((size_t)old->n_metadata * sizeof *entry);
    int n = 0;
    for (int i = 0; i < old->n_tensors; i++) {
        tensor[i] = old->tensor[i];
        tensor[i].group = strncmp(tensor[i].name, "adam.", 5) ? "parameters" : "optimizer";
        if (&old->tensor[i] == there) tensor[i].data = changed;
    }
    for (int i = 0; i < old->n_metadata; i++)
        if (strncmp(old->metadata[i].key, "crc32.", 6)) entry[n++] = old->metadata[i];
    AtomicFile *file = file_create(file_name, &error);
    ck_assert(safetensors_write(file, tensor, old->n_tensors, entry, n, &error) && file_commit(file, &error));
    safetensors_close(old);
    mem_free(tensor);
    mem_free(entry);
    mem_free(changed);
    mem_free(file_name);
    mem_free(link);
    mem_free(path);
}

/* The place in the source embeddings of a letter that one sentence has, and of the token that all have. */
enum { WIDTH = 8, RARE = (TOKENIZER_FIRST_BYTE + 'z') * WIDTH, COMMON = TOKEN_EOS * WIDTH };

static void run_to(const char *run, int max_steps, const char *option, int code)
{
    const int got = training_run(run, max_steps, option, 0, NULL);
    char *said = training_said();
    ck_assert_msg(got == code, "exit code %d\n%s", got, said);
    mem_free(said);
}

static void assert_said(const char *words)
{
    char *said = training_said();
    ck_assert_msg(strstr(said, words) != NULL, "%s", said);
    mem_free(said);
}

/* The value in the column `skipped` of the last row. */
static int skipped(const char *run)
{
    Error error = {0};
    char *path = training_path(run, RUN_LOG), *text = file_read_all(path, NULL, &error);
    ck_assert_msg(text && strstr(text, "\tskipped\ttokens_per_s\tseconds\n"), "%s", text);
    char *tab = text + strlen(text);
    for (int tabs = 0; tabs < 3; tabs += *tab == '\t') tab--;
    const int n = atoi(tab + 1);
    mem_free(path);
    mem_free(text);
    return n;
}

static void assert_best(const char *run, int64_t step)
{
    char *path = training_path(run, RUN_BEST), *is = symlink_target(path), *wanted = run_checkpoint_name(step);
    ck_assert_str_eq(is, wanted);
    mem_free(wanted);
    mem_free(is);
    mem_free(path);
}

static char *bytes_of(const char *run, const char *name, size_t *n)
{
    Error error = {0};
    char *path = training_path(run, name), *bytes = file_read_all(path, n, &error);
    ck_assert_msg(bytes != NULL, "%s", error.text);
    mem_free(path);
    return bytes;
}

START_TEST(training_stops_and_names_step_and_tensor)
{
    run_to("run", 3, NULL, 0);
    plant("run", "source_embedding.weight", COMMON, FLT_MAX);
    size_t n_last, n_best, n;
    char *last = bytes_of("run", RUN_LAST, &n_last), *best = bytes_of("run", RUN_BEST, &n_best);
    run_to("run", 20, NULL, ERROR_FAILED);
    assert_said("step 4: the loss is nan, and the gradient of source_embedding.weight is not finite");
    assert_said("--on-nonfinite skip");
    assert_said("is untouched");
    training_assert_sound("run", "after the stop");
    char *again = bytes_of("run", RUN_LAST, &n);
    ck_assert(n == n_last && !memcmp(again, last, n));
    mem_free(again);
    again = bytes_of("run", RUN_BEST, &n);
    ck_assert(n == n_best && !memcmp(again, best, n));
    mem_free(again);
    mem_free(last);
    mem_free(best);
}
END_TEST

START_TEST(steps_are_skipped_and_counted)
{
    static const char option[] = "train.on_nonfinite=skip";
    static const char *const runs[] = {"whole", "pieces"};
    for (int i = 0; i < 2; i++) {
        run_to(runs[i], 3, NULL, 0);
        plant(runs[i], "source_embedding.weight", RARE, FLT_MAX);
    }
    run_to("whole", 21, option, 0);
    ck_assert_int_ge(skipped("whole"), 3); /* once an epoch */
    ck_assert_int_le(skipped("whole"), 6);
    training_assert_sound("whole", "after skipping");
    for (int limit = 4; limit <= 21; limit++) run_to("pieces", limit, option, 0);
    training_assert_same("pieces", "whole", "step by step");
    /* Adam has made so many updates fewer. */
    Error error = {0};
    Checkpoint checkpoint;
    char *path = training_path("whole", RUN_LAST);
    ck_assert_msg(checkpoint_open(&checkpoint, path, &error), "%s", error.text);
    ck_assert_int_eq(checkpoint.state.step, 21);
    ck_assert_int_eq(checkpoint.state.n_skipped, skipped("whole"));
    checkpoint_close(&checkpoint);
    mem_free(path);
}
END_TEST

/* Also when a checkpoint is in between. */
START_TEST(there_is_an_end_to_skipping)
{
    static const char option[] = "train.on_nonfinite=skip";
    run_to("run", 3, NULL, 0);
    plant("run", "source_embedding.weight", COMMON, FLT_MAX);
    run_to("run", 14, option, 0);
    ck_assert_int_eq(skipped("run"), 11);
    run_to("run", 100, option, ERROR_FAILED);
    assert_said("step 24: the loss is nan");
    assert_said("as many such steps in a row as may be skipped");
    ck_assert_int_eq(skipped("run"), 19); /* in the row of step 22 */
    assert_best("run", 3);                /* validations of such a model are none to be proud of */
}
END_TEST

START_TEST(divergence_is_told)
{
    run_to("run", 50, "train.learning_rate=1000", ERROR_FAILED);
    assert_said(": training diverges");
    assert_said("lower train.learning_rate");
    training_assert_sound("run", "after divergence");
}
END_TEST

START_TEST(a_planted_nan_is_found_on_opening)
{
    run_to("run", 3, "train.keep=2", 0);
    plant("run", "adam.v.decoder.0.feed_forward.input.bias", 2, -INFINITY);
    run_to("run", 5, "train.keep=2", 0);
    assert_said("checkpoint-00000003.safetensors: at step 3, tensor adam.v.decoder.0.feed_forward.input.bias is not finite");
    assert_said("going on from step 2");
    run_to("straight", 5, "train.keep=2", 0);
    training_assert_same("run", "straight", "from the checkpoint before");
    run_to("single", 2, "train.keep=1", 0);
    plant("single", "encoder.0.self_attention.key.weight", 7, NAN);
    run_to("single", 5, "train.keep=1", ERROR_FAILED);
    assert_said("at step 2, tensor encoder.0.self_attention.key.weight is not finite");
    assert_said("none of the 1 checkpoint in ");
}
END_TEST

START_TEST(what_is_not_finite_is_not_saved)
{
    Error error = {0};
    Params params = {0};
    params_declare(&params, 2, 100, 100, INIT_ZEROS, 0, "a.weight");
    params_declare(&params, 1, 1, 7, INIT_ZEROS, 0, "a.bias");
    params_allocate(&params, false);
    params_init(&params, 1);
    Adam adam;
    adam_init(&adam, params.size, 0.9, 0.98, 1e-9);
    const TrainState state = {.step = 3};
    const CheckpointOrigin origin = {.options = "", .kernel = "test"};
    char *path = training_path("", "a.safetensors");
    ck_assert_msg(checkpoint_save(path, &params, &adam, &state, &origin, &error), "%s", error.text);
    static const real bad[] = {(real)NAN, (real)INFINITY, (real)-INFINITY};
    for (int i = 0; i < 3; i++) {
        params.value[9000 + i] = bad[i];
        ck_assert(!checkpoint_save(path, &params, &adam, &state, &origin, &error));
        ck_assert_msg(strstr(error.text, path) && strstr(error.text, "a.weight is not finite"), "%s", error.text);
        params.value[9000 + i] = 0;
        adam.m[params.size - 1] = bad[i];
        ck_assert(!checkpoint_save(path, &params, &adam, &state, &origin, &error));
        ck_assert_msg(strstr(error.text, "adam.m.a.bias is not finite") != NULL, "%s", error.text);
        adam.m[params.size - 1] = 0;
        Checkpoint checkpoint;
        ck_assert_msg(checkpoint_open(&checkpoint, path, &error), "%s", error.text);
        checkpoint_close(&checkpoint);
    }
    mem_free(path);
    adam_free(&adam);
    params_free(&params);
}
END_TEST

Suite *suite_numbers(void)
{
    Suite *suite = suite_create("numbers");
    TCase *tcase = tcase_create("numbers");
    tcase_add_checked_fixture(tcase, training_setup, training_teardown);
    tcase_add_test(tcase, training_stops_and_names_step_and_tensor);
    tcase_add_test(tcase, steps_are_skipped_and_counted);
    tcase_add_test(tcase, there_is_an_end_to_skipping);
    tcase_add_test(tcase, divergence_is_told);
    tcase_add_test(tcase, a_planted_nan_is_found_on_opening);
    tcase_add_test(tcase, what_is_not_finite_is_not_saved);
    suite_add_tcase(suite, tcase);
    return suite;
}
