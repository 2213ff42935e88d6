/* A set of strings, which may hold any byte, numbered from 0 in the order in which they came. */
#ifndef FERRY_DATA_STRINGS_H
#define FERRY_DATA_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "text/text.h"

/* Starts as all zeros. */
typedef struct Strings {
    Text pool;     /* the strings end to end */
    size_t *start; /* [n + 1]: string i is pool[start[i]] .. pool[start[i + 1] - 1] */
    int32_t *slot; /* [n_slots]: numbers by hash, -1 where free; n_slots is a power of two */
    int32_t n;
    size_t n_slots, start_capacity;
} Strings;

/* The number of the string, or -1. */
int32_t strings_find(const Strings *strings, const char *bytes, size_t n);
/* The number of the string, which is added if it is new: then it is the old strings->n. */
int32_t strings_add(Strings *strings, const char *bytes, size_t n);
/* String number i; valid until the next one is added. */
const char *strings_get(const Strings *strings, int32_t i, size_t *n);
void strings_free(Strings *strings);

/* The hash that is used: FNV-1a, 64 bits, its upper bits folded in. */
uint64_t strings_hash(const char *bytes, size_t n);

#endif
