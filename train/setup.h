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
#include "train/claim.h"
#include "train/corpora.h"
#include "train/store.h"
#include "train/tree_sum.h"
#include "translate/scores.h"

typedef struct Trainer {
    const Options *options;
    const char *folder;
    Claim claim; /* to the folder */
    bool resumes; /* from `checkpoint` */
    Checkpoint checkpoint;
    Parent parent; /* the run that a new run begins with; open during setup alone */
    CheckpointOrigin origin;
    char *options_text, *decode_text, *kernel_text; /* what origin's texts point to */

    Tokenizer *tokenizer;
    Corpora corpora; /* of `bitext` */
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
    TreeSum sum; /* of the gradients of a step's batches */
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

/* Setting up has two phases. The first only looks: whatever it finds wrong, nothing in the run folder has changed
 * (what must be written lies in temporaries that setup_close removes), and no folder is left where there was none. The
 * second writes. */

/* Begin the first phase: lock the run folder if it is there, and look into it. If it holds checkpoints, open the
 * newest sound one, check that the options agree with it, and set t->resumes, t->state and t->seconds_before; else see
 * that a new training spoils nothing there. t->options and t->folder are set, all else is zero. */
bool setup_find(Trainer *t, Error *error);

/* The rest of it: the folder made and locked; texts, tokenizer, validation set, model, optimizer; all of it restored
 * from the checkpoint or taken from another run (train.init_from); memory. Says on standard error what the texts
 * are. */
bool setup_check(Trainer *t, Error *error);

/* The second phase, for a run that is known to go on: write config.ini and what setup_check made, open the log, remove
 * what a killed process left half-written, make up for links that a kill just after a checkpoint prevented. Says what
 * it works with. */
bool setup_commit(Trainer *t, Error *error);
/* The part of it that a run which is finished needs, too: leftovers and links. */
bool setup_tidy(Trainer *t, Error *error);

/* Two parts of setup_check, also for the bench, whose pairs are made up: what computes, by the options; and what needs
 * only that and a tokenizer: model, optimizer, batches (of t->bitext), translator. */
bool setup_machine(Trainer *t, Error *error);
bool setup_model(Trainer *t, Error *error);

/* Free everything, whatever was set up; undo what setup_check did to the folder, unless setup_commit came after. */
void setup_close(Trainer *t);

#endif
