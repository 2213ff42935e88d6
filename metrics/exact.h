/* Exact match: the share of sentences that are right to the last character is the mean of exact_match over them. */
#ifndef FERRY_METRICS_EXACT_H
#define FERRY_METRICS_EXACT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the two are equal byte for byte, trailing whitespace aside. */
bool exact_match(const char *hypothesis, size_t hypothesis_bytes, const char *reference, size_t reference_bytes);

#endif
