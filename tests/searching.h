/* What the tests of beam search and of sampling share. Results live in the arena that they are given. */
#ifndef FERRY_TESTS_SEARCHING_H
#define FERRY_TESTS_SEARCHING_H

#include "model/search.h"

/* A random model, frozen. */
Model *searching_model(const ModelConfig *config, uint64_t seed);

/* The translations of `input`, one list a sentence; each step adds one to searching_steps. */
Translation *searching_translate(Arena *arena, Model *const *model, int n_models, const SearchInput *input,
                                 const SearchOptions *options);
extern int searching_steps;

/* The number of translations in a list; do two have the same tokens?; fail the test unless two lists are the same, to the last
 * bit of their scores. */
int searching_length(const Translation *list);
bool searching_same(const Translation *a, const Translation *b);
void searching_assert_same(const Translation *a, const Translation *b);

/* The sum of forced decoding's log-probabilities for each of the list, beside sentence s of `source`. */
double *searching_forced(Arena *arena, Model *const *model, int n_models, const Ragged *source, int s,
                         const Translation *list);

/* All sequences of at most `limit` of the tokens from N_SPECIAL on, as a list in no special order, without scores. */
Translation *searching_all(Arena *arena, int vocab_size, int limit);

#endif
