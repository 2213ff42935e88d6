/* The nearest word: what somebody who mistyped a name may have meant. */
#ifndef FERRY_OPTIONS_NEAREST_H
#define FERRY_OPTIONS_NEAREST_H

#include <stddef.h>

/* Edit distance in bytes: insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
size_t edit_distance(const char *a, const char *b);

/* The most similar of the words that were offered; starts as {.wanted = ...}. */
typedef struct Nearest {
    const char *wanted;
    const char *word; /* NULL as long as none is similar enough to be suggested */
    size_t distance;
} Nearest;

/* Ties go to the first. */
void nearest_offer(Nearest *nearest, const char *word);

#endif
