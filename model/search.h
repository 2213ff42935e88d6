/* Searches for a translation over the decoder. */
#ifndef FERRY_MODEL_SEARCH_H
#define FERRY_MODEL_SEARCH_H

#include "model/transformer.h"

typedef struct SearchOptions {
    double max_ratio; /* a translation has at most max_ratio * source tokens (without EOS) + max_extra tokens */
    int max_extra;
    /* [V] what each token is to UTF-8: a byte for utf8_next. Tokens that lead to UTF8_BAD are not generated. NULL: all may
     * be, but PAD and BOS. */
    const uint8_t *utf8_bytes;
} SearchOptions;

/* Tokens without BOS and EOS. */
typedef struct Translation {
    int32_t *token; /* [n], in the arena that the search was given */
    int n;
} Translation;

/* State that is worth keeping from batch to batch. Starts as zeros. */
typedef struct Search {
    Tape tape;
    DecoderCache cache;
    int (*stop)(void); /* asked before each step of the search: nonzero to leave it as it is by then; NULL: never */
} Search;

void search_free(Search *search);

/* Greedy search: the most probable token at each step (of equals the one with the lowest number), until EOS or the limit;
 * characters that the limit cut in two are dropped. out[s] is the translation of sentence s of `source`, whose sentences end
 * in EOS; it does not depend on the other sentences. Freeze the model first. */
void search_greedy(Search *search, Model *model, const Ragged *source, const SearchOptions *options, Arena *arena,
                   Translation *out);

/* The most probable token that may follow in `state`; exposed for searches and tests. */
int32_t search_best_token(int n, const real *logits, const uint8_t *utf8_bytes, uint8_t state);

#endif
