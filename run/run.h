/* The run folder: what training leaves behind, and how the other commands find a trained model in it.
 *     config.ini  tokenizer.bpe  checkpoint-00001000.safetensors ..  last -> ..  best -> ..  log.tsv  lock
 *     valid-00001000.txt ..  train.tokens  train.index (train/store.h)  pairs.txt (train/corpora.h)
 * On a file system without symbolic links, last and best are small files that hold the checkpoint's name. */
#ifndef FERRY_RUN_RUN_H
#define FERRY_RUN_RUN_H

#include "data/tokenizer.h"
#include "model/model.h"
#include "options/options.h"
#include "run/checkpoint.h"

#define RUN_CONFIG "config.ini"
#define RUN_TOKENIZER "tokenizer.bpe"
#define RUN_LOG "log.tsv"
#define RUN_LOCK "lock"
#define RUN_LAST "last"
#define RUN_BEST "best"
#define RUN_TOKENS "train.tokens"
#define RUN_INDEX "train.index"
#define RUN_PAIRS "pairs.txt"

/* A trained model, ready to translate. */
typedef struct Run {
    char *folder;
    Options options; /* of its config.ini, and of the settings over it */
    Tokenizer *tokenizer;
    Checkpoint checkpoint;
    Compute compute; /* what computes, as the options say */
    Model *model;
} Run;

/* Open a model by its name: a run folder (its best checkpoint, else its last) or a checkpoint in one. `settings` count
 * more than its configuration. Lets the calling thread have train.threads threads. */
bool run_open(Run *run, const char *model, const OptionSettings *settings, Error *error);
void run_close(Run *run);

/* The folder and the checkpoint that a name of a model stands for, as run_open finds them; free both with mem_free.
 * Where the links of the run were lost, as on the way through an archive, the newest checkpoint stands for the last,
 * and says which one is the best. */
bool run_locate(const char *model, char **folder, char **checkpoint, Error *error);

/* The tokenizer in the folder, which must be the one that the checkpoint was trained with. NULL on error. */
Tokenizer *run_tokenizer(const char *folder, const Checkpoint *checkpoint, Error *error);

/* The model that the options describe. */
ModelConfig run_model_config(const Options *options, int vocab_size);

/* The file name of the checkpoint of a step, and of the translations of its validation; free with mem_free. */
char *run_checkpoint_name(int64_t step);
char *run_translations_name(int64_t step);
/* Whether training writes files of that name (the lock aside). */
bool run_writes(const char *name);
/* The steps of the folder's checkpoints, ascending; free with mem_free. Other files, whatever their names, don't
 * count. */
bool run_checkpoints(const char *folder, int64_t **steps, int *n_steps, Error *error);

/* The newest sound checkpoint of the folder; unsound ones are warned of. *found is false if there is no checkpoint at
 * all. An error if there are some and none is sound. */
bool run_newest(const char *folder, Checkpoint *checkpoint, bool *found, Error *error);

/* Let `last` be the checkpoint of `step`, `best` that of `best_step` (0: none yet). A link that is right isn't
 * touched. */
bool run_link(const char *folder, int64_t step, int64_t best_step, Error *error);

/* Remove all checkpoints but that of `best_step`, the `keep` newest up to `step`, where training stands, and the
 * `keep` newest of those that were due every so many steps: which of them are there, to be averaged, doesn't depend on
 * interruptions, which leave others in between. Those beyond `step` are none that training could go on from
 * (run_newest passed them over), so they don't count, and stay. */
bool run_prune(const char *folder, int64_t step, int64_t best_step, int64_t keep, int64_t every, Error *error);

/* Keep others from training in this folder: a lock that ends with the process, however it ends, on a file that is made
 * if need be. Returns a file descriptor, or -1. A warning where the file system has no locks. */
int run_lock(const char *folder, Error *error);

#endif
