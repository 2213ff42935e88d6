/* run/checkpoint and train/run: what is saved comes back bit for bit, what is not sound is refused, and a folder keeps the
 * checkpoints that it should. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory.h"
#include "run/checkpoint.h"
#include "run/run.h"
#include "run/safetensors.h"
#include "system/files.h"
#include "tests/sample.h"
#include "tests/suites.h"
#include "tests/temp.h"

static char *folder;
static Params params;
static Adam adam;

static const TrainState state = {
    .step = 123456789012, .epoch = 3, .position = 17, .validated_step = 120, .logged_step = 119, .best_step = 100,
    .n_worse = 2, .best_score = -0.1, .window_loss = 1.0 / 3, .window_tokens = 4567, .gradient_norm = 1e-300,
    .n_skipped = 12, .n_skipped_row = 2, .validation_hash = INT64_MAX,
};
static const CheckpointOrigin origin = {
    .options = "[model]\nd_model = 8 # é \"quoted\"\n", .tokenizer_hash = 0xdeadbeef, .data_hash = 0xfedcba9876543210,
    .kernel = "packed test",
};

static Params new_params(int rows)
{
    Params new = {0};
    params_declare(&new, 2, rows, 3, INIT_ZEROS, 0, "a.weight");
    params_declare(&new, 1, 1, 7, INIT_ZEROS, 0, "a.bias");
    params_allocate(&new, false);
    return new;
}

static void setup(void)
{
    folder = temp_folder();
    params = new_params(5);
    adam_init(&adam, params.size, 0.9, 0.98, 1e-9);
    sample_normal(1, 1, params.size, params.value);
    sample_normal(2, 1, params.size, adam.m);
    sample_normal(3, 1, params.size, adam.v);
}

static void teardown(void)
{
    params_free(&params);
    adam_free(&adam);
    temp_remove(folder);
}

/* Save the checkpoint of a step; returns its path. */
static char *save(int64_t step)
{
    char *name = run_checkpoint_name(step), *path = path_join(folder, name);
    TrainState now = state;
    now.step = step;
    Error error = {0};
    ck_assert_msg(checkpoint_save(path, &params, &adam, &now, &origin, &error), "%s", error.text);
    mem_free(name);
    return path;
}

/* Change one byte near the end, which is data. */
static void damage(const char *path)
{
    Error error = {0};
    size_t n;
    char *bytes = file_read_all(path, &n, &error);
    bytes[n - 5] ^= 1;
    ck_assert(file_write_all(path, bytes, n, &error));
    mem_free(bytes);
}

static void assert_refused(const char *path, const char *message)
{
    Error error = {0};
    Checkpoint checkpoint;
    ck_assert(!checkpoint_open(&checkpoint, path, &error));
    ck_assert_msg(strstr(error.text, path) && strstr(error.text, message), "%s", error.text);
}

START_TEST(all_comes_back)
{
    char *path = save(state.step);
    Error error = {0};
    Checkpoint checkpoint;
    ck_assert_msg(checkpoint_open(&checkpoint, path, &error), "%s", error.text);
    ck_assert_mem_eq(&checkpoint.state, &state, sizeof state);
    ck_assert_str_eq(checkpoint.origin.options, origin.options);
    ck_assert_str_eq(checkpoint.origin.kernel, origin.kernel);
    ck_assert_uint_eq(checkpoint.origin.tokenizer_hash, origin.tokenizer_hash);
    ck_assert_uint_eq(checkpoint.origin.data_hash, origin.data_hash);
    Params read = new_params(5);
    Adam read_adam;
    adam_init(&read_adam, read.size, 0, 0, 0);
    ck_assert(checkpoint_read_params(&checkpoint, &read, &error));
    ck_assert(checkpoint_read_adam(&checkpoint, &read, &read_adam, &error));
    ck_assert_mem_eq(read.value, params.value, params.size * sizeof(real));
    ck_assert_mem_eq(read_adam.m, adam.m, params.size * sizeof(real));
    ck_assert_mem_eq(read_adam.v, adam.v, params.size * sizeof(real));
    ck_assert_int_eq(read_adam.step, state.step - state.n_skipped);
    checkpoint_close(&checkpoint);
    params_free(&read);
    adam_free(&read_adam);
    mem_free(path);
}
END_TEST

START_TEST(other_shapes_are_refused)
{
    char *path = save(1);
    Error error = {0};
    Checkpoint checkpoint;
    ck_assert(checkpoint_open(&checkpoint, path, &error));
    Params other = new_params(4);
    ck_assert(!checkpoint_read_params(&checkpoint, &other, &error));
    ck_assert_msg(strstr(error.text, path) && strstr(error.text, "a.weight"), "%s", error.text);
    params_free(&other);
    other = (Params){0};
    params_declare(&other, 1, 1, 7, INIT_ZEROS, 0, "b.bias");
    params_allocate(&other, false);
    ck_assert(!checkpoint_read_params(&checkpoint, &other, &error));
    ck_assert_msg(strstr(error.text, "b.bias") != NULL, "%s", error.text);
    params_free(&other);
    checkpoint_close(&checkpoint);
    mem_free(path);
}
END_TEST

START_TEST(truncated_and_damaged_files_are_refused)
{
    char *path = save(1);
    Error error = {0};
    size_t n;
    char *bytes = file_read_all(path, &n, &error);
    for (size_t cut = 0; cut < n; cut += cut < 20 ? 1 : 61) {
        mem_free(temp_file(folder, "cut", bytes, cut));
        char *short_one = path_join(folder, "cut");
        assert_refused(short_one, "");
        mem_free(short_one);
    }
    mem_free(bytes);
    damage(path);
    assert_refused(path, "");
    mem_free(path);
}
END_TEST

/* A file with one parameter, this format in its metadata, and nothing else. */
static char *write_file(const char *format)
{
    char *path = path_join(folder, "other");
    Error error = {0};
    const float numbers[2] = {1, 2};
    const SafeTensor tensor = {.name = "x", .type = SAFE_F32, .n_dims = 1, .shape = {2}, .data = numbers};
    const SafeEntry metadata = {"format", format};
    AtomicFile *file = file_create(path, &error);
    ck_assert(file && safetensors_write(file, &tensor, 1, &metadata, 1, &error) && file_commit(file, &error));
    return path;
}

START_TEST(other_formats_are_refused)
{
    char *path = write_file("ferry checkpoint 999");
    assert_refused(path, "'ferry checkpoint 999'");
    mem_free(path);
    path = write_file("ferry checkpoint 1");
    assert_refused(path, "'step'");
    mem_free(path);
    /* Sound safetensors of someone else's: no checksums (and a header of a multiple of 8 bytes). */
    const char header[] = "{\"__metadata__\":{\"format\":\"ferry checkpoint 1\"},\"x\":{\"dtype\":\"F32\",\"shape\":[1],"
                          "\"data_offsets\":[0,4]}}   ";
    Text bytes = {0};
    for (size_t i = 0, n = sizeof header - 1; i < 8; i++, n >>= 8) text_append(&bytes, &(char){(char)(n & 0xff)}, 1);
    text_append(&bytes, header, sizeof header - 1);
    text_append(&bytes, "\0\0\0\0", 4);
    path = temp_file(folder, "foreign", bytes.data, bytes.n);
    assert_refused(path, "is not a checkpoint of Ferry");
    text_free(&bytes);
    mem_free(path);
}
END_TEST

/* The steps of the folder's checkpoints, as "1 2 3 ". */
static void assert_steps(const char *wanted)
{
    Error error = {0};
    int64_t *step;
    int n;
    ck_assert_msg(run_checkpoints(folder, &step, &n, &error), "%s", error.text);
    Text text = {0};
    text_append(&text, "", 0);
    for (int i = 0; i < n; i++) text_append_format(&text, "%lld ", (long long)step[i]);
    text_append(&text, "", 1);
    ck_assert_str_eq(text.data, wanted);
    text_free(&text);
    mem_free(step);
}

START_TEST(checkpoints_of_a_folder)
{
    assert_steps("");
    const char *const others[] = {"checkpoint-.safetensors", "checkpoint-5.safetensors", "checkpoint-00000005.b.safetensors",
                                  "checkpoint-best.safetensors", "checkpoint-00000005.safetensors.tmp-12",
                                  "checkpoint-99999999999999999999.safetensors", "my-checkpoint-00000005.safetensors"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) mem_free(temp_file(folder, others[i], "", 0));
    assert_steps("");
    const int64_t steps[] = {99999999, 100000000, 20, 3};
    for (int i = 0; i < 4; i++) mem_free(save(steps[i]));
    assert_steps("3 20 99999999 100000000 ");
}
END_TEST

/* The step that run_newest finds; -1: none, -2: an error. What it says on standard error goes to folder/said. */
static int64_t newest(void)
{
    Error error = {0};
    Checkpoint checkpoint;
    bool found;
    char *said = path_join(folder, "said");
    fflush(stderr);
    const int before = dup(STDERR_FILENO);
    ck_assert_ptr_nonnull(freopen(said, "w", stderr));
    const bool good = run_newest(folder, &checkpoint, &found, &error);
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    mem_free(said);
    if (!good) return -2;
    if (!found) return -1;
    const int64_t step = checkpoint.state.step;
    checkpoint_close(&checkpoint);
    return step;
}

static void assert_said(const char *wanted)
{
    Error error = {0};
    char *path = path_join(folder, "said"), *said = file_read_all(path, NULL, &error);
    if (*wanted) ck_assert_msg(strstr(said, wanted) != NULL, "%s", said);
    else ck_assert_str_eq(said, "");
    mem_free(path);
    mem_free(said);
}

START_TEST(the_newest_sound_one)
{
    ck_assert_int_eq(newest(), -1);
    char *path[3] = {save(1), save(2), save(10)};
    ck_assert_int_eq(newest(), 10);
    assert_said("");
    damage(path[2]);
    ck_assert_int_eq(newest(), 2);
    assert_said("checkpoint-00000010.safetensors");
    assert_said("trying the checkpoint before it");
    damage(path[1]);
    ck_assert_int_eq(newest(), 1);
    damage(path[0]);
    ck_assert_int_eq(newest(), -2);
    for (int i = 0; i < 3; i++) mem_free(path[i]);
}
END_TEST

static void prune_every(int64_t every, int64_t step, int64_t best_step, int64_t keep, const char *left)
{
    Error error = {0};
    ck_assert_msg(run_prune(folder, step, best_step, keep, every, &error), "%s", error.text);
    assert_steps(left);
}

static void prune(int64_t step, int64_t best_step, int64_t keep, const char *left)
{
    prune_every(1, step, best_step, keep, left);
}

START_TEST(pruning)
{
    for (int64_t step = 1; step <= 6; step++) mem_free(save(step));
    prune(6, 2, 10, "1 2 3 4 5 6 ");
    prune(6, 2, 3, "2 4 5 6 ");
    prune(6, 5, 3, "4 5 6 ");
    prune(5, 0, 1, "5 6 "); /* training stands at 5: 6 is not sound, and doesn't push 5 out */
    prune(6, 0, 1, "6 ");
}
END_TEST

/* Training was interrupted at 32 and 33: the three that were due are those of a run that wasn't. */
START_TEST(pruning_keeps_those_that_were_due)
{
    const int64_t steps[] = {5, 10, 20, 25, 30, 32, 33, 40};
    for (int i = 0; i < 8; i++) mem_free(save(steps[i]));
    prune_every(10, 40, 5, 3, "5 20 30 32 33 40 ");
    mem_free(save(50));
    prune_every(10, 50, 5, 3, "5 30 33 40 50 ");
    mem_free(save(60));
    prune_every(10, 60, 60, 3, "40 50 60 ");
}
END_TEST

static void assert_link(const char *link, const char *target)
{
    char *path = path_join(folder, link), *is = symlink_target(path);
    if (target) ck_assert_str_eq(is, target);
    else ck_assert_ptr_null(is);
    mem_free(path);
    mem_free(is);
}

START_TEST(links)
{
    Error error = {0};
    for (int64_t step = 1; step <= 3; step++) mem_free(save(step));
    ck_assert(run_link(folder, 1, 0, &error));
    assert_link(RUN_LAST, "checkpoint-00000001.safetensors");
    assert_link(RUN_BEST, NULL);
    ck_assert(run_link(folder, 3, 2, &error));
    assert_link(RUN_LAST, "checkpoint-00000003.safetensors");
    assert_link(RUN_BEST, "checkpoint-00000002.safetensors");
    ck_assert(run_link(folder, 3, 7, &error)); /* which is gone: better the old one than none */
    assert_link(RUN_BEST, "checkpoint-00000002.safetensors");
}
END_TEST

START_TEST(the_lock_ends_with_its_process)
{
    Error error = {0};
    int ready[2];
    ck_assert_int_eq(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        const bool got = run_lock(folder, &error) >= 0;
        if (write(ready[1], got ? "y" : "n", 1) == 1) pause();
        _exit(0);
    }
    char answer;
    ck_assert_int_eq(read(ready[0], &answer, 1), 1);
    ck_assert_int_eq(answer, 'y');
    ck_assert_int_eq(run_lock(folder, &error), -1);
    ck_assert_ptr_nonnull(strstr(error.text, "another process"));
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    const int lock = run_lock(folder, &error);
    ck_assert_int_ge(lock, 0);
    ck_assert_int_eq(run_lock(folder, &error), -1);
    close(lock);
    close(ready[0]);
    close(ready[1]);
}
END_TEST

Suite *suite_checkpoint(void)
{
    Suite *suite = suite_create("checkpoint");
    TCase *tcase = tcase_create("checkpoint");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, all_comes_back);
    tcase_add_test(tcase, other_shapes_are_refused);
    tcase_add_test(tcase, truncated_and_damaged_files_are_refused);
    tcase_add_test(tcase, other_formats_are_refused);
    tcase_add_test(tcase, checkpoints_of_a_folder);
    tcase_add_test(tcase, the_newest_sound_one);
    tcase_add_test(tcase, pruning);
    tcase_add_test(tcase, pruning_keeps_those_that_were_due);
    tcase_add_test(tcase, links);
    tcase_add_test(tcase, the_lock_ends_with_its_process);
    suite_add_tcase(suite, tcase);
    return suite;
}
