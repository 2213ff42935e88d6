/* Batches by token budget. `batch_tokens` bounds the larger of the two sides' token counts, end tokens included; a pair
 * larger than that is a batch of its own. */
#ifndef FERRY_DATA_BATCHES_H
#define FERRY_DATA_BATCHES_H

#include <stdint.h>

#include "core/batch.h"
#include "data/bitext.h"

/* A ragged batch that owns its arrays and reuses them. Starts as all zeros. */
typedef struct RaggedBuffer {
    Ragged ragged; /* points into the arrays below */
    int32_t *start, *token;
    int32_t start_capacity, token_capacity;
} RaggedBuffer;

/* The same for sentence pairs. A caller that accumulates gradients over N batches keeps N of them. */
typedef struct BatchBuffer {
    Batch batch;
    RaggedBuffer source, target;
    int32_t *label;
    int32_t label_capacity;
    /* of the last pair under BPE-dropout: a side as it was, and its text; both sides encoded again */
    int32_t *whole;
    int32_t whole_capacity;
    Text text;
    Tokens again[2];
} BatchBuffer;

void batches_free(BatchBuffer *buffer);
void batches_free_ragged(RaggedBuffer *buffer);

/* ---- training: random order ---- */

/* A place in the endless sequence of batches. All of its state are the two numbers epoch and position: store them, set them
 * again, and the batches go on exactly. */
typedef struct BatchIterator {
    const Bitext *bitext;
    uint64_t seed;
    int32_t batch_tokens;
    /* BPE-dropout, if this isn't 0: each time that a pair comes its words are merged anew, as a pure function of (seed, epoch,
     * position); a pair that would be longer than max_length on a side then stays as it is. */
    double bpe_dropout;
    const Tokenizer *tokenizer; /* of the tokens; not used without BPE-dropout */
    int32_t max_length;
    uint32_t epoch;    /* from 0 */
    uint32_t position; /* pairs of the epoch already handed out, < batches_epoch_pairs */
} BatchIterator;

/* The next batch, into `buffer`; its `batch` stays valid until the buffer is filled again. After the last batch of an epoch
 * (which may be small) the iterator stands at position 0 of the next. The order of an epoch is a random permutation of its
 * pairs, a pure function of (seed, epoch, numbers of pairs, weights); pairs are taken in that order until the next one would
 * overflow the budget. */
void batches_next(BatchIterator *iterator, BatchBuffer *buffer);

/* The number of pairs of an epoch: of each part of the bitext, its weight times its pairs, rounded, at least one. */
uint64_t batches_epoch_pairs(const Bitext *bitext);

/* What the batches depend on besides seed and budget: `hash`, that of the bitext, and where weights differ from 1 also the
 * numbers of pairs of its parts. */
uint64_t batches_hash(const Bitext *bitext, uint64_t hash);

/* The pair at `position` of the epoch. A part of n pairs whose weight is w comes floor(w) times, and then a share of
 * (w - floor(w)) n of its pairs: those that follow in a random order of the part which goes round from epoch to epoch, so
 * that all of its pairs come equally often in the long run. */
uint32_t batches_pair(const BatchIterator *iterator, uint32_t position);

/* The pair (0 .. n-1) at `position` (< n) of the epoch's order. Takes no memory and about 0.3 microseconds. */
uint32_t batches_permute(uint64_t seed, uint32_t epoch, uint32_t n, uint32_t position);

/* ---- validation and translation: given order ---- */

/* Pairs first, first + 1, .. into `buffer`, as many as the budget takes, at least one (first < n_pairs). Returns the pair
 * after the last. */
size_t batches_fill(BatchBuffer *buffer, const Bitext *bitext, size_t first, int32_t batch_tokens);

/* The same for one side: sequences order[first], order[first + 1], .. (order NULL: first, first + 1, ..) of the n in
 * `order`. */
size_t batches_fill_ragged(RaggedBuffer *buffer, const Sequences *sequences, const uint32_t *order, size_t n, size_t first,
                           int32_t batch_tokens);

#endif
