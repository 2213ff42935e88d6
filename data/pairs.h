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

/* Pairs that are handled at once: enough of them for threads that wait for each other on a busy machine, few enough for
 * memory, however long the lines are. Starts as all zeros. */
enum { PAIRS_BLOCK = 1024, PAIRS_BLOCK_BYTES = 1 << 18 };

typedef struct PairBlock {
    Text text;                   /* the lines, source and target in turn */
    size_t end[2 * PAIRS_BLOCK]; /* of each line in the text */
    int n;                       /* pairs */
} PairBlock;

/* The next pairs; 1 some, 0 the end, -1 *error. */
int pairs_next_block(PairReader *reader, PairBlock *block, Error *error);
/* Line i: the source of pair i / 2 if i is even, else its target. Not terminated. */
const char *pairs_line(const PairBlock *block, int i, size_t *n);

/* NULL is allowed. */
void pairs_close(PairReader *reader);

#endif
