#include "run/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/matmul.h"
#include "core/memory.h"
#include "data/tokenizer_file.h"
#include "run/machine.h"
#include "system/files.h"
#include "system/number.h"

ModelConfig run_model_config(const Options *o, int vocab_size)
{
    return (ModelConfig){
        .vocab_size = vocab_size,
        .d_model = (int)o->model_d_model,
        .d_ff = (int)o->model_d_ff,
        .heads = (int)o->model_heads,
        .encoder_layers = (int)o->model_encoder_layers,
        .decoder_layers = (int)o->model_decoder_layers,
        .norm = o->model_norm == NORM_PRE ? MODEL_PRE_NORM : MODEL_POST_NORM,
        .activation = o->model_activation == ACTIVATION_GELU ? ACTIVATE_GELU : ACTIVATE_RELU,
        .tie = o->model_tie == TIE_ALL ? MODEL_TIE_ALL : o->model_tie == TIE_DECODER ? MODEL_TIE_DECODER : MODEL_TIE_NONE,
        .dropout = (real)o->train_dropout,
        .attention_dropout = (real)o->train_attention_dropout,
        .activation_dropout = (real)o->train_activation_dropout,
        .label_smoothing = (real)o->train_label_smoothing,
        .rdrop = (real)o->train_rdrop,
    };
}

char *run_checkpoint_name(int64_t step)
{
    return mem_format("checkpoint-%08" PRId64 ".safetensors", step);
}

char *run_translations_name(int64_t step)
{
    return mem_format("valid-%08" PRId64 ".txt", step);
}

/* The step that a name made by `name_of` says, or -1 if it is another name: of a copy that someone made, say. */
static int64_t step_of(const char *name, char *(*name_of)(int64_t step))
{
    const char *digits = name + strcspn(name, "0123456789");
    char *number = mem_format("%.*s", (int)strspn(digits, "0123456789"), digits);
    int64_t step = -1;
    if (number_read_int(number, &step)) {
        char *right = name_of(step);
        if (strcmp(name, right)) step = -1;
        mem_free(right);
    }
    mem_free(number);
    return step;
}

bool run_writes(const char *name)
{
    static const char *const names[] = {RUN_CONFIG, RUN_TOKENIZER, RUN_LOG,   RUN_LAST,
                                        RUN_BEST,   RUN_TOKENS,    RUN_INDEX, RUN_PAIRS};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return true;
    return step_of(name, run_checkpoint_name) >= 0 || step_of(name, run_translations_name) >= 0;
}

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

bool run_checkpoints(const char *folder, int64_t **steps, int *n_steps, Error *error)
{
    char **names;
    int n_names, n = 0;
    if (!folder_list(folder, "checkpoint-", ".safetensors", &names, &n_names, error)) return false;
    int64_t *step = mem_alloc((size_t)n_names * sizeof *step);
    for (int i = 0; i < n_names; i++) {
        step[n] = step_of(names[i], run_checkpoint_name);
        n += step[n] >= 0;
        mem_free(names[i]);
    }
    mem_free(names);
    if (n) qsort(step, (size_t)n, sizeof *step, ascending);
    *steps = step;
    *n_steps = n;
    return true;
}

static char *checkpoint_path(const char *folder, int64_t step)
{
    char *name = run_checkpoint_name(step), *path = path_join(folder, name);
    mem_free(name);
    return path;
}

bool run_newest(const char *folder, Checkpoint *checkpoint, bool *found, Error *error)
{
    int64_t *step;
    int n;
    if (!run_checkpoints(folder, &step, &n, error)) return false;
    *found = false;
    for (int i = n - 1; i >= 0 && !*found; i--) {
        char *path = checkpoint_path(folder, step[i]);
        Error unsound = {0};
        *found = checkpoint_open(checkpoint, path, &unsound);
        if (!*found) warn("%s%s", unsound.text, i ? "; trying the checkpoint before it" : "");
        mem_free(path);
    }
    mem_free(step);
    if (n && !*found)
        return error_set(
            error,
            "none of the %d checkpoint%s in %s is sound; train into another folder (--run), or remove what is there to start "
            "anew",
            n, plural(n), folder);
    return true;
}

static bool link_to(const char *folder, const char *link, int64_t step, Error *error)
{
    char *path = path_join(folder, link), *name = run_checkpoint_name(step), *target = symlink_target(path);
    bool good = (target && !strcmp(target, name)) || symlink_replace(path, name, error);
    mem_free(path);
    mem_free(name);
    mem_free(target);
    return good;
}

bool run_link(const char *folder, int64_t step, int64_t best_step, Error *error)
{
    if (!link_to(folder, RUN_LAST, step, error)) return false;
    char *best = checkpoint_path(folder, best_step);
    bool good = !best_step || !file_exists(best) || link_to(folder, RUN_BEST, best_step, error);
    mem_free(best);
    return good;
}

bool run_prune(const char *folder, int64_t step, int64_t best_step, int64_t keep, int64_t every, Error *error)
{
    int64_t *saved;
    int n;
    if (!run_checkpoints(folder, &saved, &n, error)) return false;
    while (n && saved[n - 1] > step) n--;
    bool good = true;
    int64_t n_newer = 0, n_newer_due = 0;
    for (int i = n - 1; good && i >= 0; i--) {
        const bool due = saved[i] % every == 0, among_newest = n_newer++ < keep, among_due = due && n_newer_due++ < keep;
        if (among_newest || among_due || saved[i] == best_step) continue;
        char *path = checkpoint_path(folder, saved[i]);
        good = file_remove(path, error);
        mem_free(path);
    }
    mem_free(saved);
    return good;
}

int run_lock(const char *folder, Error *error)
{
    if (file_exists(folder) && !folder_exists(folder)) {
        error_usage(error, "%s is a file; --run names a folder", folder);
        return -1;
    }
    char *path = path_join(folder, RUN_LOCK);
    bool held;
    const int lock = file_lock(path, &held, error);
    if (held)
        error_set(error, "another process is training in %s; wait for it, or choose another folder with --run", folder);
    mem_free(path);
    return lock;
}

/* `path`; or, if it is a small file that stands for a link to a checkpoint, the path of that. Takes `path`. */
static char *follow(char *path)
{
    struct stat status;
    char *target = !lstat(path, &status) && S_ISREG(status.st_mode) ? symlink_target(path) : NULL;
    if (!target || step_of(target, run_checkpoint_name) < 0) {
        mem_free(target);
        return path;
    }
    char *folder = path_folder(path), *checkpoint = path_join(folder, target);
    mem_free(folder);
    mem_free(target);
    mem_free(path);
    return checkpoint;
}

/* What the link should point to, by the newest checkpoint, of which there may be none: then *path is NULL. */
static bool make_up_for(const char *folder, const char *link, char **path, Error *error)
{
    Checkpoint newest;
    bool found;
    *path = NULL;
    if (!run_newest(folder, &newest, &found, error)) return false;
    if (!found) return true;
    char *best = checkpoint_path(folder, newest.state.best_step);
    const bool takes_best = !strcmp(link, RUN_BEST) && newest.state.best_step && file_exists(best);
    *path = mem_string(takes_best ? best : newest.path);
    mem_free(best);
    checkpoint_close(&newest);
    warn("the link '%s' is missing in %s; %s is taken", link, folder, path_name(*path));
    return true;
}

/* The checkpoint that a run folder stands for. */
static bool locate_in(const char *folder, char **checkpoint, Error *error)
{
    static const char *const links[] = {RUN_BEST, RUN_LAST};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        *checkpoint = follow(path_join(folder, links[i]));
        if (file_exists(*checkpoint)) return true;
        mem_free(*checkpoint);
    }
    return make_up_for(folder, RUN_BEST, checkpoint, error) &&
           (*checkpoint || error_set(error, "%s has no checkpoint yet: neither 'best' nor 'last' is there", folder));
}

/* The checkpoint that is the file `model`; NULL if it isn't there. */
static bool locate_file(const char *model, const char *folder, char **checkpoint, Error *error)
{
    const char *name = path_name(model);
    const bool is_link = !strcmp(name, RUN_LAST) || !strcmp(name, RUN_BEST);
    *checkpoint = NULL;
    if (!strcmp(name, RUN_TOKENIZER) || !strcmp(name, RUN_CONFIG) || !strcmp(name, RUN_LOG))
        return error_usage(error, "%s is a file of a run, but not its model; the run folder is one (%s), or a checkpoint in it",
                           model, folder);
    if (file_exists(model)) *checkpoint = follow(mem_string(model));
    else if (is_link && folder_exists(folder) && !make_up_for(folder, name, checkpoint, error)) return false;
    return *checkpoint || error_set(error, "there is no model %s; a model is the run folder of a training, or a checkpoint "
                                    "in one", model);
}

bool run_locate(const char *model, char **folder, char **checkpoint, Error *error)
{
    const bool is_folder = folder_exists(model);
    *folder = is_folder ? mem_string(model) : path_folder(model);
    if (is_folder ? locate_in(model, checkpoint, error) : locate_file(model, *folder, checkpoint, error)) return true;
    mem_free(*folder);
    *folder = NULL;
    return false;
}

Tokenizer *run_tokenizer(const char *folder, const Checkpoint *checkpoint, Error *error)
{
    char *path = path_join(folder, RUN_TOKENIZER);
    Tokenizer *tokenizer = tokenizer_file_load(path, error);
    if (tokenizer && tokenizer_hash(tokenizer) != checkpoint->origin.tokenizer_hash) {
        error_set(error, "%s is not the tokenizer that %s was trained with", path, checkpoint->path);
        tokenizer_free(tokenizer);
        tokenizer = NULL;
    }
    mem_free(path);
    return tokenizer;
}

static bool load(Run *run, Error *error)
{
    run->tokenizer = run_tokenizer(run->folder, &run->checkpoint, error);
    if (!run->tokenizer) return false;
    /* The checkpoint knows best what model it holds. */
    if (!options_from_text(&run->options, run->checkpoint.path, run->checkpoint.origin.options, error)) return false;
    ModelConfig config = run_model_config(&run->options, tokenizer_size(run->tokenizer));
    run->model = model_new(&config, false);
    run->model->compute = run->compute;
    if (!checkpoint_read_weights(&run->checkpoint, run->options.decode_weights == WEIGHTS_EMA, &run->model->params, error))
        return false;
    const Precision precision = machine_precision(&run->compute, (Precision)run->options.decode_precision, "decode.precision");
    if (precision == PRECISION_INT8 && (config.d_model > MATMUL_INT8_MAX_K || config.d_ff > MATMUL_INT8_MAX_K))
        return error_set(error, "decode.precision = int8 works up to a width of %d; %s is wider: take fp32 or bf16",
                         MATMUL_INT8_MAX_K, run->checkpoint.path);
    model_freeze(run->model, precision);
    return true;
}

bool run_open(Run *run, const char *model, const OptionSettings *settings, Error *error)
{
    *run = (Run){0};
    char *checkpoint = NULL;
    if (!run_locate(model, &run->folder, &checkpoint, error)) return false;
    char *config = path_join(run->folder, RUN_CONFIG);
    bool good = options_load(&run->options, config, settings, error);
    if (good) {
        good =
            machine_start(&run->options, &run->compute, error) && checkpoint_open(&run->checkpoint, checkpoint, error) && load(run, error);
        if (!good) run_close(run);
    } else {
        mem_free(run->folder);
    }
    mem_free(config);
    mem_free(checkpoint);
    return good;
}

void run_close(Run *run)
{
    model_free(run->model);
    tokenizer_free(run->tokenizer);
    if (run->checkpoint.file) checkpoint_close(&run->checkpoint);
    options_free(&run->options);
    mem_free(run->folder);
    *run = (Run){0};
}
