#include "core/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/error.h"

enum { HUGE_PAGE = 2 << 20 };

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

void *mem_alloc(size_t bytes)
{
    /* Large blocks lie on huge pages where the system has them: fewer page faults, and fewer misses of the address cache. */
    const size_t align = bytes >= 2 * (size_t)HUGE_PAGE ? HUGE_PAGE : MEM_ALIGN;
    void *block = bytes <= SIZE_MAX / 2 ? aligned_alloc(align, round_up(bytes ? bytes : 1, align)) : NULL;
#ifdef MADV_HUGEPAGE
    if (block && align == HUGE_PAGE) madvise(block, bytes, MADV_HUGEPAGE);
#endif
    if (!block) {
        fprintf(stderr,
                "ferry: out of memory: %zu bytes could not be had; use a smaller model or fewer batch_tokens\n",
                bytes);
        exit(ERROR_FAILED);
    }
    return block;
}

void *mem_zalloc(size_t bytes)
{
    return memset(mem_alloc(bytes), 0, bytes);
}

void *mem_resize(void *old, size_t old_bytes, size_t bytes)
{
    void *block = mem_alloc(bytes);
    if (old) memcpy(block, old, old_bytes < bytes ? old_bytes : bytes);
    mem_free(old);
    return block;
}

void mem_free(void *block)
{
    free(block);
}

char *mem_string(const char *text)
{
    size_t bytes = strlen(text) + 1;
    return memcpy(mem_alloc(bytes), text, bytes);
}

char *mem_format(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    CHECK(n >= 0, "format %s", format);
    char *text = mem_alloc((size_t)n + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

/* The header takes one aligned unit; the data follows it. */
struct ArenaBlock {
    ArenaBlock *next;
    size_t size; /* bytes of data */
};

enum { ARENA_FIRST = 1 << 20 };

static char *block_data(ArenaBlock *block)
{
    return (char *)block + MEM_ALIGN;
}

static ArenaBlock *block_new(size_t size)
{
    ArenaBlock *block = mem_alloc(MEM_ALIGN + size);
    *block = (ArenaBlock){.next = NULL, .size = size};
    return block;
}

void *arena_alloc(Arena *arena, size_t bytes)
{
    bytes = round_up(bytes, MEM_ALIGN);
    while (!arena->current || arena->used + bytes > arena->current->size) {
        ArenaBlock *next = arena->current ? arena->current->next : arena->first;
        if (!next) {
            size_t size = arena->current ? 2 * arena->current->size : ARENA_FIRST;
            next = block_new(size > bytes ? size : bytes);
            if (arena->current) arena->current->next = next;
            else arena->first = next;
        }
        arena->before += arena->used;
        arena->current = next;
        arena->used = 0;
    }
    void *data = block_data(arena->current) + arena->used;
    arena->used += bytes;
    if (arena->before + arena->used > arena->peak) arena->peak = arena->before + arena->used;
    return data;
}

void arena_reserve(Arena *arena, size_t bytes)
{
    if (!arena->first) arena->first = block_new(bytes);
}

void *arena_zalloc(Arena *arena, size_t bytes)
{
    return memset(arena_alloc(arena, bytes), 0, bytes);
}

void arena_reset(Arena *arena)
{
    if (arena->first && arena->first->next) {
        size_t peak = arena->peak;
        arena_free(arena);
        arena->first = block_new(peak + peak / 8); /* a little larger: the next step's batch may be */
        arena->peak = peak;
    }
    arena->current = NULL;
    arena->used = arena->before = 0;
}

ArenaMark arena_mark(const Arena *arena)
{
    return (ArenaMark){.block = arena->current, .used = arena->used, .before = arena->before};
}

void arena_release(Arena *arena, ArenaMark mark)
{
    arena->current = mark.block;
    arena->used = mark.used;
    arena->before = mark.before;
}

size_t arena_size(const Arena *arena)
{
    size_t size = 0;
    for (const ArenaBlock *block = arena->first; block; block = block->next) size += block->size;
    return size;
}

void arena_free(Arena *arena)
{
    for (ArenaBlock *block = arena->first, *next; block; block = next) {
        next = block->next;
        mem_free(block);
    }
    *arena = (Arena){0};
}
