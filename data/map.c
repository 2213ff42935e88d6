#include "data/map.h"

#include "core/memory.h"

/* The finalizer of MurmurHash3: every bit of the key reaches every bit of the result. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xFF51AFD7ED558CCDu;
    x ^= x >> 33;
    x *= 0xC4CEB9FE1A85EC53u;
    return x ^ x >> 33;
}

/* The slot that holds the key or where it would go. At least one slot is free. */
static MapSlot *find(const Map *map, uint64_t key)
{
    size_t i = mix(key) & (map->n_slots - 1);
    while (map->slot[i].key != key && map->slot[i].key != MAP_NO_KEY) i = (i + 1) & (map->n_slots - 1);
    return &map->slot[i];
}

int64_t map_get(const Map *map, uint64_t key, int64_t missing)
{
    if (!map->n) return missing;
    const MapSlot *slot = find(map, key);
    return slot->key == key ? slot->value : missing;
}

static void grow(Map *map)
{
    Map old = *map;
    map->n_slots = old.n_slots ? 2 * old.n_slots : 64;
    map->slot = mem_alloc(map->n_slots * sizeof *map->slot);
    for (size_t i = 0; i < map->n_slots; i++) map->slot[i].key = MAP_NO_KEY;
    for (size_t i = 0; i < old.n_slots; i++)
        if (old.slot[i].key != MAP_NO_KEY) *find(map, old.slot[i].key) = old.slot[i];
    mem_free(old.slot);
}

int64_t *map_at(Map *map, uint64_t key)
{
    if (2 * map->n >= map->n_slots) grow(map);
    MapSlot *slot = find(map, key);
    if (slot->key == MAP_NO_KEY) {
        *slot = (MapSlot){.key = key, .value = 0};
        map->n++;
    }
    return &slot->value;
}

void map_free(Map *map)
{
    mem_free(map->slot);
    *map = (Map){0};
}
