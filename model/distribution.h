/* What the next token may be: the probabilities of all V tokens in each of n rows, by one model, or the means of several. */
#ifndef FERRY_MODEL_DISTRIBUTION_H
#define FERRY_MODEL_DISTRIBUTION_H

#include <stdbool.h>

#include "autograd/tape.h"
#include "text/utf8.h"

typedef struct Distribution {
    int n, n_tokens; /* rows; V */
    int n_models;
    const Tensor **logits;    /* [n_models], each [n, V] */
    const double *normalizer; /* [n_models, n]: the log of the sum of exp of each row */
    /* [n, V], rows `stride` apart: one model's logits, or what the log-probabilities under several are at most */
    const real *bound;
    size_t stride;
} Distribution;

/* From the logits, which must live as long. In the tape's arena, by what computes there. */
Distribution distribution_of(Tape *tape, Tensor *const *logits, int n_models);

/* log p(token) in that row; never above 0, whatever the rounding. */
double distribution_log(const Distribution *distribution, int row, int32_t token);

/* What tokens are ranked by: the logit, or the log-probability under several models. */
real distribution_rank(const Distribution *distribution, int row, int32_t token);

/* Which tokens may come next, so that the text is well-formed UTF-8 and the sentence ends in time. */
typedef struct Constraint {
    const uint8_t *utf8_bytes; /* [V], see SearchOptions; or NULL */
    Utf8State state;           /* of the text so far */
    int room;                  /* tokens that may still come before EOS */
} Constraint;

bool constraint_allows(const Constraint *constraint, int32_t token);

/* The state of the text with this token, too. */
Utf8State constraint_next(const Constraint *constraint, int32_t token);

/* The k allowed tokens of the row that rank highest, best first, of equals the lowest token first, to token[k], and what they
 * are ranked by to rank[k]. Returns how many there are. NaN is never among them. */
int distribution_top(const Distribution *distribution, int row, const Constraint *constraint, int k, int32_t *token,
                     real *rank);

#endif
