/* Drawing the next token. */
#ifndef FERRY_MODEL_SAMPLE_H
#define FERRY_MODEL_SAMPLE_H

#include "model/distribution.h"
#include "model/search.h"

/* A token from the row's distribution as options->temperature, top_k and top_p shape it, given a number `uniform` in [0, 1):
 * allowed tokens only; -1 if there is none. First come the logits divided by the temperature; of these the top_k highest (of
 * equals the lowest token numbers) stay; and of these, renormalized, the fewest most probable ones that have at least top_p.
 * weight[V] and token[V] are scratch. */
int32_t sample_token(const real *row, int n_tokens, const Constraint *constraint, const SearchOptions *options,
                     double uniform, double *weight, int32_t *token);

#endif
