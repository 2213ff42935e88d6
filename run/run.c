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

/* The step that the name of a checkpoint says, or -1 if it is another name: a copy that someone made, say. */
static int64_t step_of(const char *name)
{
    const char *digits = name + strcspn(name, "0123456789");
    char *number = mem_format("%.*s", (int)strspn(digits, "0123456789"), digits);
    int64_t step = -1;
    if (number_read_int(number, &step)) {
        char *right = run_checkpoint_name(step);
        if (strcmp(name, right)) step = -1;
        mem_free(right);
    }
    mem_free(number);
    return step;
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
        step[n] = step_of(names[i]);
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
            "none of the %d checkpoint%s in %s is sound; train into another folder (--run), or remove what is there to start anew",
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

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int run_lock(const char *folder, Error *error)
{
    if (file_exists(folder) && !is_folder(folder)) {
        error_usage(error, "%s is a file; --run names a folder", folder);
        return -1;
    }
    char *path = path_join(folder, "lock");
    bool held;
    const int lock = file_lock(path, &held, error);
    if (held)
        error_set(error, "another process is training in %s; wait for it, or choose another folder with --run", folder);
    mem_free(path);
    return lock;
}

bool run_locate(const char *model, char **folder, char **checkpoint, Error *error)
{
    if (!file_exists(model))
        return error_set(error, "there is no model %s; a model is the run folder of a training, or a checkpoint in one", model);
    if (!is_folder(model)) {
        *folder = path_folder(model);
        *checkpoint = mem_string(model);
        return true;
    }
    *folder = mem_string(model);
    *checkpoint = path_join(model, RUN_BEST);
    if (file_exists(*checkpoint)) return true;
    mem_free(*checkpoint);
    *checkpoint = path_join(model, RUN_LAST);
    if (file_exists(*checkpoint)) return true;
    mem_free(*checkpoint);
    mem_free(*folder);
    return error_set(error, "%s has no checkpoint yet: neither 'best' nor 'last' is there", model);
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
