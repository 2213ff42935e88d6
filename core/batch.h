/* The ragged batch: the one thing that data (which makes it) and model (which reads it) share. The tokens of the sentences
 * lie end to end; nothing is padded. */
#ifndef FERRY_CORE_BATCH_H
#define FERRY_CORE_BATCH_H

#include <stdint.h>

/* Token numbers below N_SPECIAL are special; no text produces them. */
enum { TOKEN_PAD = 0, TOKEN_BOS = 1, TOKEN_EOS = 2, N_SPECIAL = 3 };

typedef struct Ragged {
    int n_seq;            /* sentences */
    int n_tokens;         /* tokens of all of them: start[n_seq] */
    const int32_t *start; /* [n_seq + 1]: sentence s is token[start[s]] .. token[start[s + 1] - 1] */
    const int32_t *token; /* [n_tokens] */
} Ragged;

/* Sentence pairs for training. Source sentences end in TOKEN_EOS. Targets are shifted by one against their labels:
 * target.token = BOS y1 .. yn, label = y1 .. yn EOS, both [target.n_tokens]. */
typedef struct Batch {
    Ragged source, target;
    const int32_t *label;
} Batch;

#endif
