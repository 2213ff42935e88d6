/* Counting n-grams that two sequences share, for BLEU (of tokens) and chrF (of characters). */
#ifndef FERRY_METRICS_NGRAM_H
#define FERRY_METRICS_NGRAM_H

#include <stddef.h>
#include <stdint.h>

enum { NGRAM_MAX_ORDER = 8 };

/* Add to match[n - 1], for n = 1 .. max_order, the number of n-grams that x [n_x] and y [n_y] have in common, each counted
 * as often as in the one where it is rarer. Sorts the n_x + n_y places: no quadratic time. */
void ngram_add_matches(const uint32_t *x, size_t n_x, const uint32_t *y, size_t n_y, int max_order, uint64_t *match);

/* The same with n sequences y: each n-gram counts at most as often as in the y that has it most often. */
void ngram_add_best_matches(const uint32_t *x, size_t n_x, const uint32_t *const *y, const size_t *n_y, int n, int max_order,
                            uint64_t *match);

/* The number of n-grams in a sequence of `length`. */
uint64_t ngram_count(size_t length, int n);

#endif
