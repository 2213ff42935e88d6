/* Token sequences end to end, two bytes a token if the vocabulary allows it, else four. */
#ifndef FERRY_DATA_SEQUENCES_H
#define FERRY_DATA_SEQUENCES_H

#include <stddef.h>
#include <stdint.h>

typedef struct Sequences {
    int width;           /* bytes a token: 2 or 4 */
    unsigned char *data; /* [start[n]] tokens of `width` bytes, in the byte order of this machine */
    uint64_t *start;     /* [n + 1], in tokens */
    size_t n;            /* sequences */
    size_t data_capacity, start_capacity; /* bytes; elements; 0: lent, and not to be freed here */
} Sequences;

/* Bytes a token for tokens 0 .. vocab_size-1, and an empty array of such sequences. */
int sequences_width(int32_t vocab_size);
Sequences sequences_new(int32_t vocab_size);
void sequences_append(Sequences *sequences, const int32_t *token, size_t n);
/* n tokens as `width` bytes each, to `out`. */
void sequences_pack(int width, const int32_t *token, size_t n, unsigned char *out);
/* The number of tokens of sequence i; and the tokens, to out[that many]. */
int32_t sequences_length(const Sequences *sequences, size_t i);
void sequences_copy(const Sequences *sequences, size_t i, int32_t *out);
void sequences_free(Sequences *sequences);

#endif
