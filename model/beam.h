/* What a search keeps of one sentence, and how it goes on from step to step. Knows no model. */
#ifndef FERRY_MODEL_BEAM_H
#define FERRY_MODEL_BEAM_H

#include "model/distribution.h"
#include "model/search.h"

/* A translation on its way. Its tokens are in its slot's history; the models' caches hold its keys and values likewise. */
typedef struct Hypothesis {
    int slot;
    double log_probability;
    Utf8State state; /* of its text */
} Hypothesis;

/* A slot remembers the tokens whose keys and values the caches still hold for it, also when its hypothesis is gone. */
typedef struct History {
    int32_t *token; /* [limit] */
    int n;          /* positions 0 (BOS) .. n are in the caches; -1: none */
} History;

/* A token that may follow hypothesis live[parent]. */
typedef struct Candidate {
    double log_probability; /* of the hypothesis with the token */
    int parent;
    int32_t token;
} Candidate;

typedef struct Beam {
    int beam_size, n_best, limit; /* limit: tokens before EOS */
    bool no_early_stop;
    const double *norm;       /* [limit + 2]: beam_norm of each length */
    int n_tokens;             /* of each live hypothesis */
    int n_live, n_finished;
    Hypothesis *live, *next; /* [beam_size], best first */
    History *history;        /* [beam_size], by slot */
    bool *taken;             /* [beam_size] slots of the next hypotheses */
    Translation *finished;   /* [beam_size], in the order in which they finished */
    Arena *arena;
} Beam;

/* Positions first .. last - 1 of slot `from` are to be copied to slot `to`. */
typedef struct BeamCopy {
    int from, to, first, last;
} BeamCopy;

/* The divisors of log-probabilities for lengths 0 .. longest, EOS counted; they never decrease. In the arena. */
double *beam_norms(Arena *arena, const SearchOptions *options, int longest);

/* How many hypotheses these options keep of a sentence. */
int beam_size_of(const SearchOptions *options);

/* One hypothesis without tokens. All memory comes from the arena, later, too. */
void beam_begin(Beam *beam, Arena *arena, const SearchOptions *options, int limit, const double *norm);

/* The best of the n candidates (which are sorted) take the places that finished translations leave; those with EOS finish.
 * Writes what is to be copied in the caches to copy[beam_size] and returns how many there are. */
int beam_extend(Beam *beam, const uint8_t *utf8_bytes, Candidate *candidate, int n, BeamCopy *copy);

/* Can no live hypothesis become one of the n_best? Then their list is complete. */
bool beam_decided(const Beam *beam);

/* The n_best finished ones, best first, linked; the best live one as it is, if none has finished. */
Translation beam_best(Beam *beam);

#endif
