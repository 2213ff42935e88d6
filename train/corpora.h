/* The texts that the options name. */
#ifndef FERRY_TRAIN_CORPORA_H
#define FERRY_TRAIN_CORPORA_H

#include "data/bitext.h"
#include "options/options.h"

#define CORPORA_STDIN "pairs.txt" /* in the run folder: what came in by standard input */

typedef struct Corpora {
    Corpus *corpus; /* [n] */
    int n;
} Corpora;

/* What the options say about texts is sound, and the files are there: to be told before anything is written. */
bool corpora_check(const Options *options, Error *error);

/* The training texts: data.train_source with data.train_target, then data.train_pairs, with data.train_weight. All files must
 * be there, and none a pipe, for they are read more than once. Standard input ("-" in train_pairs) is copied to the folder
 * first, unless the run `resumes` and has the copy. Free with corpora_free, also after an error. */
bool corpora_training(Corpora *corpora, const Options *options, const char *folder, bool resumes, Error *error);

/* The validation texts, in the same way; none (n = 0) if the options name none. */
bool corpora_validation(Corpora *corpora, const Options *options, Error *error);
void corpora_free(Corpora *corpora);

/* Learn the tokenizer from the training texts. NULL on error. */
Tokenizer *corpora_learn(const Corpora *corpora, const Options *options, Error *error);

/* What is left out of training, and of the validation's loss. */
BitextFilter corpora_training_filter(const Options *options);
BitextFilter corpora_validation_filter(const Options *options);

/* A line about the pairs, on standard error, and if there are several corpora one a corpus. `corpora` and `counts` are NULL
 * for validation, which skips pairs for its loss alone. */
void corpora_say(const char *name, const Corpora *corpora, const BitextCounts *counts, const BitextCounts *total);

#endif
