#include "core/memory.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/error.h"
#include "core/width.h" /* refuses to be compiled where pointers are narrow */

enum { HUGE_PAGE = 2 << 20 };

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* What lies before each block, in one aligned unit. */
struct MemBlock {
    MemScope *scope; /* NULL: none */
    MemBlock *before, *next;
    void (*release)(void *handle); /* of mem_defer; the handle is what the block holds */
    volatile uint64_t mark;        /* volatile: else compilers leave out what is written just before free() */
};

_Static_assert(sizeof(MemBlock) <= MEM_ALIGN, "the header of a block has one aligned unit");

#define MARK_IN_USE 0x5AFE5AFE5AFE5AFEu
#define MARK_FREED  0xDEADDEADDEADDEADu

/* A run of mem_run: where to go on when memory lacks. */
typedef struct MemGuard {
    jmp_buf lacking;
    MemScope *scope;
    size_t wanted;
    struct MemGuard *outer;
} MemGuard;

static _Thread_local MemGuard *guard;

/* Of a block that is freed already, memory most often still says so. Its scope's list would be followed to nowhere. */
static MemBlock *header_of(void *block)
{
    MemBlock *header = (MemBlock *)((char *)block - MEM_ALIGN);
    const uint64_t mark = header->mark;
    CHECK(mark == MARK_IN_USE, "%s",
          mark == MARK_FREED ? "this block has been freed already" : "this is no block of mem_alloc");
    return header;
}

static void *data_of(MemBlock *header)
{
    return (char *)header + MEM_ALIGN;
}

static void lock(MemScope *scope)
{
    while (atomic_flag_test_and_set_explicit(&scope->busy, memory_order_acquire)) sched_yield();
}

static void unlock(MemScope *scope)
{
    atomic_flag_clear_explicit(&scope->busy, memory_order_release);
}

static void put_in(MemScope *scope, MemBlock *block)
{
    lock(scope);
    block->next = scope->newest;
    if (block->next) block->next->before = block;
    scope->newest = block;
    unlock(scope);
}

static void take_out(MemScope *scope, MemBlock *block)
{
    lock(scope);
    if (block->before) block->before->next = block->next;
    else scope->newest = block->next;
    if (block->next) block->next->before = block->before;
    unlock(scope);
}

void mem_scope_free(MemScope *scope)
{
    for (MemBlock *block = scope->newest, *next; block; block = next) {
        next = block->next;
        if (block->release) block->release(*(void **)data_of(block));
        block->mark = MARK_FREED;
        free(block);
    }
    scope->newest = NULL;
}

bool mem_run(MemScope *scope, void (*work)(void *context), void *context, size_t *wanted)
{
    MemGuard own = {.scope = scope, .outer = guard};
    guard = &own;
    const bool done = setjmp(own.lacking) == 0;
    if (done) work(context);
    guard = own.outer;
    if (!done) *wanted = own.wanted;
    return done;
}

void mem_lacks(size_t bytes)
{
    CHECK(guard, "%zu bytes of memory could not be had, and nobody is told (mem_run)", bytes);
    guard->wanted = bytes;
    longjmp(guard->lacking, 1);
}

MemScope *mem_scope(void)
{
    return guard ? guard->scope : NULL;
}

MemScope *mem_switch(MemScope *scope)
{
    CHECK(guard, "no mem_run");
    MemScope *old = guard->scope;
    guard->scope = scope;
    return old;
}

/* NULL where memory lacks. */
static void *try_alloc(size_t bytes)
{
    /* Large blocks lie on huge pages where the system has them: fewer page faults, and fewer misses of the address cache. */
    const size_t align = bytes >= 2 * (size_t)HUGE_PAGE ? HUGE_PAGE : MEM_ALIGN;
    MemBlock *block = bytes <= SIZE_MAX / 2 ? aligned_alloc(align, round_up(MEM_ALIGN + (bytes ? bytes : 1), align)) : NULL;
    if (!block) return NULL;
#ifdef MADV_HUGEPAGE
    if (align == HUGE_PAGE) madvise(block, bytes, MADV_HUGEPAGE);
#endif
    *block = (MemBlock){.scope = mem_scope(), .mark = MARK_IN_USE};
    if (block->scope) put_in(block->scope, block);
    return data_of(block);
}

void *mem_alloc(size_t bytes)
{
    void *block = try_alloc(bytes);
    if (!block) mem_lacks(bytes);
    return block;
}

void *mem_zalloc(size_t bytes)
{
    return memset(mem_alloc(bytes), 0, bytes);
}

void *mem_resize(void *old, size_t old_bytes, size_t bytes)
{
    /* What grows stays in its scope, whoever lets it grow. */
    MemScope *own = old ? header_of(old)->scope : NULL, *present = own && guard ? mem_switch(own) : NULL;
    void *block = mem_alloc(bytes);
    if (own && guard) mem_switch(present);
    if (old) memcpy(block, old, old_bytes < bytes ? old_bytes : bytes);
    mem_free(old);
    return block;
}

void mem_free(void *block)
{
    if (!block) return;
    MemBlock *header = header_of(block);
    if (header->scope) take_out(header->scope, header);
    header->mark = MARK_FREED;
    free(header);
}

MemDeferred *mem_defer(void (*release)(void *handle), void *handle)
{
    void **held = try_alloc(sizeof *held);
    if (!held) {
        release(handle);
        mem_lacks(sizeof *held);
    }
    *held = handle;
    header_of(held)->release = release;
    return (MemDeferred *)held;
}

void mem_release(MemDeferred *deferred)
{
    if (!deferred) return;
    void (*release)(void *handle) = header_of(deferred)->release;
    void *handle = *(void **)deferred;
    mem_free(deferred);
    release(handle);
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
