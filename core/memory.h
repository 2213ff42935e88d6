/* Memory in three lifetimes.
 *   heap      mem_alloc / mem_free: what lives as long as its owner (parameters: the whole run).
 *   arena     arena_alloc: what lives for one step; arena_reset forgets it all at once and keeps the memory, so that a step
 *             after the first few calls no malloc.
 *   scratch   arena_mark / arena_release on an arena: what lives until an op returns.
 * Every block is aligned to MEM_ALIGN bytes. Functions that allocate return only if they could: where memory lacks, the
 * innermost mem_run of the thread ends, and whoever called it throws away all that its work had allocated (a scope). */
#ifndef FERRY_CORE_MEMORY_H
#define FERRY_CORE_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { MEM_ALIGN = 64 };

/* ---- lack of memory ---- */

/* What was allocated, and not yet freed, while the scope was the thread's: to be freed at once. Starts as all zeros, and stays
 * where it is. Threads may share one. */
typedef struct MemBlock MemBlock;
typedef struct MemScope {
    MemBlock *newest;
    atomic_flag busy;
} MemScope;

/* Call work(context) with `scope` as this thread's (NULL: none). False if memory lacked: then work was left in its midst,
 * *wanted says for how many bytes, and the scope is to be freed, with all that points into it. It must not be left from
 * within an OpenMP region or a critical section: a worker has a mem_run of its own there, and tells its master. */
bool mem_run(MemScope *scope, void (*work)(void *context), void *context, size_t *wanted);
/* Leave the innermost mem_run: so many bytes could not be had. */
_Noreturn void mem_lacks(size_t bytes);
/* Free all that the scope holds, the newest first. */
void mem_scope_free(MemScope *scope);
/* This thread's scope, or NULL; let it be another one, within the innermost mem_run. Returns the one before. */
MemScope *mem_scope(void);
MemScope *mem_switch(MemScope *scope);

/* What is no memory (a file, a map, another library's object) is part of the scope likewise: freeing the scope calls
 * release(handle), and so does mem_release, which is the ordinary way (NULL is allowed). Where memory lacks for that, the
 * handle is released, too. */
typedef struct MemDeferred MemDeferred;
MemDeferred *mem_defer(void (*release)(void *handle), void *handle);
void mem_release(MemDeferred *deferred);

/* ---- heap ---- */

/* `bytes` bytes (0 is allowed), uninitialized / set to zero. Free with mem_free. Never NULL. */
void *mem_alloc(size_t bytes);
void *mem_zalloc(size_t bytes);
/* Grow or shrink `old` (from these functions, or NULL) to `bytes`; `old_bytes` of it are kept. Never NULL. */
void *mem_resize(void *old, size_t old_bytes, size_t bytes);
/* NULL is allowed. To free a block twice is a bug that is told as one, as far as it shows. */
void mem_free(void *block);
/* A copy of the string; free with mem_free. */
char *mem_string(const char *text);
/* printf into a new string; free with mem_free. */
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Make room for one more element in the growable array `array` of `n` elements with room for `capacity`. */
#define ARRAY_RESERVE(array, n, capacity)                                                                      \
    do {                                                                                                       \
        if ((n) >= (capacity)) {                                                                               \
            size_t reserve_old = (size_t)(capacity) * sizeof *(array);                                         \
            (capacity) = (capacity) ? 2 * (capacity) : 16;                                                     \
            (array) = mem_resize((array), reserve_old, (size_t)(capacity) * sizeof *(array));                  \
        }                                                                                                      \
    } while (0)

typedef struct ArenaBlock ArenaBlock;

typedef struct Arena {
    ArenaBlock *first, *current; /* blocks in the order in which they are filled */
    size_t used;                 /* bytes handed out of `current` */
    size_t before, peak;         /* bytes handed out of the blocks before it; the most that ever was out at once */
} Arena;

typedef struct ArenaMark {
    ArenaBlock *block;
    size_t used, before;
} ArenaMark;

/* An arena starts as all zeros: `Arena arena = {0}`. */
void *arena_alloc(Arena *arena, size_t bytes);
void *arena_zalloc(Arena *arena, size_t bytes);
/* Let a new arena begin with one block of so many bytes, where what it will need is known: else it grows by doubling. */
void arena_reserve(Arena *arena, size_t bytes);
/* Forget all that was handed out; keep memory, as one block, for a little more than ever was out at once. */
void arena_reset(Arena *arena);
ArenaMark arena_mark(const Arena *arena);
/* Forget all that was handed out since the mark. */
void arena_release(Arena *arena, ArenaMark mark);
/* Bytes that the arena holds from the heap. */
size_t arena_size(const Arena *arena);
void arena_free(Arena *arena);

#endif
