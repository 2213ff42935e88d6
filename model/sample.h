/* Drawing the next token. */
#ifndef FERRY_MODEL_SAMPLE_H
#define FERRY_MODEL_SAMPLE_H

#include "model/distribution.h"
#include "model/search.h"

/* Scratch for V tokens. */
typedef struct SampleScratch {
    int32_t *token;
    real *rank;
    double *weight;
} SampleScratch;

/* A token from the row's distribution as options->temperature, top_k and top_p shape it, given a number `uniform` in [0, 1):
 * allowed tokens only; -1 if there is none. First come the logits divided by the temperature; of these the top_k highest (of
 * equals the lowest token numbers) stay; and of these, renormalized, the fewest most probable ones that have at least top_p. */
int32_t sample_token(const Distribution *distribution, int row, const Constraint *constraint, const SearchOptions *options,
                     double uniform, const SampleScratch *scratch);

#endif
