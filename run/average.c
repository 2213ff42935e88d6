#include "run/average.h"

#include <string.h>

#include "core/memory.h"
#include "options/options.h"
#include "run/checkpoint.h"
#include "system/files.h"
#include "text/text.h"

/* What is known after some of the checkpoints. */
struct Average {
    Params params; /* those of the checkpoint being read; at the end the mean */
    double *sum;   /* [params.size] */
    Text names;    /* by blanks */
    Checkpoint latest;
    uint32_t tokenizer_hash; /* that all must have */
};

/* Take `checkpoint`, of which only the latest stays open. */
static void keep_latest(Average *mean, Checkpoint *checkpoint)
{
    if (mean->latest.file && checkpoint->state.step <= mean->latest.state.step) {
        checkpoint_close(checkpoint);
        return;
    }
    if (mean->latest.file) checkpoint_close(&mean->latest);
    mean->latest = *checkpoint;
}

static bool begin(Average *mean, const Checkpoint *checkpoint, Error *error)
{
    if (!checkpoint_declare_params(checkpoint, &mean->params, error)) return false;
    params_allocate(&mean->params, false);
    mean->sum = mem_zalloc(mean->params.size * sizeof *mean->sum);
    return true;
}

/* Are the options of section [model] the same? Shapes alone don't tell heads or the activation. */
static bool same_model(const Average *mean, const Checkpoint *checkpoint, Error *error)
{
    static const char *const model[] = {"model.", NULL};
    const Checkpoint *latest = &mean->latest;
    if (!strcmp(latest->origin.options, checkpoint->origin.options)) return true;
    Options before, now;
    options_init(&before);
    options_init(&now);
    const bool good = options_from_text(&before, latest->path, latest->origin.options, error) &&
                      options_from_text(&now, checkpoint->path, checkpoint->origin.options, error);
    char *differences = good ? options_differences(&before, &now, model, " and ") : NULL;
    options_free(&before);
    options_free(&now);
    if (!differences) return good;
    differences[strlen(differences) - 1] = '\0';
    error_set(error, "%s and %s are different models, which have no mean:\n%s", latest->path, checkpoint->path,
              differences);
    mem_free(differences);
    return false;
}

/* Has it as many parameters as those before it? That their names and shapes agree shows when they are read. */
static bool agrees(const Average *mean, const Checkpoint *checkpoint, Error *error)
{
    Params params = {0};
    bool good = same_model(mean, checkpoint, error) && checkpoint_declare_params(checkpoint, &params, error);
    if (good && params.n != mean->params.n)
        good = error_set(error, "%s has %d tensors of parameters, %s has %d: they are different models", mean->latest.path,
                         mean->params.n, checkpoint->path, params.n);
    params_free(&params);
    return good;
}

/* A link is called by the name of what it points to. */
static void add_name(Average *mean, const char *path)
{
    char *target = symlink_target(path);
    text_append_format(&mean->names, "%s%s", mean->names.n ? " " : "", path_name(target ? target : path));
    mem_free(target);
}

static bool add(Average *mean, const char *path, bool ema, Error *error)
{
    Checkpoint checkpoint;
    if (!checkpoint_open(&checkpoint, path, error)) return false;
    bool good = checkpoint.origin.tokenizer_hash == mean->tokenizer_hash ||
                error_set(error, "%s was not trained with the tokenizer of the run", path);
    good = good && (mean->sum ? agrees(mean, &checkpoint, error) : begin(mean, &checkpoint, error)) &&
           checkpoint_read_weights(&checkpoint, ema, &mean->params, error);
    if (!good) {
        checkpoint_close(&checkpoint);
        return false;
    }
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < mean->params.size; i++) mean->sum[i] += (double)mean->params.value[i];
    add_name(mean, path);
    keep_latest(mean, &checkpoint);
    return true;
}

static void divide(Average *mean, int n)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < mean->params.size; i++) mean->params.value[i] = (real)(mean->sum[i] / n);
}

Average *average_new(char *const *path, int n, bool ema, uint32_t tokenizer_hash, Error *error)
{
    Average *mean = mem_zalloc(sizeof *mean);
    mean->tokenizer_hash = tokenizer_hash;
    for (int i = 0; i < n; i++) {
        if (add(mean, path[i], ema, error)) continue;
        average_free(mean);
        return NULL;
    }
    divide(mean, n);
    text_append(&mean->names, "", 1);
    return mean;
}

bool average_save(const Average *mean, const char *output, Error *error)
{
    TrainState state = mean->latest.state;
    CheckpointOrigin origin = mean->latest.origin;
    state.best_step = state.validated_step = 0;
    state.best_score = 0;
    origin.averaged = mean->names.data;
    return checkpoint_save(output, &mean->params, NULL, &state, &origin, error);
}

void average_free(Average *mean)
{
    if (!mean) return;
    if (mean->latest.file) checkpoint_close(&mean->latest);
    params_free(&mean->params);
    mem_free(mean->sum);
    text_free(&mean->names);
    mem_free(mean);
}
