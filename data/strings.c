#include "data/strings.h"

#include <string.h>

#include "core/error.h"
#include "core/memory.h"

uint64_t strings_hash(const char *bytes, size_t n)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < n; i++) hash = (hash ^ (uint8_t)bytes[i]) * 0x100000001B3u;
    return hash ^ hash >> 29;
}

const char *strings_get(const Strings *strings, int32_t i, size_t *n)
{
    CHECK(i >= 0 && i < strings->n, "string %d of %d", i, strings->n);
    *n = strings->start[i + 1] - strings->start[i];
    return strings->pool.data + strings->start[i];
}

/* The slot that holds the string or where it would go. At least one slot is free. */
static int32_t *find(const Strings *strings, const char *bytes, size_t n)
{
    for (size_t i = strings_hash(bytes, n) & (strings->n_slots - 1);; i = (i + 1) & (strings->n_slots - 1)) {
        int32_t *slot = &strings->slot[i];
        if (*slot < 0) return slot;
        size_t length;
        const char *other = strings_get(strings, *slot, &length);
        if (length == n && !memcmp(other, bytes, n)) return slot;
    }
}

int32_t strings_find(const Strings *strings, const char *bytes, size_t n)
{
    return strings->n ? *find(strings, bytes, n) : -1;
}

static void grow(Strings *strings)
{
    mem_free(strings->slot);
    strings->n_slots = strings->n_slots ? 2 * strings->n_slots : 64;
    strings->slot = mem_alloc(strings->n_slots * sizeof *strings->slot);
    for (size_t i = 0; i < strings->n_slots; i++) strings->slot[i] = -1;
    for (int32_t i = 0; i < strings->n; i++) {
        size_t n;
        const char *bytes = strings_get(strings, i, &n);
        *find(strings, bytes, n) = i;
    }
}

int32_t strings_add(Strings *strings, const char *bytes, size_t n)
{
    if (2 * (size_t)strings->n >= strings->n_slots) grow(strings);
    int32_t *slot = find(strings, bytes, n);
    if (*slot >= 0) return *slot;
    CHECK(strings->n < INT32_MAX, "too many strings");
    ARRAY_RESERVE(strings->start, (size_t)strings->n + 1, strings->start_capacity);
    text_append(&strings->pool, bytes, n);
    strings->start[0] = 0;
    strings->start[strings->n + 1] = strings->pool.n;
    return *slot = strings->n++;
}

void strings_free(Strings *strings)
{
    text_free(&strings->pool);
    mem_free(strings->start);
    mem_free(strings->slot);
    *strings = (Strings){0};
}
