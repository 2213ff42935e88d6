/* Sentence pairs as tokens, in memory. */
#ifndef FERRY_DATA_BITEXT_H
#define FERRY_DATA_BITEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "data/lines.h"
#include "data/sequences.h"
#include "data/tokenizer.h"

/* What became of the lines: n_lines = n_blank_source + n_blank_target + n_too_long + n_pairs. */
typedef struct BitextCounts {
    int64_t n_lines;         /* pairs of lines read */
    int64_t n_blank_source;  /* skipped: nothing but blanks on the source side (or on both) */
    int64_t n_blank_target;  /* skipped: on the target side only */
    int64_t n_too_long;      /* skipped: more than max_tokens on a side, the end token included */
    int64_t n_pairs;         /* kept */
    int64_t n_tokens_source; /* of the pairs kept, with one end token a sentence */
    int64_t n_tokens_target;
} BitextCounts;

typedef struct Bitext {
    Sequences source; /* each ends in TOKEN_EOS */
    Sequences target; /* neither BOS nor EOS: batches add them */
    BitextCounts counts;
} Bitext;

/* Read pairs, file i of `source` with file i of `target`, line by line. It is an error if the lists or the files of a pair
 * differ in length (the message has both counts), a file can't be read, or no pair is left. max_tokens: longest side, end
 * token included; 0: no limit. Free with bitext_free; after an error there is nothing to free. */
bool bitext_load(Bitext *bitext, const Tokenizer *tokenizer, const FileList *source, const FileList *target, int max_tokens,
                 Error *error);

/* Depends on all tokens, the borders between sentences, and their order: another one means other data (or tokenizer). */
uint64_t bitext_hash(const Bitext *bitext);
void bitext_free(Bitext *bitext);

#endif
