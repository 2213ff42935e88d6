/* The mean of checkpoints' weights, as a checkpoint. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "core/memory.h"
#include "data/tokenizer_file.h"
#include "run/average.h"
#include "run/machine.h"
#include "run/run.h"
#include "system/files.h"
#include "system/made.h"
#include "system/number.h"

#define SUFFIX ".safetensors"

typedef struct Paths {
    char **path; /* [n], owned */
    int n;
} Paths;

static void free_paths(Paths *paths)
{
    for (int i = 0; i < paths->n; i++) mem_free(paths->path[i]);
    mem_free(paths->path);
}

/* ---- which ---- */

/* The arguments, as files or as names in the run folder. A link of the run that was lost is made up for. */
static bool named(const CommandLine *line, const char *run, Paths *paths, Error *error)
{
    bool good = true;
    paths->path = mem_alloc((size_t)line->n_arguments * sizeof *paths->path);
    for (int i = 0; i < line->n_arguments && good; i++) {
        const char *name = line->argument[i];
        char *inside = path_join(run, name), *folder;
        const bool is_link = !strcmp(name, RUN_LAST) || !strcmp(name, RUN_BEST);
        const bool is_inside = !file_exists(name) && (is_link || file_exists(inside));
        good = run_locate(is_inside ? inside : name, &folder, &paths->path[paths->n], error);
        paths->n += good;
        if (good) mem_free(folder);
        mem_free(inside);
    }
    return good;
}

/* The newest `last` of the run's checkpoints that were due by checkpoint_every: so the mean doesn't depend on where
 * training was interrupted. 0: as many as it keeps, without an older one that stayed because it is the best. */
static bool newest(const char *run, int64_t last, const Options *options, Paths *paths, Error *error)
{
    const int64_t checkpoint_every = options->train_checkpoint_every, keep = options->train_keep;
    int64_t *step;
    int n, n_due = 0;
    if (!run_checkpoints(run, &step, &n, error)) return false;
    for (int i = 0; i < n; i++)
        if (step[i] % checkpoint_every == 0) step[n_due++] = step[i];
    const bool good = (n_due > 0 && n_due >= last) ||
                      error_set(error, "%s has %d checkpoint%s at multiples of train.checkpoint_every = %" PRId64
                                "%s; train.keep says how many a run keeps; others can be named one by one", run, n_due,
                                plural(n_due), checkpoint_every, last ? ", fewer than --last asks for" : "");
    const int first = last ? n_due - (int)last : n_due > keep ? n_due - (int)keep : 0;
    paths->path = mem_alloc((size_t)n * sizeof *paths->path);
    for (int i = first; good && i < n_due; i++) {
        char *name = run_checkpoint_name(step[i]);
        paths->path[paths->n++] = path_join(run, name);
        mem_free(name);
    }
    mem_free(step);
    return good;
}

static bool choose(const CommandLine *line, const char *run, const Options *options, Paths *paths, Error *error)
{
    const bool newest_ones = line->flag[FLAG_LAST] != NULL;
    int64_t last = 0;
    if (newest_ones && line->n_arguments)
        return error_usage(error, "average takes --last or the checkpoints themselves, not both");
    if (newest_ones && !command_number(line, FLAG_LAST, 1, INT32_MAX, &last, error)) return false;
    if (!line->n_arguments) return newest(run, last, options, paths, error);
    return named(line, run, paths, error);
}

/* ---- where to ---- */

/* The output's path; NULL and an error if it is no name for it. */
static char *output_path(const CommandLine *line, const char *run, Error *error)
{
    const char *given = line->flag[FLAG_OUTPUT];
    if (!given || folder_exists(given)) return path_join(given ? given : run, "average" SUFFIX);
    const char *name = path_name(given);
    const size_t length = strlen(name), suffix = strlen(SUFFIX);
    if (length > suffix && !strcmp(name + length - suffix, SUFFIX) && strncmp(name, "checkpoint-", 11))
        return mem_string(given);
    error_usage(error, "--output '%s': the name must end in " SUFFIX " and not begin with 'checkpoint-', as those do from "
                "which training goes on", given);
    return NULL;
}

/* A file of the run that the output needs beside it. */
typedef struct Companion {
    const char *name;
    bool must_be_same; /* if there is one already */
    char *path, *content;
    size_t n;
} Companion;

/* Read it; where it is there already, and is the same if it must be, `content` is NULL: there is nothing to write. */
static bool read_companion(Companion *c, const char *run, const char *folder, Error *error)
{
    char *from = path_join(run, c->name), *there = NULL;
    size_t n_there;
    c->path = path_join(folder, c->name);
    bool good = (c->content = file_read_all(from, &c->n, error)) != NULL;
    const bool is_there = file_exists(c->path);
    if (good && is_there && c->must_be_same) {
        good = (there = file_read_all(c->path, &n_there, error)) != NULL;
        if (good && (c->n != n_there || memcmp(c->content, there, c->n)))
            good = error_set(error, "%s is of another run than %s; choose another folder for --output", c->path, run);
    }
    if (is_there) {
        mem_free(c->content);
        c->content = NULL;
    }
    mem_free(from);
    mem_free(there);
    return good;
}

/* Write the mean, and what it needs beside it; what was made is removed again if a part fails. */
static bool write_all(const Average *mean, const Companion *companion, int n, const char *output, Error *error)
{
    FilesMade made = {0};
    char *folder = path_folder(output);
    made_note(&made, output);
    bool good = folder_make(folder, error);
    for (int i = 0; i < n && good; i++) {
        if (!companion[i].content) continue;
        made_note(&made, companion[i].path);
        good = file_write_all(companion[i].path, companion[i].content, companion[i].n, error);
    }
    good = good && average_save(mean, output, error);
    if (good) made_keep(&made);
    else made_undo(&made);
    mem_free(folder);
    return good;
}

static bool tokenizer_of(const char *run, uint32_t *hash, Error *error)
{
    char *path = path_join(run, RUN_TOKENIZER);
    Tokenizer *tokenizer = tokenizer_file_load(path, error);
    const bool good = tokenizer != NULL;
    if (good) *hash = tokenizer_hash(tokenizer);
    tokenizer_free(tokenizer);
    mem_free(path);
    return good;
}

/* All is read before anything is written. */
static bool save_mean(const Paths *paths, const char *run, const Options *options, const char *output, Error *error)
{
    enum { N = 2 };
    Companion companion[N] = {{.name = RUN_TOKENIZER, .must_be_same = true}, {.name = RUN_CONFIG}};
    uint32_t hash;
    char *folder = path_folder(output);
    bool good = tokenizer_of(run, &hash, error);
    for (int i = 0; i < N && good; i++) good = read_companion(&companion[i], run, folder, error);
    Average *mean = NULL;
    if (good) mean = average_new(paths->path, paths->n, options->decode_weights == WEIGHTS_EMA, hash, error);
    good = mean && write_all(mean, companion, N, output, error);
    average_free(mean);
    for (int i = 0; i < N; i++) {
        mem_free(companion[i].path);
        mem_free(companion[i].content);
    }
    mem_free(folder);
    return good;
}

static bool average(const CommandLine *line, const char *run, const Options *options, Error *error)
{
    Paths paths = {0};
    char *output = output_path(line, run, error);
    const bool good = output && choose(line, run, options, &paths, error) &&
                      save_mean(&paths, run, options, output, error);
    if (good) {
        fprintf(stderr, "%s is the mean of\n", output);
        for (int i = 0; i < paths.n; i++) fprintf(stderr, "  %s\n", paths.path[i]);
    }
    free_paths(&paths);
    mem_free(output);
    return good;
}

bool cmd_average(CommandLine *line, Error *error)
{
    const char *run = line->flag[FLAG_MODEL];
    if (!folder_exists(run))
        return error_set(error, "%s is not a folder; -m names the run folder whose checkpoints are averaged", run);
    char *config = path_join(run, RUN_CONFIG);
    Options options;
    bool good = options_load(&options, config, &line->settings, error);
    if (good) {
        Compute compute;
        good = machine_start(&options, &compute, error) && average(line, run, &options, error);
        options_free(&options);
    }
    mem_free(config);
    return good;
}
