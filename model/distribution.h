/* What the next token may be: the log-probabilities of all V tokens in each of n rows, of one model or of several. */
#ifndef FERRY_MODEL_DISTRIBUTION_H
#define FERRY_MODEL_DISTRIBUTION_H

#include <stdbool.h>

#include "autograd/tape.h"
#include "core/utf8.h"

typedef struct Distribution {
    int n, n_tokens; /* rows; V */
    const real *row; /* [n, V], rows `stride` apart: logits */
    size_t stride;
    const double *normalizer; /* [n]: a row's log of the sum of exp */
} Distribution;

/* From the logits, [n, V], of one model; or of several, whose probabilities are averaged. In the arena; one model's logits
 * must live as long. */
Distribution distribution_of(Arena *arena, Tensor *const *logits, int n_models);

/* log p(token) in that row; never above 0, whatever the rounding. */
double distribution_log(const Distribution *distribution, int row, int32_t token);

/* Which tokens may come next, so that the text is well-formed UTF-8 and the sentence ends in time. */
typedef struct Constraint {
    const uint8_t *utf8_bytes; /* [V], see SearchOptions; or NULL */
    Utf8State state;           /* of the text so far */
    int room;                  /* tokens that may still come before EOS */
} Constraint;

bool constraint_allows(const Constraint *constraint, int32_t token);

/* The state of the text with this token, too. */
Utf8State constraint_next(const Constraint *constraint, int32_t token);

/* The k allowed tokens with the highest logits of the V in `row`, highest first, of equals the lowest token first, to
 * token[k]. Returns how many there are. NaN is never among them. */
int distribution_top(const real *row, int n_tokens, const Constraint *constraint, int k, int32_t *token);

#endif
