#include "run/checkpoint.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "run/finite.h"
#include "run/safetensors.h"
#include "system/number.h"

#define FORMAT "ferry checkpoint 1"

static const SafeType real_type = sizeof(real) == 4 ? SAFE_F32 : SAFE_F64;

/* The fields of TrainState as metadata. */
typedef struct Field {
    const char *key;
    bool is_real;
    size_t offset;
    bool newer; /* than the first checkpoints: 0 if it is missing */
} Field;

#define COUNT(name) {#name, false, offsetof(TrainState, name), false}
#define REAL_FIELD(name) {#name, true, offsetof(TrainState, name), false}
#define NEWER_COUNT(name) {#name, false, offsetof(TrainState, name), true}
static const Field fields[] = {
    COUNT(step), COUNT(epoch), COUNT(position), COUNT(validated_step), COUNT(logged_step), COUNT(best_step), COUNT(n_worse),
    REAL_FIELD(best_score), REAL_FIELD(window_loss), COUNT(window_tokens), REAL_FIELD(gradient_norm),
    NEWER_COUNT(n_skipped), NEWER_COUNT(n_skipped_row), NEWER_COUNT(validation_hash),
};
enum { N_FIELDS = sizeof fields / sizeof *fields, N_ORIGIN = 5, N_OPTIONAL = 2 };

static char *field_text(const TrainState *state, const Field *field)
{
    const char *at = (const char *)state + field->offset;
    if (!field->is_real) return mem_format("%" PRId64, *(const int64_t *)(const void *)at);
    char text[NUMBER_SIZE];
    return mem_string(number_write_real(text, *(const double *)(const void *)at));
}

static bool field_read(TrainState *state, const Field *field, const char *text)
{
    char *at = (char *)state + field->offset;
    return field->is_real ? number_read_real(text, (double *)(void *)at) : number_read_int(text, (int64_t *)(void *)at);
}

static SafeTensor tensor_of(const Param *param, const char *name, const real *block, const char *group)
{
    SafeTensor tensor = {
        .name = name, .type = real_type, .n_dims = param->n_dims, .data = block + param->offset, .group = group};
    tensor.shape[0] = (size_t)(param->n_dims == 2 ? param->rows : param->cols);
    tensor.shape[1] = (size_t)param->cols;
    return tensor;
}

/* What a tensor's name begins with where it is no parameter */
#define EMA "ema."
#define ADAM_M "adam.m."
#define ADAM_V "adam.v."

static bool begins(const char *name, const char *prefix)
{
    return !strncmp(name, prefix, strlen(prefix));
}

/* A block laid out like the parameters, and the checksum that it goes under. */
typedef struct Block {
    const char *prefix, *group;
    const real *data; /* NULL: isn't there */
} Block;

/* The first tensor with a number that isn't finite, or NULL. */
static const char *first_not_finite(const SafeTensor *tensor, int n)
{
    for (int i = 0; i < n; i++)
        if (tensor[i].type == real_type && !finite_all(tensor[i].data, safetensors_n_elements(&tensor[i])))
            return tensor[i].name;
    return NULL;
}

static bool write(AtomicFile *file, const Params *params, const Adam *adam, const SafeEntry *metadata, int n_metadata,
                  Error *error)
{
    const Block blocks[] = {
        {"", "parameters", params->value},
        {EMA, "ema", adam ? adam->ema : NULL},
        {ADAM_M, "optimizer", adam ? adam->m : NULL},
        {ADAM_V, "optimizer", adam ? adam->v : NULL},
    };
    enum { N_BLOCKS = sizeof blocks / sizeof *blocks };
    SafeTensor *tensor = mem_alloc(N_BLOCKS * (size_t)params->n * sizeof *tensor);
    char **name = mem_alloc(N_BLOCKS * (size_t)params->n * sizeof *name);
    int n = 0;
    for (int b = 0; b < N_BLOCKS; b++) {
        for (int i = 0; blocks[b].data && i < params->n; i++) {
            const Param *param = &params->param[i];
            name[n] = mem_format("%s%s", blocks[b].prefix, param->name);
            tensor[n] = tensor_of(param, name[n], blocks[b].data, blocks[b].group);
            n++;
        }
    }
    const char *bad = first_not_finite(tensor, n);
    bool good = bad ? error_set(error, "%s is not saved, for %s is not finite; what was there before is untouched",
                                file_path(file), bad)
                    : safetensors_write(file, tensor, n, metadata, n_metadata, error);
    for (int i = 0; i < n; i++) mem_free(name[i]);
    mem_free(name);
    mem_free(tensor);
    return good;
}

bool checkpoint_save(const char *path, const Params *params, const Adam *adam, const TrainState *state,
                     const CheckpointOrigin *origin, Error *error)
{
    char *owned[N_FIELDS + 2];
    SafeEntry metadata[N_FIELDS + N_ORIGIN + N_OPTIONAL] = {
        {"format", FORMAT}, {"options", origin->options}, {"kernel", origin->kernel}};
    owned[0] = mem_format("%08" PRIx32, origin->tokenizer_hash);
    owned[1] = mem_format("%016" PRIx64, origin->data_hash);
    metadata[3] = (SafeEntry){"tokenizer", owned[0]};
    metadata[4] = (SafeEntry){"data", owned[1]};
    for (int i = 0; i < N_FIELDS; i++) {
        owned[2 + i] = field_text(state, &fields[i]);
        metadata[N_ORIGIN + i] = (SafeEntry){fields[i].key, owned[2 + i]};
    }
    int n = N_FIELDS + N_ORIGIN;
    if (origin->decoding) metadata[n++] = (SafeEntry){"decoding", origin->decoding};
    if (origin->averaged) metadata[n++] = (SafeEntry){"averaged", origin->averaged};
    AtomicFile *file = file_create(path, error);
    bool good = file && write(file, params, adam, metadata, n, error);
    if (good) good = file_commit(file, error);
    else file_abandon(file);
    for (int i = 0; i < N_FIELDS + 2; i++) mem_free(owned[i]);
    return good;
}

static bool hex(const char *text, uint64_t *value)
{
    char *end;
    *value = strtoull(text, &end, 16);
    return *text && !*end;
}

static bool read_metadata(Checkpoint *c, Error *error)
{
    const Safetensors *file = c->file;
    const char *format = safetensors_metadata(file, "format");
    if (!format || !file->has_checksums) return error_set(error, "%s is not a checkpoint of Ferry", c->path);
    if (strcmp(format, FORMAT))
        return error_set(error, "%s has the format '%s'; this version of Ferry reads '%s'", c->path, format, FORMAT);
    for (int i = 0; i < N_FIELDS; i++) {
        const char *text = safetensors_metadata(file, fields[i].key);
        if (!text && fields[i].newer) continue;
        if (!text || !field_read(&c->state, &fields[i], text))
            return error_set(error, "%s: metadata '%s' is missing or not a number", c->path, fields[i].key);
    }
    const char *tokenizer = safetensors_metadata(file, "tokenizer"), *data = safetensors_metadata(file, "data");
    uint64_t tokenizer_hash;
    c->origin.options = safetensors_metadata(file, "options");
    c->origin.kernel = safetensors_metadata(file, "kernel");
    c->origin.decoding = safetensors_metadata(file, "decoding");
    c->origin.averaged = safetensors_metadata(file, "averaged");
    if (!tokenizer || !data || !c->origin.options || !c->origin.kernel || !hex(tokenizer, &tokenizer_hash) ||
        !hex(data, &c->origin.data_hash))
        return error_set(error, "%s: metadata is missing or damaged", c->path);
    c->origin.tokenizer_hash = (uint32_t)tokenizer_hash;
    return true;
}

/* A model of such numbers would translate everything into nothing. */
static bool check_numbers(const Checkpoint *c, Error *error)
{
    const char *bad = first_not_finite(c->file->tensor, c->file->n_tensors);
    return !bad || error_set(error, "%s: at step %" PRId64 ", tensor %s is not finite", c->path, c->state.step, bad);
}

bool checkpoint_open(Checkpoint *checkpoint, const char *path, Error *error)
{
    *checkpoint = (Checkpoint){.file = safetensors_open(path, error)};
    if (!checkpoint->file) return false;
    checkpoint->path = mem_string(path);
    if (read_metadata(checkpoint, error) && check_numbers(checkpoint, error)) return true;
    checkpoint_close(checkpoint);
    return false;
}

void checkpoint_close(Checkpoint *checkpoint)
{
    safetensors_close(checkpoint->file);
    mem_free(checkpoint->path);
    *checkpoint = (Checkpoint){0};
}

bool checkpoint_declare_params(const Checkpoint *checkpoint, Params *params, Error *error)
{
    for (int i = 0; i < checkpoint->file->n_tensors; i++) {
        const SafeTensor *t = &checkpoint->file->tensor[i];
        if (begins(t->name, EMA) || begins(t->name, ADAM_M) || begins(t->name, ADAM_V)) continue;
        if ((t->n_dims != 1 && t->n_dims != 2) || t->shape[0] > INT_MAX || t->shape[t->n_dims - 1] > INT_MAX)
            return error_set(error, "%s: tensor %s is not one of Ferry's parameters", checkpoint->path, t->name);
        const int rows = t->n_dims == 2 ? (int)t->shape[0] : 1, cols = (int)t->shape[t->n_dims - 1];
        params_declare(params, t->n_dims, rows, cols, INIT_ZEROS, 0, t->name);
    }
    return true;
}

/* Copy the tensors "prefix + parameter's name" into a block laid out like the parameters. */
static bool read_block(const Checkpoint *checkpoint, const Params *params, const char *prefix, real *block, Error *error)
{
    for (int i = 0; i < params->n; i++) {
        const Param *param = &params->param[i];
        char *name = mem_format("%s%s", prefix, param->name);
        SafeTensor wanted = tensor_of(param, name, block, NULL);
        const void *data = safetensors_get(checkpoint->file, name, real_type, wanted.n_dims, wanted.shape, error);
        mem_free(name);
        if (!data) return false;
        memcpy(block + param->offset, data, (size_t)param->rows * (size_t)param->cols * sizeof(real));
    }
    return true;
}

bool checkpoint_read_params(const Checkpoint *checkpoint, Params *params, Error *error)
{
    return read_block(checkpoint, params, "", params->value, error);
}

bool checkpoint_has_ema(const Checkpoint *checkpoint)
{
    for (int i = 0; i < checkpoint->file->n_tensors; i++)
        if (begins(checkpoint->file->tensor[i].name, EMA)) return true;
    return false;
}

bool checkpoint_read_weights(const Checkpoint *checkpoint, bool ema, Params *params, Error *error)
{
    return read_block(checkpoint, params, ema && checkpoint_has_ema(checkpoint) ? EMA : "", params->value, error);
}

bool checkpoint_read_adam(const Checkpoint *checkpoint, const Params *params, Adam *adam, Error *error)
{
    adam->step = checkpoint->state.step - checkpoint->state.n_skipped;
    return read_block(checkpoint, params, ADAM_M, adam->m, error) && read_block(checkpoint, params, ADAM_V, adam->v, error) &&
           (!adam->ema || read_block(checkpoint, params, EMA, adam->ema, error));
}
