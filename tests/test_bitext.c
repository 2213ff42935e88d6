/* Bitext and batches. */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "data/batches.h"
#include "data/bitext.h"
#include "tests/nasty.h"
#include "tests/suites.h"
#include "tests/temp.h"

/* ---- loading ---- */

/* Files with these contents, in a folder of their own, and what loading them gives. */
typedef struct Load {
    Bitext bitext;
    Error error;
    bool good;
} Load;

static Load load(const char *source, const char *target, int max_tokens)
{
    Load result = {.good = false};
    char *folder = temp_folder();
    char *source_path = temp_file(folder, "source", source, strlen(source));
    char *target_path = temp_file(folder, "target", target, strlen(target));
    FileList sources = temp_list(&source_path), targets = temp_list(&target_path);
    Tokenizer *tokenizer = tokenizer_new();
    result.good = bitext_load(&result.bitext, tokenizer, &sources, &targets, max_tokens, &result.error);
    tokenizer_free(tokenizer);
    mem_free(source_path);
    mem_free(target_path);
    temp_remove(folder);
    return result;
}

START_TEST(lines_are_counted_with_the_reason)
{
    /* With bytes as tokens, a word of n letters has n + 1 tokens, and the end token. */
    Load l = load("abc\n \n\nab\n\t\xC2\xA0\nabcde\na\nxyz", "a\nb\n\n\n \nb\nabcdef\nabcd", 6);
    ck_assert_msg(l.good, "%s", l.error.text);
    const BitextCounts *c = &l.bitext.counts;
    ck_assert_int_eq(c->n_lines, 8);
    ck_assert_int_eq(c->n_blank_source, 3);
    ck_assert_int_eq(c->n_blank_target, 1);
    ck_assert_int_eq(c->n_too_long, 2);
    ck_assert_int_eq(c->n_pairs, 2);
    ck_assert_int_eq(c->n_tokens_source, 5 + 5);
    ck_assert_int_eq(c->n_tokens_target, 3 + 6);
    static const int32_t xyz[] = {3 + ' ', 3 + 'x', 3 + 'y', 3 + 'z', TOKEN_EOS};
    static const int32_t abcd[] = {3 + ' ', 3 + 'a', 3 + 'b', 3 + 'c', 3 + 'd'};
    int32_t token[5];
    ck_assert_int_eq(sequences_length(&l.bitext.source, 1), 5);
    sequences_copy(&l.bitext.source, 1, token);
    ck_assert(!memcmp(token, xyz, sizeof xyz));
    ck_assert_int_eq(sequences_length(&l.bitext.target, 1), 5);
    sequences_copy(&l.bitext.target, 1, token);
    ck_assert(!memcmp(token, abcd, sizeof abcd));
    bitext_free(&l.bitext);
}
END_TEST

START_TEST(unequal_counts_are_an_error)
{
    static const char *const contents[] = {"a\nb\nc\n", "a\nb\n", "", "a\nb\nc\nd"};
    static const int n_lines[] = {3, 2, 0, 4};
    for (int s = 0; s < 4; s++)
        for (int t = 0; t < 4; t++) {
            if (s == t) continue;
            Load l = load(contents[s], contents[t], 0);
            char *has_source = mem_format("source has %d lines", n_lines[s]);
            char *has_target = mem_format("target has %d: ", n_lines[t]);
            ck_assert_msg(!l.good && strstr(l.error.text, has_source), "%s", l.error.text);
            ck_assert_msg(!l.good && strstr(l.error.text, has_target), "%s", l.error.text);
            mem_free(has_source);
            mem_free(has_target);
        }
}
END_TEST

START_TEST(no_pair_is_an_error)
{
    Load l = load("", "", 0);
    ck_assert(!l.good && strstr(l.error.text, "no pair"));
    l = load(" \nabcdef\n", "x\nabc\n", 5);
    ck_assert(!l.good && strstr(l.error.text, "1 have a blank source") && strstr(l.error.text, "1 are longer than 5"));
}
END_TEST

START_TEST(lists_of_files)
{
    Error error = {0};
    Bitext bitext, joined;
    Tokenizer *tokenizer = tokenizer_new();
    char *folder = temp_folder();
    Text zipped = {0};
    temp_gzip(&zipped, "three\n", 6);
    char *source_path[] = {temp_file(folder, "a.en", "one\ntwo\n", 8), temp_file(folder, "b.en", zipped.data, zipped.n)};
    char *target_path[] = {temp_file(folder, "a.fr", "un\ndeux", 7), temp_file(folder, "b.fr", "trois\n", 6)};
    char *all_path[2];
    all_path[0] = temp_file(folder, "c.en", "one\ntwo\nthree\n", 14);
    all_path[1] = temp_file(folder, "c.fr", "un\ndeux\ntrois\n", 14);
    FileList source = {.path = source_path, .n = 2}, target = {.path = target_path, .n = 2}, none = {0};
    FileList all_source = temp_list(&all_path[0]), all_target = temp_list(&all_path[1]);
    ck_assert(bitext_load(&bitext, tokenizer, &source, &target, 0, &error));
    ck_assert(bitext_load(&joined, tokenizer, &all_source, &all_target, 0, &error));
    ck_assert_int_eq(bitext.counts.n_pairs, 3);
    ck_assert_uint_eq(bitext_hash(&bitext), bitext_hash(&joined));
    bitext_free(&bitext);
    bitext_free(&joined);
    target.n = 1;
    ck_assert(!bitext_load(&bitext, tokenizer, &source, &target, 0, &error));
    ck_assert(error.code == ERROR_USAGE && strstr(error.text, "2 source files but 1 target"));
    ck_assert(!bitext_load(&bitext, tokenizer, &source, &none, 0, &error) && error.code == ERROR_USAGE);
    char *dash[] = {"-"};
    FileList stdin_list = temp_list(dash);
    ck_assert(!bitext_load(&bitext, tokenizer, &stdin_list, &stdin_list, 0, &error) && error.code == ERROR_USAGE);
    /* A fault in a later file is one of the whole. */
    target.n = 2;
    mem_free(temp_file(folder, "b.en", zipped.data, zipped.n - 1));
    ck_assert(!bitext_load(&bitext, tokenizer, &source, &target, 0, &error) && strstr(error.text, "b.en"));
    for (int i = 0; i < 2; i++) {
        mem_free(source_path[i]);
        mem_free(target_path[i]);
        mem_free(all_path[i]);
    }
    text_free(&zipped);
    tokenizer_free(tokenizer);
    temp_remove(folder);
}
END_TEST

START_TEST(hash_sees_every_change)
{
    static const char *const other[][2] = {
        {"a\nb\nc\n", "x\ny\nw\n"}, {"b\na\nc\n", "x\ny\nz\n"}, {"b\na\nc\n", "y\nx\nz\n"}, {"a\nb\n", "x\ny\n"},
        {"x\ny\nz\n", "a\nb\nc\n"}, {"a\nb\nc\nc\n", "x\ny\nz\nz\n"}, {"a b\nc\nd\n", "x\ny\nz\n"},
        {"a\nb c\nd\n", "x\ny\nz\n"}, {"a\nb\n", "x y\nz\n"}, {"a\nb\n", "x\ny z\n"},
    };
    enum { N = sizeof other / sizeof *other };
    uint64_t hash[N + 1];
    for (int i = 0; i <= N; i++) {
        Load l = i < N ? load(other[i][0], other[i][1], 0) : load(" a\r\nb \nc", "x\ny\nz\n", 0);
        hash[i] = bitext_hash(&l.bitext);
        bitext_free(&l.bitext);
        for (int k = 0; k < i; k++) ck_assert_uint_ne(hash[i], hash[k]);
    }
    Load l = load("a\nb\nc\n", "x\ny\nz\n", 0); /* the same but for blanks */
    ck_assert_uint_eq(bitext_hash(&l.bitext), hash[N]);
    bitext_free(&l.bitext);
}
END_TEST

START_TEST(sequences_of_both_widths)
{
    static const int32_t sizes[] = {300, 65536, 65537, 2000000};
    for (int i = 0; i < 4; i++) {
        RandomStream stream = random_stream(1, RANDOM_TEST, (uint32_t)i, 0);
        Sequences sequences = sequences_new(sizes[i]);
        ck_assert_int_eq(sequences.width, i < 2 ? 2 : 4);
        int32_t token[50], back[50];
        for (int round = 0; round < 2; round++)
            for (uint32_t s = 0; s < 200; s++) {
                uint32_t n = s % 50;
                for (uint32_t k = 0; k < n; k++)
                    token[k] = (int32_t)random_below(&stream, 50 * s + k, (uint32_t)sizes[i]);
                if (n) token[0] = sizes[i] - 1;
                if (!round) sequences_append(&sequences, token, n);
                else {
                    ck_assert_int_eq(sequences_length(&sequences, s), (int)n);
                    sequences_copy(&sequences, s, back);
                    ck_assert(!memcmp(token, back, n * sizeof *token));
                }
            }
        sequences_free(&sequences);
    }
}
END_TEST

/* ---- batches ---- */

/* Pair i is told apart by its first token, 3 + i. */
static Bitext random_bitext(uint32_t n, uint32_t longest)
{
    Bitext bitext = {.source = sequences_new(100000), .target = sequences_new(100000)};
    RandomStream stream = random_stream(2, RANDOM_TEST, n, longest);
    int32_t token[1000];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t n_source = 1 + random_below(&stream, 2 * i, longest);
        uint32_t n_target = 1 + random_below(&stream, 2 * i + 1, longest);
        for (uint32_t k = 0; k < 1000; k++) token[k] = (int32_t)(3 + i + k);
        token[n_source] = TOKEN_EOS;
        sequences_append(&bitext.source, token, n_source + 1);
        token[n_source] = (int32_t)(3 + i + n_source);
        sequences_append(&bitext.target, token, n_target);
    }
    return bitext;
}

static int32_t larger(const Batch *batch)
{
    return batch->source.n_tokens > batch->target.n_tokens ? batch->source.n_tokens : batch->target.n_tokens;
}

/* The batch's sentence s must be pair `pair`, whole. */
static void assert_pair(const Batch *batch, int s, const Bitext *bitext, uint32_t pair)
{
    int32_t token[1001];
    int32_t n_source = sequences_length(&bitext->source, pair), n_target = sequences_length(&bitext->target, pair) + 1;
    const Ragged *source = &batch->source, *target = &batch->target;
    ENSURE(source->start[s + 1] - source->start[s] == n_source, "%u", pair);
    ENSURE(target->start[s + 1] - target->start[s] == n_target, "%u", pair);
    sequences_copy(&bitext->source, pair, token);
    ENSURE(!memcmp(token, source->token + source->start[s], (size_t)n_source * sizeof *token), "%u", pair);
    token[0] = TOKEN_BOS;
    sequences_copy(&bitext->target, pair, token + 1);
    token[n_target] = TOKEN_EOS;
    ENSURE(!memcmp(token, target->token + target->start[s], (size_t)n_target * sizeof *token), "%u", pair);
    ENSURE(!memcmp(token + 1, batch->label + target->start[s], (size_t)n_target * sizeof *token), "%u", pair);
}

START_TEST(an_epoch_is_a_permutation)
{
    static const uint32_t sizes[] = {1, 2, 3, 7, 64, 65, 1000, 29000, 131073};
    for (int i = 0; i < 9; i++) {
        uint32_t n = sizes[i], n_moved = 0;
        unsigned char *seen = mem_zalloc(n);
        for (uint32_t position = 0; position < n; position++) {
            uint32_t pair = batches_permute(5, 1, n, position);
            ENSURE(pair < n && !seen[pair], "%u of %u", position, n);
            seen[pair] = 1;
            n_moved += pair != batches_permute(5, 2, n, position);
        }
        if (n > 10) ENSURE(n_moved > n - 10, "%u of %u", n_moved, n);
        mem_free(seen);
    }
}
END_TEST

START_TEST(permutations_are_uniform)
{
    enum { N_EPOCHS = 24000 };
    int counts[4][4] = {{0}}, orders[256] = {0};
    for (uint32_t epoch = 0; epoch < N_EPOCHS; epoch++) {
        int order = 0;
        for (uint32_t position = 0; position < 4; position++) {
            uint32_t pair = batches_permute(9, epoch, 4, position);
            counts[position][pair]++;
            order = 4 * order + (int)pair;
        }
        orders[order]++;
    }
    for (int i = 0; i < 16; i++) ck_assert_int_lt(abs(counts[i / 4][i % 4] - N_EPOCHS / 4), 400);
    int n_orders = 0;
    for (int i = 0; i < 256; i++) {
        n_orders += orders[i] > 0;
        if (orders[i]) ck_assert_int_lt(abs(orders[i] - N_EPOCHS / 24), 200);
    }
    ck_assert_int_eq(n_orders, 24);
}
END_TEST

START_TEST(the_order_never_changes)
{
    static const uint32_t expected[10] = {20830, 5317, 3327, 8545, 20156, 4968, 22181, 28544, 1700, 2080};
    for (uint32_t position = 0; position < 10; position++)
        ck_assert_uint_eq(batches_permute(42, 3, 29000, position), expected[position]);
}
END_TEST

START_TEST(batches_keep_the_budget)
{
    enum { N = 2000, BUDGET = 150 };
    Bitext bitext = random_bitext(N, 80);
    BatchIterator iterator = {.bitext = &bitext, .seed = 1, .batch_tokens = BUDGET};
    BatchBuffer buffer = {0};
    for (uint32_t epoch = 0; epoch < 3; epoch++) {
        int64_t n_batches = 0, expected = batches_count(&iterator);
        uint32_t position = 0;
        for (; iterator.epoch == epoch; n_batches++) {
            ck_assert_uint_eq(iterator.position, position);
            batches_next(&iterator, &buffer);
            ck_assert_int_le(larger(&buffer.batch), BUDGET);
            ck_assert_int_eq(buffer.batch.source.n_seq, buffer.batch.target.n_seq);
            for (int s = 0; s < buffer.batch.source.n_seq; s++)
                assert_pair(&buffer.batch, s, &bitext, batches_permute(1, epoch, N, position++));
            if (position == N) continue;
            /* The next pair would have been too much. */
            uint32_t pair = batches_permute(1, epoch, N, position);
            ck_assert(buffer.batch.source.n_tokens + sequences_length(&bitext.source, pair) > BUDGET ||
                      buffer.batch.target.n_tokens + sequences_length(&bitext.target, pair) + 1 > BUDGET);
        }
        ck_assert_uint_eq(position, N);
        ck_assert_int_eq(n_batches, expected);
        ck_assert_uint_eq(iterator.position, 0);
    }
    batches_free(&buffer);
    bitext_free(&bitext);
}
END_TEST

START_TEST(batches_go_on_from_anywhere)
{
    Bitext bitext = random_bitext(300, 40);
    BatchIterator iterator = {.bitext = &bitext, .seed = 1234567890123, .batch_tokens = 100};
    BatchBuffer buffer = {0}, again = {0};
    while (iterator.epoch < 3) {
        BatchIterator resumed = {.bitext = &bitext, .seed = 1234567890123, .batch_tokens = 100};
        resumed.epoch = iterator.epoch;
        resumed.position = iterator.position;
        batches_next(&iterator, &buffer);
        batches_next(&resumed, &again);
        const Ragged *a = &buffer.batch.target, *b = &again.batch.target;
        ck_assert(a->n_tokens == b->n_tokens && a->n_seq == b->n_seq);
        ck_assert(!memcmp(a->token, b->token, (size_t)a->n_tokens * sizeof *a->token));
        ck_assert(resumed.epoch == iterator.epoch && resumed.position == iterator.position);
    }
    batches_free(&buffer);
    batches_free(&again);
    bitext_free(&bitext);
}
END_TEST

START_TEST(pairs_larger_than_the_budget)
{
    Bitext bitext = random_bitext(50, 30);
    BatchIterator iterator = {.bitext = &bitext, .seed = 1, .batch_tokens = 10};
    BatchBuffer buffer = {0};
    int n_pairs = 0, n_large = 0;
    while (iterator.epoch == 0) {
        batches_next(&iterator, &buffer);
        n_pairs += buffer.batch.source.n_seq;
        bool large = larger(&buffer.batch) > 10;
        n_large += large;
        ck_assert(!large || buffer.batch.source.n_seq == 1);
    }
    ck_assert_int_eq(n_pairs, 50);
    ck_assert_int_gt(n_large, 10);
    batches_free(&buffer);
    bitext_free(&bitext);
}
END_TEST

START_TEST(batches_in_order)
{
    enum { N = 500, BUDGET = 120 };
    Bitext bitext = random_bitext(N, 60);
    BatchBuffer buffer = {0};
    for (size_t first = 0, next; first < N; first = next) {
        next = batches_fill(&buffer, &bitext, first, BUDGET);
        ck_assert_uint_eq(next - first, (size_t)buffer.batch.source.n_seq);
        ck_assert_int_le(larger(&buffer.batch), BUDGET);
        for (size_t i = first; i < next; i++) assert_pair(&buffer.batch, (int)(i - first), &bitext, (uint32_t)i);
    }
    ck_assert_uint_eq(batches_fill(&buffer, &bitext, 0, INT32_MAX), N);
    ck_assert_uint_eq(batches_fill(&buffer, &bitext, 7, 1), 8); /* at least one */
    batches_free(&buffer);
    bitext_free(&bitext);
}
END_TEST

START_TEST(ragged_batches_in_any_order)
{
    enum { N = 300, BUDGET = 100 };
    Bitext bitext = random_bitext(N, 50);
    sequences_append(&bitext.source, NULL, 0); /* an empty sequence is one, too */
    RaggedBuffer buffer = {0};
    uint32_t order[N];
    int32_t token[100];
    for (uint32_t i = 0; i < N; i++) order[i] = N - i;
    for (int ordered = 0; ordered < 2; ordered++)
        for (size_t first = 0, next; first < N; first = next) {
            next = batches_fill_ragged(&buffer, &bitext.source, ordered ? order : NULL, N, first, BUDGET);
            const Ragged *r = &buffer.ragged;
            ck_assert_int_eq(r->n_seq, (int)(next - first));
            ck_assert(r->n_tokens <= BUDGET && r->start[r->n_seq] == r->n_tokens);
            for (size_t i = first; i < next; i++) {
                size_t s = i - first, sequence = ordered ? order[i] : i;
                int32_t n = sequences_length(&bitext.source, sequence);
                sequences_copy(&bitext.source, sequence, token);
                ck_assert_int_eq(r->start[s + 1] - r->start[s], n);
                ck_assert(!memcmp(token, r->token + r->start[s], (size_t)n * sizeof *token));
            }
        }
    batches_free_ragged(&buffer);
    bitext_free(&bitext);
}
END_TEST

Suite *suite_bitext(void)
{
    Suite *suite = suite_create("bitext");
    TCase *tcase = tcase_create("bitext");
    tcase_add_test(tcase, lines_are_counted_with_the_reason);
    tcase_add_test(tcase, unequal_counts_are_an_error);
    tcase_add_test(tcase, no_pair_is_an_error);
    tcase_add_test(tcase, lists_of_files);
    tcase_add_test(tcase, hash_sees_every_change);
    tcase_add_test(tcase, sequences_of_both_widths);
    tcase_add_test(tcase, an_epoch_is_a_permutation);
    tcase_add_test(tcase, permutations_are_uniform);
    tcase_add_test(tcase, the_order_never_changes);
    tcase_add_test(tcase, batches_keep_the_budget);
    tcase_add_test(tcase, batches_go_on_from_anywhere);
    tcase_add_test(tcase, pairs_larger_than_the_budget);
    tcase_add_test(tcase, batches_in_order);
    tcase_add_test(tcase, ragged_batches_in_any_order);
    suite_add_tcase(suite, tcase);
    return suite;
}
