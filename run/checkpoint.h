/* Checkpoints: one safetensors file with the parameters under their plain names, their moving average (if one is kept) as
 * "ema." and the name, Adam's moments as "adam.m." and "adam.v." and the name, and in its metadata all that training needs to
 * go on exactly. The mean of some checkpoints' weights (run/average.h) is one, too, but holds the parameters alone. */
#ifndef FERRY_RUN_CHECKPOINT_H
#define FERRY_RUN_CHECKPOINT_H

#include <stdint.h>

#include "autograd/params.h"
#include "core/error.h"
#include "run/adam.h"

/* Where training stands. Everything in it is a function of data, options and step, never of time. */
typedef struct TrainState {
    int64_t step;           /* steps made */
    int64_t epoch;          /* from 0 */
    int64_t position;       /* pairs of the epoch that were used */
    int64_t validated_step; /* the step of the last validation, 0: none yet */
    int64_t logged_step;    /* the step of the last row of log.tsv */
    int64_t best_step;      /* the step of the best validation (of equals the last), 0: none yet */
    int64_t n_worse;        /* validations since the score last rose */
    double best_score;      /* higher is better: BLEU, or minus the loss */
    double window_loss;     /* since the last row: sum of the loss over tokens */
    int64_t window_tokens;  /* and the number of tokens */
    double gradient_norm;   /* at the last update, before clipping */
    int64_t n_skipped;      /* steps that made no update, because their gradient wasn't finite */
    int64_t n_skipped_row;  /* of those, the last ones in a row */
    int64_t validation_hash; /* of the pairs that best_score is of; 0: none */
} TrainState;

/* What a checkpoint belongs to: training goes on only with the same. */
typedef struct CheckpointOrigin {
    const char *options; /* options_to_text */
    uint32_t tokenizer_hash;
    uint64_t data_hash;
    const char *kernel;   /* what computes, and how batches are added: another one gives other last bits */
    const char *decoding; /* of validations, options_to_decode_text; NULL: none, or Ferry was too old to say */
    const char *averaged; /* the names of the checkpoints whose mean this is, by blanks; NULL: it comes from training */
} CheckpointOrigin;

typedef struct Checkpoint {
    char *path;
    struct Safetensors *file;
    TrainState state;
    CheckpointOrigin origin; /* its texts live as long as the checkpoint */
} Checkpoint;

/* Write the file atomically: on error, what was there before is still there. A number that isn't finite, in the parameters or
 * the optimizer, is an error that names its tensor: no such checkpoint is ever written. adam NULL:
 * the parameters alone. */
bool checkpoint_save(const char *path, const Params *params, const Adam *adam, const TrainState *state,
                     const CheckpointOrigin *origin, Error *error);

/* Open and check all of it (checksums, format version, metadata, that all numbers are finite). Close with checkpoint_close. */
bool checkpoint_open(Checkpoint *checkpoint, const char *path, Error *error);
void checkpoint_close(Checkpoint *checkpoint);

/* Declare the parameters that the checkpoint holds: those of its model, without the need to know it. */
bool checkpoint_declare_params(const Checkpoint *checkpoint, Params *params, Error *error);

/* Copy the parameters, which must be the same by name and shape. */
bool checkpoint_read_params(const Checkpoint *checkpoint, Params *params, Error *error);

/* The same with the weights to translate with: if `ema` is true and the checkpoint has a moving average, that one. */
bool checkpoint_has_ema(const Checkpoint *checkpoint);
bool checkpoint_read_weights(const Checkpoint *checkpoint, bool ema, Params *params, Error *error);

/* Copy the optimizer's moments and step; and the moving average if adam keeps one (adam_start_ema). */
bool checkpoint_read_adam(const Checkpoint *checkpoint, const Params *params, Adam *adam, Error *error);

#endif
