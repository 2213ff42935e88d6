#include "run/average.h"

#include "core/memory.h"
#include "run/checkpoint.h"
#include "system/files.h"
#include "text/text.h"

/* What is known after some of the checkpoints. */
typedef struct Mean {
    Params params; /* those of the checkpoint being read; at the end the mean */
    double *sum;   /* [params.size] */
    Text names;    /* by blanks */
    Checkpoint latest;
    uint32_t tokenizer_hash; /* that all must have */
} Mean;

/* Take `checkpoint`, of which only the latest stays open. */
static void keep_latest(Mean *mean, Checkpoint *checkpoint)
{
    if (mean->latest.file && checkpoint->state.step <= mean->latest.state.step) {
        checkpoint_close(checkpoint);
        return;
    }
    if (mean->latest.file) checkpoint_close(&mean->latest);
    mean->latest = *checkpoint;
}

static bool begin(Mean *mean, const Checkpoint *checkpoint, Error *error)
{
    if (!checkpoint_declare_params(checkpoint, &mean->params, error)) return false;
    params_allocate(&mean->params, false);
    mean->sum = mem_zalloc(mean->params.size * sizeof *mean->sum);
    return true;
}

/* Has it as many parameters as those before it? That their names and shapes agree shows when they are read. */
static bool agrees(const Mean *mean, const Checkpoint *checkpoint, Error *error)
{
    Params params = {0};
    bool good = checkpoint_declare_params(checkpoint, &params, error);
    if (good && params.n != mean->params.n)
        good = error_set(error, "%s has %d tensors of parameters, %s has %d: they are different models", mean->latest.path,
                         mean->params.n, checkpoint->path, params.n);
    params_free(&params);
    return good;
}

/* A link is called by the name of what it points to. */
static void add_name(Mean *mean, const char *path)
{
    char *target = symlink_target(path);
    text_append_format(&mean->names, "%s%s", mean->names.n ? " " : "", path_name(target ? target : path));
    mem_free(target);
}

static bool add(Mean *mean, const char *path, bool ema, Error *error)
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

static bool save(Mean *mean, int n, const char *output, Error *error)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < mean->params.size; i++) mean->params.value[i] = (real)(mean->sum[i] / n);
    TrainState state = mean->latest.state;
    CheckpointOrigin origin = mean->latest.origin;
    state.best_step = state.validated_step = 0;
    state.best_score = 0;
    origin.averaged = mean->names.data;
    return checkpoint_save(output, &mean->params, NULL, &state, &origin, error);
}

bool average_checkpoints(char *const *path, int n, bool ema, uint32_t tokenizer_hash, const char *output, Error *error)
{
    Mean mean = {.tokenizer_hash = tokenizer_hash};
    bool good = true;
    for (int i = 0; good && i < n; i++) good = add(&mean, path[i], ema, error);
    if (good) {
        text_append(&mean.names, "", 1);
        good = save(&mean, n, output, error);
    }
    if (mean.latest.file) checkpoint_close(&mean.latest);
    params_free(&mean.params);
    mem_free(mean.sum);
    text_free(&mean.names);
    return good;
}
