/* A hash table from 64-bit keys to 64-bit numbers. */
#ifndef FERRY_DATA_MAP_H
#define FERRY_DATA_MAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct MapSlot {
    uint64_t key;
    int64_t value;
} MapSlot;

/* Starts as all zeros. The key MAP_NO_KEY can't be stored. */
typedef struct Map {
    MapSlot *slot;
    size_t n, n_slots; /* n_slots is a power of two */
} Map;

#define MAP_NO_KEY UINT64_MAX

/* The value of the key, or `missing`. */
int64_t map_get(const Map *map, uint64_t key, int64_t missing);
/* Where the value of the key is kept; a new key has value 0. Valid until the next call. */
int64_t *map_at(Map *map, uint64_t key);
void map_free(Map *map);

#endif
