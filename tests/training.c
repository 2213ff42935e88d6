#include "tests/training.h"

#include <check.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory.h"
#include "run/run.h"
#include "system/files.h"
#include "system/signals.h"
#include "tests/temp.h"
#include "train/trainer.h"

static char *folder, *source, *target, *said;
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
    text_append_format(&text[0], "a zebra\n"); /* a letter that comes once */
    text_append_format(&text[1], "here : a dog !\n");
    source = temp_file(folder, "train.en", text[0].data, text[0].n);
    target = temp_file(folder, "train.fr", text[1].data, text[1].n);
    text_free(&text[0]);
    text_free(&text[1]);
}

/* Dropout, accumulation, validation, patience, rows, checkpoints and their removal: all that a run can have. */
void training_options(Options *options, int max_steps, const char *option)
{
    static const char *const values[][2] = {
        {"data.vocab_size", "280"}, {"model.d_model", "8"}, {"model.d_ff", "8"}, {"model.heads", "2"},
        {"model.encoder_layers", "1"}, {"model.decoder_layers", "1"}, {"train.batch_tokens", "60"}, {"train.accumulate", "2"},
        {"train.warmup", "2"}, {"train.validate_every", "3"}, {"train.checkpoint_every", "2"}, {"train.report_every", "2"},
        {"train.keep", "1"}, {"train.threads", "1"}, {"train.patience", "50"}, {"decode.max_ratio", "1"},
        {"decode.max_extra", "2"}, {"model.tie", "none"},
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
    if (option) {
        char *key = mem_string(option), *equals = strchr(key, '=');
        *equals = '\0';
        ck_assert_msg(options_set(options, "", key, equals + 1, &error), "%s", error.text);
        mem_free(key);
    }
}

static const int *refused_calls;
static int refusal;

bool training_refuse(const int *calls, int error_number)
{
    refused_calls = calls;
    refusal = error_number;
    return prctl(PR_GET_SECCOMP) == 0;
}

/* A filter of the kernel's lets this process's calls fail. */
static void refuse_calls(void)
{
    struct sock_filter filter[32] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned short n = 1;
    for (const int *call = refused_calls; *call >= 0; call++) {
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)*call, 0, 1);
        filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)refusal);
    }
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {.len = n, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) _exit(125);
}

static void print_warning(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "warning: %s\n", text);
}

int training_run(const char *run, int max_steps, const char *option, int nth, int (*act)(void))
{
    char *where = path_join(folder, run);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (!child) {
        if (!freopen(said, "w", stderr)) _exit(126);
        Options options;
        Error error = {0};
        training_options(&options, max_steps, option);
        warnings_to(&(WarningSink){.take = print_warning});
        if (refused_calls) refuse_calls();
        files_act_at_call(nth, act);
        const bool good = trainer_run(&options, where, &error);
        *n_calls = files_fail_call(0, 0);
        fprintf(stderr, "%s\n", error.text);
        fflush(stderr);
        const int signal_number = signals_stop_requested();
        _exit(!good ? (int)error.code : signal_number ? 128 + signal_number : 0);
    }
    int status;
    mem_free(where);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

char *training_said(void)
{
    Error error = {0};
    char *text = file_read_all(said, NULL, &error);
    ck_assert_msg(text != NULL, "%s", error.text);
    return text;
}

int training_calls(void)
{
    return *n_calls;
}

const char *training_folder(void)
{
    return folder;
}

char *training_path(const char *run, const char *name)
{
    return mem_format("%s/%s%s%s", folder, run, *name ? "/" : "", name);
}

void training_remove(const char *run)
{
    char *path = training_path(run, "");
    if (file_exists(path)) temp_remove(path);
    else mem_free(path);
}

void training_setup(void)
{
    if (!access("/dev/shm", W_OK)) setenv("TMPDIR", "/dev/shm", 1); /* where an fsync takes no time */
    folder = temp_folder();
    said = path_join(folder, "said");
    n_calls = mmap(NULL, sizeof *n_calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(n_calls, MAP_FAILED);
    write_corpus();
}

void training_teardown(void)
{
    munmap(n_calls, sizeof *n_calls);
    mem_free(source);
    mem_free(target);
    mem_free(said);
    temp_remove(folder);
}

static void assert_sound(const char *path, const char *when)
{
    Error error = {0};
    Checkpoint checkpoint;
    ck_assert_msg(checkpoint_open(&checkpoint, path, &error), "%s: %s", when, error.text);
    checkpoint_close(&checkpoint);
}

void training_assert_sound(const char *run, const char *when)
{
    Error error = {0};
    char **names, *where = training_path(run, "");
    int n = 0;
    if (!file_exists(where)) names = NULL;
    else ck_assert_msg(folder_list(where, "", "", &names, &n, &error), "%s: %s", when, error.text);
    for (int i = 0; i < n; i++) {
        char *path = path_join(where, names[i]);
        const size_t length = strlen(names[i]), n_suffix = strlen(".safetensors");
        const bool checkpoint = length > n_suffix && !strcmp(names[i] + length - n_suffix, ".safetensors");
        if (checkpoint || !strcmp(names[i], RUN_LAST) || !strcmp(names[i], RUN_BEST)) assert_sound(path, when);
        mem_free(path);
        mem_free(names[i]);
    }
    mem_free(names);
    mem_free(where);
}

/* The file without the last two columns of each line, if it has columns: the timing of log.tsv. */
static char *read_untimed(const char *run, const char *name, size_t *bytes)
{
    Error error = {0};
    char *path = training_path(run, name), *text = file_read_all(path, bytes, &error);
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

void training_assert_same(const char *run, const char *wanted, const char *when)
{
    static const char *const names[] = {RUN_CONFIG, RUN_TOKENIZER, RUN_LOG, RUN_LAST, RUN_BEST};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n, n_wanted;
        char *is = read_untimed(run, names[i], &n), *should = read_untimed(wanted, names[i], &n_wanted);
        ck_assert_msg(n == n_wanted && !memcmp(is, should, n), "%s: %s is another one", when, names[i]);
        mem_free(is);
        mem_free(should);
    }
    Error error = {0};
    char **left, *where = training_path(run, "");
    int n_left;
    ck_assert(folder_list(where, "", "", &left, &n_left, &error));
    for (int i = 0; i < n_left; i++) {
        ck_assert_msg(!strstr(left[i], ".tmp-"), "%s: %s is left", when, left[i]);
        mem_free(left[i]);
    }
    mem_free(left);
    mem_free(where);
}
