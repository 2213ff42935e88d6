/* Scoring: how probable given translations are. */
#ifndef FERRY_TRANSLATE_SCORER_H
#define FERRY_TRANSLATE_SCORER_H

#include "translate/translator.h"

/* What came of one pair. */
typedef struct Scored {
    size_t index;          /* the pair */
    const int32_t *token;  /* [n] the target with its EOS */
    const double *score;   /* [n] log-probabilities of its tokens */
    int n, n_source;       /* tokens of both sides, EOS counted */
    double log_probability; /* the sum, in order */
} Scored;

/* Score target i as a translation of source i, both with EOS. `take` is called with each result, in order. False if the
 * translator's `stop` said so. */
bool scorer_run(Translator *translator, const Sequences *source, const Sequences *target,
                void (*take)(void *context, const Scored *scored), void *context);

#endif
