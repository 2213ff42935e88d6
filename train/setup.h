/* What the training loop works with, and how it is set up: anew, or from a checkpoint. */
#ifndef FERRY_TRAIN_SETUP_H
#define FERRY_TRAIN_SETUP_H

#include "data/batches.h"
#include "data/bitext.h"
#include "run/adam.h"
#include "run/checkpoint.h"
#include "run/log.h"
#include "run/parent.h"
#include "run/run.h"
#include "system/progress.h"
#include "train/store.h"
#include "translate/scores.h"

typedef struct Trainer {
    const Options *options;
    const char *folder;
    int lock;
    bool resumes; /* from `checkpoint` */
    Checkpoint checkpoint;
    Parent parent; /* the run that a new run begins with; open during setup alone */
    CheckpointOrigin origin;
    char *options_text; /* what origin.options points to */

    Tokenizer *tokenizer;
    Bitext bitext, valid_pairs;
    Store store; /* where the tokens of `bitext` lie */
    bool has_validation;
    TestSet valid_set;
    BatchIterator batches;
    BatchBuffer *batch; /* [accumulate] */

    Compute compute; /* what computes, as the options say, and what is its name in checkpoints */
    char compute_name[COMPUTE_NAME];
    Model *model;
    Adam adam;
    Tape tape;
    Precision decode_precision; /* of validations */
    Translator translator;
    TrainState state;
    bool saved; /* the newest checkpoint on disk holds this very state */

    Log log;
    Progress progress;
    double started, seconds_before; /* this process's start; training time before it */
    double share_before;            /* the part of the run that was done then */
    double window_started;          /* of the rate: since the last row */
    int64_t window_tokens;          /* that this process trained on since then */
} Trainer;

/* Lock the run folder if it is there, and look into it: if it holds checkpoints, open the newest sound one, check that the
 * options agree with it, and set t->resumes, t->state and t->seconds_before. Changes nothing there, except that it
 * removes what a killed process left half-written, and makes up for links that a kill just after a checkpoint prevented. */
bool setup_find(Trainer *t, Error *error);

/* Make or lock the folder; tokenizer, data, model, log; restore the checkpoint. Says on standard error what it works with.
 */
bool setup_open(Trainer *t, Error *error);

/* Two parts of it, also for the bench, whose pairs are made up: what computes, by the options; and what needs only that and a
 * tokenizer: model, optimizer, batches (of t->bitext), translator. */
bool setup_machine(Trainer *t, Error *error);
bool setup_model(Trainer *t, Error *error);

/* Free everything, whatever was set up. */
void setup_close(Trainer *t);

#endif
