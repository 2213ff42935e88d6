#include "data/sequences.h"

#include <string.h>

#include "core/error.h"
#include "core/memory.h"

int sequences_width(int32_t vocab_size)
{
    return vocab_size <= UINT16_MAX + 1 ? 2 : 4;
}

Sequences sequences_new(int32_t vocab_size)
{
    Sequences s = {.width = sequences_width(vocab_size)};
    ARRAY_RESERVE(s.start, s.n, s.start_capacity);
    s.start[0] = 0;
    return s;
}

/* Make room for `bytes` more bytes of tokens. */
static void reserve(Sequences *s, size_t used, size_t bytes)
{
    if (bytes <= s->data_capacity - used) return;
    size_t capacity = 2 * s->data_capacity > used + bytes ? 2 * s->data_capacity : used + bytes;
    s->data = mem_resize(s->data, used, capacity);
    s->data_capacity = capacity;
}

void sequences_pack(int width, const int32_t *token, size_t n, unsigned char *out)
{
    for (size_t i = 0; i < n; i++, out += width) {
        uint16_t narrow = (uint16_t)token[i];
        CHECK(token[i] >= 0 && (width == 4 || narrow == token[i]), "token %d", token[i]);
        if (width == 2) memcpy(out, &narrow, 2);
        else memcpy(out, &token[i], 4);
    }
}

void sequences_append(Sequences *s, const int32_t *token, size_t n)
{
    CHECK(n <= INT32_MAX, "%zu tokens", n);
    size_t width = (size_t)s->width, used = s->start[s->n] * width;
    reserve(s, used, n * width);
    if (n) sequences_pack(s->width, token, n, s->data + used);
    ARRAY_RESERVE(s->start, s->n + 1, s->start_capacity);
    s->start[s->n + 1] = s->start[s->n] + n;
    s->n++;
}

int32_t sequences_length(const Sequences *s, size_t i)
{
    return (int32_t)(s->start[i + 1] - s->start[i]);
}

void sequences_copy(const Sequences *s, size_t i, int32_t *out)
{
    size_t first = s->start[i], n = s->start[i + 1] - first;
    if (s->width == 4) {
        if (n) memcpy(out, s->data + 4 * first, 4 * n);
        return;
    }
    for (size_t k = 0; k < n; k++) {
        uint16_t narrow;
        memcpy(&narrow, s->data + 2 * (first + k), 2);
        out[k] = narrow;
    }
}

void sequences_free(Sequences *s)
{
    if (s->data_capacity) mem_free(s->data);
    if (s->start_capacity) mem_free(s->start);
    *s = (Sequences){0};
}
