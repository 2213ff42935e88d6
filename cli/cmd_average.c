/* The mean of checkpoints' weights, as a checkpoint. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "core/memory.h"
#include "data/tokenizer_file.h"
#include "run/average.h"
#include "run/machine.h"
#include "run/run.h"
#include "system/files.h"
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

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* ---- which ---- */

/* The arguments, as files or as names in the run folder. */
static void named(const CommandLine *line, const char *run, Paths *paths)
{
    paths->path = mem_alloc((size_t)line->n_arguments * sizeof *paths->path);
    for (int i = 0; i < line->n_arguments; i++) {
        char *inside = path_join(run, line->argument[i]);
        const bool is_inside = !file_exists(line->argument[i]) && file_exists(inside);
        paths->path[paths->n++] = mem_string(is_inside ? inside : line->argument[i]);
        mem_free(inside);
    }
}

/* The newest `last` of the run's checkpoints that were due by checkpoint_every: so the mean doesn't depend on where training was
 * interrupted. 0: as many as it keeps, without an older one that stayed because it is the best. */
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
    named(line, run, paths);
    return true;
}

/* ---- where to ---- */

/* The output's path; NULL and an error if it is no name for it. */
static char *output_path(const CommandLine *line, const char *run, Error *error)
{
    const char *given = line->flag[FLAG_OUTPUT];
    if (!given || is_folder(given)) return path_join(given ? given : run, "average" SUFFIX);
    const char *name = path_name(given);
    const size_t length = strlen(name), suffix = strlen(SUFFIX);
    if (length > suffix && !strcmp(name + length - suffix, SUFFIX) && strncmp(name, "checkpoint-", 11))
        return mem_string(given);
    error_usage(error, "--output '%s': the name must end in " SUFFIX " and not begin with 'checkpoint-', as those do from "
                "which training goes on", given);
    return NULL;
}

/* Let the run's file `name` be in `folder`, too. What is there already stays; if it must be the same and isn't: an error. */
static bool provide(const char *run, const char *folder, const char *name, bool must_be_same, Error *error)
{
    char *from = path_join(run, name), *to = path_join(folder, name), *content, *there = NULL;
    size_t n, n_there;
    bool good = (content = file_read_all(from, &n, error)) != NULL;
    if (good && !file_exists(to)) {
        good = file_write_all(to, content, n, error);
    } else if (good && must_be_same) {
        good = (there = file_read_all(to, &n_there, error)) != NULL;
        if (good && (n != n_there || memcmp(content, there, n)))
            good = error_set(error, "%s is of another run than %s; choose another folder for --output", to, run);
    }
    mem_free(from);
    mem_free(to);
    mem_free(content);
    mem_free(there);
    return good;
}

/* The output's folder, with what a checkpoint needs beside it. */
static bool prepare_folder(const char *run, const char *output, Error *error)
{
    char *folder = path_folder(output);
    const bool good = folder_make(folder, error) && provide(run, folder, RUN_TOKENIZER, true, error) &&
                      provide(run, folder, RUN_CONFIG, false, error);
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

static bool average(const CommandLine *line, const char *run, const Options *options, Error *error)
{
    Paths paths = {0};
    uint32_t hash;
    char *output = output_path(line, run, error);
    const bool good = output && choose(line, run, options, &paths, error) && tokenizer_of(run, &hash, error) &&
                      prepare_folder(run, output, error) &&
                      average_checkpoints(paths.path, paths.n, options->decode_weights == WEIGHTS_EMA, hash, output, error);
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
    if (!is_folder(run))
        return error_set(error, "%s is no folder; -m names the run folder whose checkpoints are averaged", run);
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
