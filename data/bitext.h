/* Sentence pairs as tokens. */
#ifndef FERRY_DATA_BITEXT_H
#define FERRY_DATA_BITEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "data/pairs.h"
#include "data/sequences.h"
#include "data/tokenizer.h"

/* Which pairs are left out; 0: none. */
typedef struct BitextFilter {
    int max_length;   /* tokens on the longer side, the end token included */
    double max_ratio; /* tokens of the longer side for one of the shorter, without end tokens */
} BitextFilter;

/* What became of the lines: n_lines = n_blank_source + n_blank_target + n_too_long + n_unequal + n_pairs. A line that could
 * count in several places counts in the first. */
typedef struct BitextCounts {
    int64_t n_lines;         /* pairs of lines read */
    int64_t n_blank_source;  /* skipped: nothing but blanks on the source side (or on both) */
    int64_t n_blank_target;  /* skipped: on the target side only */
    int64_t n_too_long;      /* skipped: beyond max_length */
    int64_t n_unequal;       /* skipped: beyond max_ratio */
    int64_t n_pairs;         /* kept */
    int64_t n_tokens_source; /* of the pairs kept, with one end token a sentence */
    int64_t n_tokens_target;
} BitextCounts;

typedef enum BitextSide { BITEXT_SOURCE, BITEXT_TARGET } BitextSide;

/* A part of a bitext: pairs that lie together and come in an epoch equally often. */
typedef struct BitextPart {
    uint32_t n_pairs;
    double weight; /* 2: twice an epoch; 0.25: a quarter of them, other ones in each epoch */
} BitextPart;

/* Made by bitext_load, by hand with the functions below, or lent from files (train/store.h). */
typedef struct Bitext {
    Sequences sides;  /* sequence 2i is the source of pair i and ends in TOKEN_EOS; 2i + 1 its target, without BOS and EOS */
    BitextPart *part; /* [n_parts], in the order of the pairs */
    int n_parts;
    BitextCounts counts;
} Bitext;

/* An empty one for tokens 0 .. vocab_size-1; one more part, empty; one more pair, to the last part: the source with EOS, the
 * target without. `counts` stay as they are. */
Bitext bitext_new(int32_t vocab_size);
void bitext_add_part(Bitext *bitext, double weight);
void bitext_append(Bitext *bitext, const int32_t *source, size_t n_source, const int32_t *target, size_t n_target);

size_t bitext_pairs(const Bitext *bitext);
/* The number of tokens of a side of a pair; and the tokens, to out[that many]. */
int32_t bitext_length(const Bitext *bitext, size_t pair, BitextSide side);
void bitext_copy(const Bitext *bitext, size_t pair, BitextSide side, int32_t *out);

/* ---- reading text ---- */

/* Takes pair after pair, in order: the source with EOS, the target without. False and *error to stop. */
typedef bool BitextTake(void *self, const int32_t *source, size_t n_source, const int32_t *target, size_t n_target,
                        Error *error);

/* Read a corpus, in constant memory; what the filter leaves goes to `take`. Adds to *counts. False and *error if a file
 * can't be read, or `take` says so. */
bool bitext_read(const Corpus *corpus, const Tokenizer *tokenizer, const BitextFilter *filter, BitextTake *take, void *self,
                 BitextCounts *counts, Error *error);

/* Read corpora into memory, a part each. It is an error if no pair is left. Free with bitext_free; after an error there is
 * nothing to free. */
bool bitext_load(Bitext *bitext, const Tokenizer *tokenizer, const Corpus *corpus, int n_corpora, const BitextFilter *filter,
                 Error *error);

void bitext_add_counts(BitextCounts *total, const BitextCounts *counts);
/* False and *error if no pair is left, or too many. */
bool bitext_check(const BitextCounts *counts, const Corpus *corpus, int n_corpora, const BitextFilter *filter, Error *error);

/* Depends on all tokens, the borders between sentences, and their order: another one means other data (or tokenizer). It is
 * 0 for no pair, and that of one pair more for `hash`, that of those before it. */
uint64_t bitext_hash_pair(uint64_t hash, const int32_t *source, size_t n_source, const int32_t *target, size_t n_target);
uint64_t bitext_hash(const Bitext *bitext);
void bitext_free(Bitext *bitext);

#endif
