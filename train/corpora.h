/* The texts that the options name. */
#ifndef FERRY_TRAIN_CORPORA_H
#define FERRY_TRAIN_CORPORA_H

#include "data/bitext.h"
#include "options/options.h"
#include "system/files.h"

typedef struct Corpora {
    Corpus *corpus; /* [n] */
    int n;
    const char *copy;     /* the file among them that is the run folder's copy of standard input; NULL: none */
    AtomicFile *new_copy; /* what `copy` is the temporary of, until corpora_commit; NULL: it was there */
} Corpora;

/* What the options say about texts is sound, and the files are there: to be told before anything is read or written. */
bool corpora_check(const Options *options, Error *error);

/* The training texts: data.train_source with data.train_target, then data.train_pairs, with data.train_weight. All
 * files must be there, and none a pipe, for they are read more than once. So standard input ("-" in train_pairs) is
 * copied to a temporary of RUN_PAIRS in the folder. A run that `resumes` has the copy: then standard input must be the
 * same text, or empty, or a terminal, which isn't read. Free with corpora_free, also after an error. */
bool corpora_training(Corpora *corpora, const Options *options, const char *folder, bool resumes, Error *error);
/* Let a new copy of standard input take its name; a copy that wasn't committed is removed by corpora_free. */
bool corpora_commit(Corpora *corpora, Error *error);

/* The validation texts, in the same way; none (n = 0) if the options name none. */
bool corpora_validation(Corpora *corpora, const Options *options, Error *error);
void corpora_free(Corpora *corpora);

/* Learn the tokenizer from the training texts. NULL on error. */
Tokenizer *corpora_learn(const Corpora *corpora, const Options *options, Error *error);

/* What is left out of training, and of the validation's loss. */
BitextFilter corpora_training_filter(const Options *options);
BitextFilter corpora_validation_filter(const Options *options);

/* A line about the pairs, on standard error, and if there are several corpora one a corpus. `corpora` and `counts` are
 * NULL for validation, which skips pairs for its loss alone. */
void corpora_say(const char *name, const Corpora *corpora, const BitextCounts *counts, const BitextCounts *total);

#endif
