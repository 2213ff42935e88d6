/* Pairs of lines: two files side by side, or one file whose lines have both sides, separated by a tab. */
#ifndef FERRY_DATA_PAIRS_H
#define FERRY_DATA_PAIRS_H

#include <stdint.h>

#include "data/lines.h"

/* A parallel text. */
typedef struct Corpus {
    char *source, *target; /* file names; target NULL: `source` is a file of lines SOURCE tab TARGET */
    double weight;         /* how often its pairs come in an epoch */
} Corpus;

/* The two sides of a pair; not terminated, valid until the next call. */
typedef struct LinePair {
    const char *source, *target;
    size_t n_source, n_target;
} LinePair;

typedef struct PairReader PairReader;

/* NULL and *error if a file can't be opened. */
PairReader *pairs_open(const Corpus *corpus, Error *error);

/* The next pair: 1 a pair, 0 the end, -1 *error: a file can't be read; the two files have different numbers of lines (the
 * message has both counts); a line that isn't blank lacks its tab. What follows a second tab is ignored. */
int pairs_next(PairReader *reader, LinePair *pair, Error *error);

/* NULL is allowed. */
void pairs_close(PairReader *reader);

#endif
