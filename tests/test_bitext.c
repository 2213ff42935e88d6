/* Bitext: loading parallel text, and its tokens. */
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "core/threads.h"
#include "data/bitext.h"
#include "tests/nasty.h"
#include "tests/suites.h"
#include "tests/temp.h"

/* Files with these contents, in a folder of their own, and what loading them gives. */
typedef struct Load {
    Bitext bitext;
    Error error;
    bool good;
} Load;

static Load load_filtered(const char *source, const char *target, BitextFilter filter)
{
    Load result = {.good = false};
    char *folder = temp_folder();
    char *source_path = temp_file(folder, "source", source, strlen(source));
    char *target_path = temp_file(folder, "target", target, strlen(target));
    const Corpus corpus = {.source = source_path, .target = target_path, .weight = 1};
    Tokenizer *tokenizer = tokenizer_new();
    result.good = bitext_load(&result.bitext, tokenizer, &corpus, 1, &filter, &result.error);
    tokenizer_free(tokenizer);
    mem_free(source_path);
    mem_free(target_path);
    temp_remove(folder);
    return result;
}

static Load load(const char *source, const char *target, int max_length)
{
    return load_filtered(source, target, (BitextFilter){.max_length = max_length});
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
    ck_assert_int_eq(bitext_length(&l.bitext, 1, BITEXT_SOURCE), 5);
    bitext_copy(&l.bitext, 1, BITEXT_SOURCE, token);
    ck_assert(!memcmp(token, xyz, sizeof xyz));
    ck_assert_int_eq(bitext_length(&l.bitext, 1, BITEXT_TARGET), 5);
    bitext_copy(&l.bitext, 1, BITEXT_TARGET, token);
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
    ck_assert(!l.good && strstr(l.error.text, "there is no text"));
    l = load(" \nabcdef\n", "x\nabc\n", 5);
    ck_assert(!l.good && strstr(l.error.text, "1 with a blank source") && strstr(l.error.text, "1 with more than 5 tokens"));
}
END_TEST

START_TEST(pairs_of_unequal_length_are_counted)
{
    /* 2:2, 2:4, 2:5, 5:2, 4:2 tokens */
    Load l = load_filtered("a\na\na\nabcd\nabc\n", "b\nbcd\nbcde\nb\nb\n", (BitextFilter){.max_ratio = 2});
    ck_assert_msg(l.good, "%s", l.error.text);
    ck_assert_int_eq(l.bitext.counts.n_unequal, 2);
    ck_assert_int_eq(l.bitext.counts.n_pairs, 3);
    ck_assert_int_eq(bitext_length(&l.bitext, 1, BITEXT_TARGET), 4);
    ck_assert_int_eq(bitext_length(&l.bitext, 2, BITEXT_SOURCE), 5);
    bitext_free(&l.bitext);
}
END_TEST

START_TEST(several_corpora)
{
    Error error = {0};
    Bitext bitext, joined;
    const BitextFilter all = {0};
    Tokenizer *tokenizer = tokenizer_new();
    char *folder = temp_folder();
    Text zipped = {0};
    temp_gzip(&zipped, "three\n", 6);
    Corpus two[] = {{temp_file(folder, "a.en", "one\ntwo\n", 8), temp_file(folder, "a.fr", "un\ndeux", 7), 1},
                    {temp_file(folder, "b.en", zipped.data, zipped.n), temp_file(folder, "b.fr", "trois\n", 6), 0.5}};
    Corpus one = {temp_file(folder, "c.en", "one\ntwo\nthree\n", 14), temp_file(folder, "c.fr", "un\ndeux\ntrois\n", 14), 1};
    ck_assert(bitext_load(&bitext, tokenizer, two, 2, &all, &error));
    ck_assert(bitext_load(&joined, tokenizer, &one, 1, &all, &error));
    ck_assert_int_eq(bitext.counts.n_pairs, 3);
    ck_assert_int_eq(bitext.n_parts, 2);
    ck_assert(bitext.part[0].n_pairs == 2 && bitext.part[0].weight == 1);
    ck_assert(bitext.part[1].n_pairs == 1 && bitext.part[1].weight == 0.5);
    ck_assert_uint_eq(bitext_hash(&bitext), bitext_hash(&joined));
    bitext_free(&bitext);
    bitext_free(&joined);
    /* A fault in a later file is one of the whole. */
    mem_free(temp_file(folder, "b.en", zipped.data, zipped.n - 1));
    ck_assert(!bitext_load(&bitext, tokenizer, two, 2, &all, &error) && strstr(error.text, "b.en"));
    for (int i = 0; i < 2; i++) {
        mem_free(two[i].source);
        mem_free(two[i].target);
    }
    mem_free(one.source);
    mem_free(one.target);
    text_free(&zipped);
    tokenizer_free(tokenizer);
    temp_remove(folder);
}
END_TEST

/* More lines than are tokenized at a time, in order, the same whatever the number of threads. */
START_TEST(long_files_keep_their_order)
{
    enum { N = 20000 };
    Text source = {0}, target = {0};
    for (int i = 0; i < N; i++) {
        text_append_format(&source, "line %d\n", i);
        for (int k = 0; k < 100000 && i == 100; k++) text_append(&target, "long ", 5); /* fills a part alone */
        text_append_format(&target, "%s%d\n", i % 7 ? "ligne " : "", i);
    }
    text_append(&source, "", 1);
    text_append(&target, "", 1);
    uint64_t hash[3];
    for (int threads = 1; threads <= 3; threads++) {
        threads_set(threads);
        Load l = load(source.data, target.data, 0);
        ck_assert_msg(l.good, "%s", l.error.text);
        hash[threads - 1] = bitext_hash(&l.bitext);
        ck_assert_int_eq(l.bitext.counts.n_pairs, N);
        for (size_t i = 0; i < N; i++) {
            char digits[8];
            static int32_t token[600000];
            const int n = snprintf(digits, sizeof digits, "%d", (int)i);
            bitext_copy(&l.bitext, i, BITEXT_TARGET, token);
            const int32_t *last = token + bitext_length(&l.bitext, i, BITEXT_TARGET) - n;
            for (int k = 0; k < n; k++) ENSURE(last[k] == 3 + digits[k], "%zu", i);
        }
        bitext_free(&l.bitext);
    }
    ck_assert(hash[0] == hash[1] && hash[0] == hash[2]);
    text_free(&source);
    text_free(&target);
}
END_TEST

START_TEST(lines_with_tabs)
{
    Error error = {0};
    char *folder = temp_folder();
    static const char good[] = "one\tun\r\n \n\ttrois\nfour\t\nfive\tcinq\tignored\tignored\n";
    Corpus corpus = {.source = temp_file(folder, "pairs", good, sizeof good - 1), .weight = 1};
    PairReader *reader = pairs_open(&corpus, &error);
    static const char *const expected[][2] = {{"one", "un"}, {" ", ""}, {"", "trois"}, {"four", ""}, {"five", "cinq"}};
    LinePair pair;
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(pairs_next(reader, &pair, &error), 1);
        if (i == 1) {
            ck_assert(!pair.n_source && !pair.n_target); /* blank, without a tab */
            continue;
        }
        ck_assert(pair.n_source == strlen(expected[i][0]) && !memcmp(pair.source, expected[i][0], pair.n_source));
        ck_assert(pair.n_target == strlen(expected[i][1]) && !memcmp(pair.target, expected[i][1], pair.n_target));
    }
    ck_assert_int_eq(pairs_next(reader, &pair, &error), 0);
    pairs_close(reader);
    mem_free(temp_file(folder, "pairs", "a\tb\nno tab\n", 11));
    reader = pairs_open(&corpus, &error);
    ck_assert_int_eq(pairs_next(reader, &pair, &error), 1);
    ck_assert_int_eq(pairs_next(reader, &pair, &error), -1);
    ck_assert_msg(strstr(error.text, "pairs, line 2: there is no tab"), "%s", error.text);
    pairs_close(reader);
    mem_free(corpus.source);
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

Suite *suite_bitext(void)
{
    Suite *suite = suite_create("bitext");
    TCase *tcase = tcase_create("bitext");
    tcase_add_test(tcase, lines_are_counted_with_the_reason);
    tcase_add_test(tcase, unequal_counts_are_an_error);
    tcase_add_test(tcase, no_pair_is_an_error);
    tcase_add_test(tcase, pairs_of_unequal_length_are_counted);
    tcase_add_test(tcase, several_corpora);
    tcase_add_test(tcase, long_files_keep_their_order);
    tcase_add_test(tcase, lines_with_tabs);
    tcase_add_test(tcase, hash_sees_every_change);
    tcase_add_test(tcase, sequences_of_both_widths);
    suite_add_tcase(suite, tcase);
    return suite;
}
