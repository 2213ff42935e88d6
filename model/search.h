/* Searches for translations over the decoders of one model, or of several at once (an ensemble: their probabilities are
 * averaged). All sentences of a batch go on in step, one token at a time; only live hypotheses are computed. What comes out
 * for a sentence, to the last bit of its score, depends on nothing but that sentence: not on the batch, not on the threads. */
#ifndef FERRY_MODEL_SEARCH_H
#define FERRY_MODEL_SEARCH_H

#include "model/decoder_cache.h"

/* What a log-probability is divided by, so that long translations are not at a disadvantage; |Y| counts EOS, too. */
typedef enum LengthNorm {
    LENGTH_PLAIN, /* |Y|^penalty */
    LENGTH_GNMT,  /* ((5 + |Y|) / 6)^penalty (Wu et al. 2016, equation 14) */
    LENGTH_NONE,
} LengthNorm;

typedef struct SearchOptions {
    double max_ratio; /* a translation has at most max_ratio * source tokens (without EOS) + max_extra tokens, at least 1 */
    int max_extra;
    /* [V] what each token is to UTF-8: a byte for utf8_next. Tokens that lead to UTF8_BAD are not generated. NULL: all may
     * be, but PAD and BOS. */
    const uint8_t *utf8_bytes;
    int beam_size; /* hypotheses that are kept of each sentence; 1 (and 0) is greedy search */
    int n_best; /* translations of each sentence to return: at most `beam`; 0 means 1 */
    LengthNorm length_norm;
    double length_penalty; /* at least 0 */
    bool no_early_stop;    /* for tests: go on when no hypothesis can win any more */
    bool sample;           /* draw tokens instead of looking for the best; beam and n_best don't count */
    double temperature;    /* of the distribution that is drawn from: logits are divided by it */
    int top_k;             /* draw from the k most probable tokens (0: all) .. */
    double top_p;          /* .. and of these from the fewest that have at least this much of the probability (Holtzman et al.
                            * 2020); 1: all */
    uint64_t seed;
} SearchOptions;

/* A batch to translate. */
typedef struct SearchInput {
    Ragged source;          /* sentences end in EOS */
    const Ragged *prefix;   /* the first tokens of each sentence's translation, which are given; or NULL */
    const int64_t *line;    /* a number for each sentence, which decides what is drawn for it; needed for sampling only */
} SearchInput;

typedef struct Translation Translation;
struct Translation {
    int32_t *token; /* [n], without BOS and EOS, in the arena that the search was given */
    int n;
    double log_probability; /* of all tokens and EOS: the sum of their log-probabilities, in order */
    double score;           /* log_probability / length normalization */
    Translation *next;      /* the next best, or NULL */
};

/* A model that takes part, and its state, which is worth keeping from batch to batch. */
typedef struct SearchModel {
    Model *model;
    Tape tape;
    DecoderCache cache;
} SearchModel;

typedef struct Search {
    int n_models;
    SearchModel *models; /* [n_models] */
    int (*stop)(void *context); /* asked before each step: nonzero to leave translations as they are; NULL: never */
    void *stop_context;
} Search;

/* The models have one vocabulary and outlive the search, which doesn't change them: searches of several threads may share them.
 * Freeze them first. */
void search_init(Search *search, Model *const *model, int n_models);
void search_free(Search *search);

/* Beam search, greedy with a beam of 1, or sampling. out[s] is the best translation of sentence s, with its n_best - 1 next
 * ones, if there are so many. At each step the most probable continuations of a sentence's hypotheses take the places of its
 * beam; one that ends keeps its place for good. The search is over when all have ended, or when none can win any more; at the
 * limit only EOS may follow. So a beam of 1 takes the most probable token until that is EOS. Of equals, the one that finished
 * first, then the one with the better parent, then the lower token number wins. */
void search_translate(Search *search, const SearchInput *input, const SearchOptions *options, Arena *arena, Translation *out);

#endif
