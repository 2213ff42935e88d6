/* core: memory, random bits, errors. */
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/random.h"
#include "tests/suites.h"
#include "text/utf8.h"

START_TEST(philox_known_answers)
{
    /* The known-answer vectors that Random123 publishes for philox4x32, 10 rounds. */
    uint32_t out[4];
    RandomStream zeros = {.key = {0, 0}, .place = {0, 0}};
    random_block(&zeros, 0, out);
    ck_assert_uint_eq(out[0], 0x6627e8d5);
    ck_assert_uint_eq(out[1], 0xe169c58d);
    ck_assert_uint_eq(out[2], 0xbc57ac4c);
    ck_assert_uint_eq(out[3], 0x9b00dbd8);
    RandomStream ones = {.key = {0xffffffff, 0xffffffff}, .place = {0xffffffff, 0xffffffff}};
    random_block(&ones, UINT64_MAX, out);
    ck_assert_uint_eq(out[0], 0x408f276d);
    ck_assert_uint_eq(out[1], 0x41c83b0e);
    ck_assert_uint_eq(out[2], 0xa20bc7c6);
    ck_assert_uint_eq(out[3], 0x6d5451fd);
}
END_TEST

START_TEST(random_moments)
{
    RandomStream stream = random_stream(1, RANDOM_TEST, 0, 0);
    double sum = 0, squares = 0, uniform = 0;
    int n = 100000, counts[7] = {0};
    for (int i = 0; i < n; i++) {
        double z = random_normal(&stream, (uint64_t)i);
        sum += z;
        squares += z * z;
        uniform += random_uniform(&stream, (uint64_t)i);
        counts[random_below(&stream, (uint64_t)i, 7)]++;
    }
    ck_assert(fabs(sum / n) < 0.02 && fabs(squares / n - 1) < 0.02 && fabs(uniform / n - 0.5) < 0.005);
    for (int i = 0; i < 7; i++) ck_assert_int_lt(abs(counts[i] - n / 7), 500);
}
END_TEST

START_TEST(a_reserved_arena_does_not_grow)
{
    Arena arena = {0};
    arena_reserve(&arena, 10 << 20);
    const size_t size = arena_size(&arena);
    ck_assert_uint_ge(size, 10 << 20);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 10; i++) memset(arena_alloc(&arena, 1 << 20), i, 1 << 20);
        ck_assert_uint_eq(arena_size(&arena), size);
        arena_reset(&arena);
    }
    arena_free(&arena);
}
END_TEST

START_TEST(arena_keeps_its_memory)
{
    Arena arena = {0};
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++) {
            char *block = arena_alloc(&arena, 50000);
            ck_assert_uint_eq((uintptr_t)block % MEM_ALIGN, 0);
            memset(block, i, 50000);
        }
        size_t size = arena_size(&arena);
        ArenaMark mark = arena_mark(&arena);
        char *scratch = arena_alloc(&arena, 100);
        arena_release(&arena, mark);
        ck_assert_ptr_eq(scratch, arena_alloc(&arena, 100));
        if (round) ck_assert_uint_eq(size, arena_size(&arena));
        arena_reset(&arena);
    }
    arena_free(&arena);
}
END_TEST

START_TEST(errors_take_context)
{
    Error error = {0};
    ck_assert(!error_usage(&error, "line %d: bad", 3));
    ck_assert(!error_context(&error, "%s", "a.ini"));
    ck_assert_str_eq(error.text, "a.ini: line 3: bad");
    ck_assert_int_eq(error.code, ERROR_USAGE);
}
END_TEST

/* However long what it quotes, a message says where it happened and what to do; characters stay whole. */
START_TEST(long_errors_lose_their_middle)
{
    for (size_t n = 1000; n < 1010; n++) {
        Error error = {0};
        char *quoted = mem_zalloc(3 * n + 2);
        for (size_t i = 0; i < n; i++) memcpy(quoted + 3 * i, "\xE2\x82\xAC", 3);
        error_usage(&error, "'%.*s%s' is too long; shorten it", (int)(n % 3), "yy", quoted);
        error_context(&error, "a.ini:%d", 7);
        ck_assert_ptr_eq(strstr(error.text, "a.ini:7: '"), error.text);
        const char *end = strstr(error.text, "' is too long; shorten it");
        ck_assert(end && strlen(end) == strlen("' is too long; shorten it"));
        ck_assert_uint_gt(strlen(error.text), sizeof error.text - 8);
        for (size_t i = 0, length; error.text[i]; i += length) {
            int32_t code;
            length = utf8_decode(error.text + i, strlen(error.text + i), &code);
            ck_assert_int_ge(code, 0);
        }
        mem_free(quoted);
    }
}
END_TEST

static int n_released;

static void release(void *handle)
{
    (void)handle;
    n_released++;
}

static void lack(void *context)
{
    MemScope *outside = context;
    char *grows = mem_alloc(100);
    mem_defer(release, grows);
    mem_release(mem_defer(release, grows));
    mem_free(mem_alloc(100));
    mem_resize(grows, 100, 1000);
    ck_assert_int_eq(n_released, 1);
    MemScope *inside = mem_switch(outside);
    mem_alloc(100);
    mem_switch(inside);
    mem_alloc(SIZE_MAX / 4);
    ck_abort_msg("there is no such memory");
}

/* Lack of memory comes back to mem_run; the scope then frees what was allocated, and that alone. */
START_TEST(lack_of_memory_comes_back)
{
    MemScope scope = {0}, outside = {0};
    size_t wanted = 0;
    ck_assert(!mem_run(&scope, lack, &outside, &wanted));
    ck_assert_uint_eq(wanted, SIZE_MAX / 4);
    ck_assert_ptr_null(mem_scope());
    ck_assert(scope.newest && outside.newest);
    mem_scope_free(&scope);
    ck_assert_int_eq(n_released, 2);
    ck_assert(!scope.newest && outside.newest);
    mem_scope_free(&outside);
}
END_TEST

/* A block that is freed twice is found out, whether its scope or none holds it; it used to be waited for without end. (Where
 * AddressSanitizer is, it tells by itself, and in another way.) */
#ifndef __SANITIZE_ADDRESS__
static void free_twice(void *context)
{
    (void)context;
    void *block = mem_alloc(100);
    mem_free(mem_alloc(100));
    mem_free(block);
    mem_free(block);
}

START_TEST(freeing_twice_is_told)
{
    MemScope scope = {0};
    size_t wanted;
    if (_i) mem_run(&scope, free_twice, NULL, &wanted);
    else free_twice(NULL);
}
END_TEST

static void take(void *context)
{
    void **block = context;
    *block = mem_alloc(100);
}

START_TEST(freeing_what_its_scope_has_freed_is_told)
{
    MemScope scope = {0};
    size_t wanted;
    void *block;
    ck_assert(mem_run(&scope, take, &block, &wanted));
    mem_scope_free(&scope);
    mem_resize(block, 100, 200);
}
END_TEST

START_TEST(freeing_what_was_never_allocated_is_told)
{
    static _Alignas(MEM_ALIGN) char no_block[2 * MEM_ALIGN];
    mem_free(no_block + MEM_ALIGN);
}
END_TEST
#endif

Suite *suite_core(void)
{
    Suite *suite = suite_create("core");
    TCase *tcase = tcase_create("core");
    tcase_add_test(tcase, philox_known_answers);
    tcase_add_test(tcase, random_moments);
    tcase_add_test(tcase, arena_keeps_its_memory);
    tcase_add_test(tcase, a_reserved_arena_does_not_grow);
    tcase_add_test(tcase, lack_of_memory_comes_back);
    tcase_add_test(tcase, errors_take_context);
    tcase_add_test(tcase, long_errors_lose_their_middle);
#ifndef __SANITIZE_ADDRESS__
    tcase_add_loop_test_raise_signal(tcase, freeing_twice_is_told, SIGABRT, 0, 2);
    tcase_add_test_raise_signal(tcase, freeing_what_its_scope_has_freed_is_told, SIGABRT);
    tcase_add_test_raise_signal(tcase, freeing_what_was_never_allocated_is_told, SIGABRT);
#endif
    suite_add_tcase(suite, tcase);
    return suite;
}
