/* A whole short training in which, one after the other, every system call on the run folder goes wrong: it fails, or the
 * process dies there, or a signal comes. Whatever happened, what is in the folder is sound, and the same command goes on to
 * the same bytes. Each training is a process of its own. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory.h"
#include "tests/suites.h"
#include "tests/temp.h"
#include "train/files.h"
#include "train/run.h"
#include "train/signals.h"
#include "train/trainer.h"

enum { CRASH_CODE = 77 };

static char *folder, *source, *target, *whole, *run, *said;
static int *n_calls; /* of the last training; shared with its process */

static void write_corpus(void)
{
    static const char *const who[] = {"the cat", "a dog", "my old friend", "the little girl"};
    static const char *const what[] = {"sleeps", "sees the red house", "runs", "is here", "eats an apple and a pear"};
    Text text[2] = {{0}, {0}};
    for (int i = 0; i < 20; i++) {
        text_append_format(&text[0], "%s %s\n", who[i % 4], what[i % 5]);
        text_append_format(&text[1], "%s : %s !\n", what[i % 5], who[i % 4]);
    }
    source = temp_file(folder, "train.en", text[0].data, text[0].n);
    target = temp_file(folder, "train.fr", text[1].data, text[1].n);
    text_free(&text[0]);
    text_free(&text[1]);
}

/* Dropout, accumulation, validation, patience, rows, checkpoints and their removal: all that a run can have. */
static void set_options(Options *options, int max_steps)
{
    static const char *const values[][2] = {
        {"data.vocab_size", "280"}, {"model.d_model", "8"}, {"model.d_ff", "8"}, {"model.heads", "2"},
        {"model.encoder_layers", "1"}, {"model.decoder_layers", "1"}, {"train.batch_tokens", "60"}, {"train.accumulate", "2"},
        {"train.warmup", "2"}, {"train.validate_every", "3"}, {"train.checkpoint_every", "2"}, {"train.report_every", "2"},
        {"train.keep", "1"}, {"train.threads", "1"}, {"train.patience", "50"}, {"decode.max_ratio", "1"},
        {"decode.max_extra", "2"},
    };
    Error error = {0};
    options_init(options);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        ck_assert_msg(options_set(options, "", values[i][0], values[i][1], &error), "%s", error.text);
    static const char *const sources[] = {"data.train_source", "data.valid_source"},
                      *const targets[] = {"data.train_target", "data.valid_target"};
    for (int i = 0; i < 2; i++) {
        ck_assert(options_set(options, "", sources[i], source, &error));
        ck_assert(options_set(options, "", targets[i], target, &error));
    }
    options->train_max_steps = max_steps;
}

/* The exit code of a training in `where` that acts so at its nth call; its messages go to `said`. */
static int train(const char *where, int max_steps, int nth, int (*act)(void))
{
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (!child) {
        if (!freopen(said, "w", stderr)) _exit(126);
        Options options;
        Error error = {0};
        set_options(&options, max_steps);
        files_act_at_call(nth, act);
        const bool good = trainer_run(&options, where, &error);
        *n_calls = files_fail_call(0, 0);
        fprintf(stderr, "%s\n", error.text);
        fflush(stderr);
        const int signal_number = signals_stop_requested();
        _exit(!good ? (int)error.code : signal_number ? 128 + signal_number : 0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static char *read_said(void)
{
    Error error = {0};
    char *text = file_read_all(said, NULL, &error);
    ck_assert_msg(text != NULL, "%s", error.text);
    return text;
}

static void setup(void)
{
    if (!access("/dev/shm", W_OK)) setenv("TMPDIR", "/dev/shm", 1); /* where an fsync takes no time */
    folder = temp_folder();
    whole = path_join(folder, "whole");
    run = path_join(folder, "run");
    said = path_join(folder, "said");
    n_calls = mmap(NULL, sizeof *n_calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(n_calls, MAP_FAILED);
    write_corpus();
}

static void teardown(void)
{
    munmap(n_calls, sizeof *n_calls);
    mem_free(source);
    mem_free(target);
    mem_free(whole);
    mem_free(run);
    mem_free(said);
    temp_remove(folder);
}

/* ---- what must hold ---- */

static void assert_sound(const char *path, const char *when)
{
    Error error = {0};
    Checkpoint checkpoint;
    ck_assert_msg(checkpoint_open(&checkpoint, path, &error), "%s: %s", when, error.text);
    checkpoint_close(&checkpoint);
}

/* Every checkpoint in the folder, and every link, is sound. */
static void assert_nothing_broken(const char *when)
{
    Error error = {0};
    char **names;
    int n;
    if (!file_exists(run)) return;
    ck_assert_msg(folder_list(run, "", "", &names, &n, &error), "%s: %s", when, error.text);
    for (int i = 0; i < n; i++) {
        char *path = path_join(run, names[i]);
        const size_t length = strlen(names[i]), n_suffix = strlen(".safetensors");
        const bool checkpoint = length > n_suffix && !strcmp(names[i] + length - n_suffix, ".safetensors");
        if (checkpoint || !strcmp(names[i], RUN_LAST) || !strcmp(names[i], RUN_BEST)) assert_sound(path, when);
        mem_free(path);
        mem_free(names[i]);
    }
    mem_free(names);
}

/* The file without the last two columns of each line, if it has columns: the timing of log.tsv. */
static char *read_untimed(const char *where, const char *name, size_t *bytes)
{
    Error error = {0};
    char *path = path_join(where, name), *text = file_read_all(path, bytes, &error);
    ck_assert_msg(text != NULL, "%s", error.text);
    if (!strcmp(name, RUN_LOG)) {
        char *to = text;
        for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
            const char *cut = end;
            for (int tabs = 0; tabs < 2; tabs += *cut == '\t') cut--;
            memmove(to, line, (size_t)(cut - line));
            to += cut - line;
            *to++ = '\n';
        }
        *bytes = (size_t)(to - text);
    }
    mem_free(path);
    return text;
}

/* The run is the one that nothing happened to. */
static void assert_same(const char *when)
{
    static const char *const names[] = {RUN_CONFIG, RUN_TOKENIZER, RUN_LOG, RUN_LAST, RUN_BEST};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n, n_wanted;
        char *is = read_untimed(run, names[i], &n), *wanted = read_untimed(whole, names[i], &n_wanted);
        ck_assert_msg(n == n_wanted && !memcmp(is, wanted, n), "%s: %s is another one", when, names[i]);
        mem_free(is);
        mem_free(wanted);
    }
    Error error = {0};
    char **left;
    int n_left;
    ck_assert(folder_list(run, "", "", &left, &n_left, &error));
    for (int i = 0; i < n_left; i++) {
        ck_assert_msg(!strstr(left[i], ".tmp-"), "%s: %s is left", when, left[i]);
        mem_free(left[i]);
    }
    mem_free(left);
}

static void remove_run(void)
{
    if (file_exists(run)) temp_remove(mem_string(run));
}

/* ---- what happens ---- */

static int fail_number;

static int fails(void)
{
    return fail_number;
}

static int crashes(void)
{
    _exit(CRASH_CODE);
}

static int is_asked_to_stop(void)
{
    raise(SIGTERM);
    return 0;
}

static int is_asked_twice(void)
{
    raise(SIGINT);
    raise(SIGINT);
    return 0;
}

/* Train `before` steps undisturbed, then on to `steps`, acting at the nth call; then once more, to the end. `step` apart. */
static void disturb(const char *what, int (*act)(void), int code, int before, int steps, int step)
{
    ck_assert_int_eq(train(whole, before ? before : steps, 0, NULL), 0);
    if (before) ck_assert_int_eq(train(whole, steps, 0, NULL), 0);
    const int n = *n_calls;
    ck_assert_int_gt(n, 50);
    for (int nth = 1; nth <= n; nth += step) {
        static const int numbers[] = {ENOSPC, EROFS, EIO, EDQUOT, EACCES};
        fail_number = numbers[nth % 5];
        char *when = mem_format("%s at call %d of %d", what, nth, n);
        remove_run();
        if (before) ck_assert_int_eq(train(run, before, 0, NULL), 0);
        const int got = train(run, steps, nth, act);
        char *message = read_said();
        ck_assert_msg(got == code, "%s: exit code %d\n%s", when, got, message);
        if (act == fails)
            ck_assert_msg(strstr(message, strerror(fail_number)) && strstr(message, folder), "%s: %s", when, message);
        mem_free(message);
        assert_nothing_broken(when);
        const int again = train(run, steps, 0, NULL);
        message = read_said();
        ck_assert_msg(again == 0, "%s: going on ends with exit code %d\n%s", when, again, message);
        mem_free(message);
        assert_same(when);
        mem_free(when);
    }
    printf("%s: %d calls\n", what, n);
}

START_TEST(every_call_fails)
{
    disturb("failing", fails, ERROR_FAILED, 0, 5, 1);
}
END_TEST

START_TEST(every_call_fails_on_resuming)
{
    disturb("failing on resuming", fails, ERROR_FAILED, 3, 5, 1);
}
END_TEST

START_TEST(a_crash_at_every_call)
{
    disturb("crashing", crashes, CRASH_CODE, 0, 5, 1);
}
END_TEST

START_TEST(a_crash_at_every_call_on_resuming)
{
    disturb("crashing on resuming", crashes, CRASH_CODE, 3, 5, 1);
}
END_TEST

START_TEST(a_signal_at_every_call)
{
    disturb("SIGTERM", is_asked_to_stop, 128 + SIGTERM, 0, 5, 1);
}
END_TEST

START_TEST(two_signals_at_every_call)
{
    disturb("two SIGINT", is_asked_twice, 128 + SIGINT, 0, 5, 2);
}
END_TEST

Suite *suite_faults(void)
{
    Suite *suite = suite_create("faults");
    TCase *tcase = tcase_create("faults");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, every_call_fails);
    tcase_add_test(tcase, every_call_fails_on_resuming);
    tcase_add_test(tcase, a_crash_at_every_call);
    tcase_add_test(tcase, a_crash_at_every_call_on_resuming);
    tcase_add_test(tcase, a_signal_at_every_call);
    tcase_add_test(tcase, two_signals_at_every_call);
    suite_add_tcase(suite, tcase);
    return suite;
}
