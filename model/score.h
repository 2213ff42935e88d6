/* Forced decoding: how probable given translations are. */
#ifndef FERRY_MODEL_SCORE_H
#define FERRY_MODEL_SCORE_H

#include "model/search.h"

/* The log-probability of each label of the batch under the search's models, to out[target.n_tokens]. To the last bit what
 * search_translate counts for the same tokens. */
void score_batch(Search *search, const Batch *batch, double *out);

#endif
