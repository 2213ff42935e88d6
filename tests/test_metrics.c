/* metrics/bleu, train/chrf, train/exact: the values of sacreBLEU, which tests/golden/metrics.py has put into
 * tests/data/metrics. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/random.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/exact.h"
#include "metrics/ngram.h"
#include "metrics/unicode.h"
#include "system/files.h"
#include "tests/suites.h"

static const char *const corpora[] = {"plain",    "poor",      "identical", "nothing",  "short",    "unigrams",
                                      "bigrams",  "empty",     "all_empty", "too_long", "too_short", "repeated",
                                      "case",     "punctuation", "entities", "scripts",  "spaces",   "noise"};
enum { N_CORPORA = sizeof corpora / sizeof *corpora };

static cJSON *read_corpus(const char *name)
{
    Error error = {0};
    char *path = mem_format("tests/data/metrics/%s.json", name), *text = file_read_all(path, NULL, &error);
    ck_assert_msg(text != NULL, "%s", error.text);
    cJSON *root = cJSON_Parse(text);
    ck_assert_msg(root != NULL, "%s", path);
    mem_free(path);
    mem_free(text);
    return root;
}

static const char *string_at(const cJSON *pair, int i)
{
    return cJSON_GetArrayItem(pair, i)->valuestring;
}

static double number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    ck_assert_msg(cJSON_IsNumber(item), "%s", key);
    return item->valuedouble;
}

static double number_of(const cJSON *object, const char *key, int i)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(object, key), i)->valuedouble;
}

static void assert_close(double got, double wanted, const char *what, const char *text)
{
    ck_assert_msg(fabs(got - wanted) <= 1e-12 * fabs(wanted), "%s of \"%s\": %.17g, not %.17g", what, text, got, wanted);
}

static void add_both(Bleu *bleu, Chrf *chrf, const char *hypothesis, const char *reference)
{
    bleu_add(bleu, hypothesis, strlen(hypothesis), reference, strlen(reference));
    chrf_add(chrf, hypothesis, strlen(hypothesis), reference, strlen(reference));
}

START_TEST(each_pair)
{
    cJSON *root = read_corpus(corpora[_i]);
    const cJSON *pair, *pairs = cJSON_GetObjectItemCaseSensitive(root, "pairs");
    ck_assert_int_gt(cJSON_GetArraySize(pairs), 0);
    cJSON_ArrayForEach(pair, pairs) {
        const char *hypothesis = string_at(pair, 0), *reference = string_at(pair, 1);
        char *tokens = bleu_tokenize(hypothesis, strlen(hypothesis));
        ck_assert_str_eq(tokens, string_at(pair, 2));
        mem_free(tokens);
        Bleu bleu = {0};
        Chrf chrf = {0};
        add_both(&bleu, &chrf, hypothesis, reference);
        assert_close(bleu_score(&bleu).score, cJSON_GetArrayItem(pair, 3)->valuedouble, "BLEU", hypothesis);
        assert_close(chrf_score(&chrf), cJSON_GetArrayItem(pair, 4)->valuedouble, "chrF", hypothesis);
        ck_assert_int_eq(exact_match(hypothesis, strlen(hypothesis), reference, strlen(reference)),
                         cJSON_IsTrue(cJSON_GetArrayItem(pair, 5)));
    }
    cJSON_Delete(root);
}
END_TEST

START_TEST(each_corpus)
{
    cJSON *root = read_corpus(corpora[_i]);
    const cJSON *pair, *wanted = cJSON_GetObjectItemCaseSensitive(root, "corpus");
    Bleu bleu = {0};
    Chrf chrf = {0};
    cJSON_ArrayForEach(pair, cJSON_GetObjectItemCaseSensitive(root, "pairs"))
        add_both(&bleu, &chrf, string_at(pair, 0), string_at(pair, 1));
    BleuScore score = bleu_score(&bleu);
    assert_close(score.score, number(wanted, "bleu"), "BLEU", corpora[_i]);
    assert_close(score.brevity_penalty, number(wanted, "brevity_penalty"), "brevity penalty", corpora[_i]);
    assert_close((double)bleu.hypothesis_length, number(wanted, "hypothesis_length"), "length", corpora[_i]);
    assert_close((double)bleu.reference_length, number(wanted, "reference_length"), "length", corpora[_i]);
    for (int i = 0; i < BLEU_ORDER; i++) {
        assert_close(score.precision[i], number_of(wanted, "precision", i), "precision", corpora[_i]);
        assert_close((double)bleu.match[i], number_of(wanted, "match", i), "matches", corpora[_i]);
        assert_close((double)bleu.total[i], number_of(wanted, "total", i), "total", corpora[_i]);
    }
    assert_close(chrf_score(&chrf), number(wanted, "chrf"), "chrF", corpora[_i]);
    cJSON_Delete(root);
}
END_TEST

START_TEST(several_references)
{
    char *name = mem_format("references%d", _i);
    cJSON *root = read_corpus(name);
    const cJSON *row, *rows = cJSON_GetObjectItemCaseSensitive(root, "rows");
    Bleu bleu = {0};
    Chrf chrf = {0};
    cJSON_ArrayForEach(row, rows) {
        const char *hypothesis = string_at(row, 0), *reference[3];
        size_t bytes[3];
        for (int r = 0; r < _i; r++) reference[r] = string_at(cJSON_GetArrayItem(row, 1), r);
        for (int r = 0; r < _i; r++) bytes[r] = strlen(reference[r]);
        bleu_add_references(&bleu, hypothesis, strlen(hypothesis), reference, bytes, _i);
        chrf_add_references(&chrf, hypothesis, strlen(hypothesis), reference, bytes, _i);
    }
    assert_close(bleu_score(&bleu).score, number(root, "bleu"), "BLEU", name);
    assert_close((double)bleu.reference_length, number(root, "reference_length"), "length", name);
    for (int i = 0; i < BLEU_ORDER; i++) assert_close((double)bleu.match[i], number_of(root, "match", i), "matches", name);
    assert_close(chrf_score(&chrf), number(root, "chrf"), "chrF", name);
    cJSON_Delete(root);
    mem_free(name);
}
END_TEST

/* Against counting one by one, on sequences of few symbols, where n-grams often recur. */
START_TEST(ngrams_one_by_one)
{
    RandomStream stream = random_stream(1, RANDOM_TEST, 0, 0);
    uint64_t at = 0;
    for (int round = 0; round < 300; round++) {
        uint32_t sequence[2][24];
        size_t length[2];
        for (int side = 0; side < 2; side++) {
            length[side] = random_below(&stream, at++, 25);
            for (size_t i = 0; i < length[side]; i++) sequence[side][i] = random_below(&stream, at++, 3);
        }
        uint64_t match[5] = {0};
        ngram_add_matches(sequence[0], length[0], sequence[1], length[1], 5, match);
        for (size_t n = 1; n <= 5; n++) {
            uint64_t wanted = 0;
            bool used[24] = {false};
            for (size_t i = 0; i + n <= length[0]; i++) {
                for (size_t j = 0; j + n <= length[1]; j++) {
                    if (used[j] || memcmp(&sequence[0][i], &sequence[1][j], n * sizeof(uint32_t))) continue;
                    used[j] = true;
                    wanted++;
                    break;
                }
            }
            ck_assert_uint_eq(match[n - 1], wanted);
        }
    }
}
END_TEST

START_TEST(ill_formed_bytes_are_characters)
{
    static const struct {
        const char *text;
        size_t bytes, length;
        uint32_t character;
    } cases[] = {
        {"a", 1, 1, 'a'},
        {"\0", 1, 1, 0},
        {"\xc3\xa9", 2, 2, 0xe9},
        {"\xf0\x9f\x9a\xa2x", 5, 4, 0x1f6a2},
        {"\xc3", 1, 1, 0x1100c3},             /* cut */
        {"\xf0\x9f\x9a", 3, 1, 0x1100f0},     /* cut */
        {"\xa9", 1, 1, 0x1100a9},             /* a continuation without a start */
        {"\xc0\xaf", 2, 1, 0x1100c0},         /* overlong */
        {"\xed\xa0\x80", 3, 1, 0x1100ed},     /* a surrogate */
        {"\xf4\x90\x80\x80", 4, 1, 0x1100f4}, /* beyond the last character */
        {"\xff", 1, 1, 0x1100ff},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t character;
        ck_assert_uint_eq(unicode_next(cases[i].text, cases[i].bytes, &character), cases[i].length);
        ck_assert_uint_eq(character, cases[i].character);
    }
    Chrf same = {0}, other = {0};
    chrf_add(&same, "\xff\xfe\0", 3, "\xff\xfe\0", 3);
    chrf_add(&other, "\xff", 1, "\xfe", 1);
    ck_assert(chrf_score(&same) == 100 && chrf_score(&other) == 0);
    char *tokens = bleu_tokenize("\xc3.\xe2\x80 5\xff.", 8);
    ck_assert_str_eq(tokens, "\xc3 . \xe2\x80 5\xff .");
    mem_free(tokens);
}
END_TEST

START_TEST(any_bytes_do)
{
    RandomStream stream = random_stream(2, RANDOM_TEST, 0, 0);
    for (uint32_t round = 0; round < 2000; round++) {
        char text[2][40];
        size_t length[2];
        for (int side = 0; side < 2; side++) {
            length[side] = random_below(&stream, 4 * round + (uint32_t)side, 40);
            for (size_t i = 0; i < length[side]; i++) {
                uint32_t word = random_word(&stream, 1000000 + 80 * round + 40 * (uint32_t)side + i);
                text[side][i] = word & 1 ? (char)(word >> 24) : ".,- 5"[word % 5];
            }
        }
        Bleu bleu = {0};
        Chrf chrf = {0};
        bleu_add(&bleu, text[0], length[0], text[1], length[1]);
        chrf_add(&chrf, text[0], length[0], text[1], length[1]);
        ck_assert(bleu_score(&bleu).score >= 0 && bleu_score(&bleu).score <= 100 + 1e-9);
        ck_assert(chrf_score(&chrf) >= 0 && chrf_score(&chrf) <= 100 + 1e-9);
    }
}
END_TEST

START_TEST(nothing_counted_is_nothing_scored)
{
    Bleu bleu = {0};
    Chrf chrf = {0};
    ck_assert(bleu_score(&bleu).score == 0 && bleu_score(&bleu).brevity_penalty == 1 && chrf_score(&chrf) == 0);
    bleu_add(&bleu, NULL, 0, NULL, 0);
    chrf_add(&chrf, NULL, 0, NULL, 0);
    ck_assert(bleu_score(&bleu).score == 0 && chrf_score(&chrf) == 0);
}
END_TEST

START_TEST(exact_matches)
{
    static const struct {
        const char *hypothesis, *reference;
        bool equal;
    } cases[] = {
        {"a b", "a b", true}, {"a b \t", "a b", true}, {"a b", "a b\xc2\xa0\n", true}, {" a b", "a b", false},
        {"a  b", "a b", false}, {"", " ", true},       {"", "a", false},               {"a", "A", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(exact_match(cases[i].hypothesis, strlen(cases[i].hypothesis), cases[i].reference,
                                  strlen(cases[i].reference)) == cases[i].equal, "case %zu", i);
    ck_assert(exact_match(NULL, 0, "\n", 1) && !exact_match("a\0b", 3, "a\0c", 3));
}
END_TEST

Suite *suite_metrics(void)
{
    Suite *suite = suite_create("metrics");
    TCase *tcase = tcase_create("metrics");
    tcase_add_loop_test(tcase, each_pair, 0, N_CORPORA);
    tcase_add_loop_test(tcase, each_corpus, 0, N_CORPORA);
    tcase_add_loop_test(tcase, several_references, 2, 4);
    tcase_add_test(tcase, ngrams_one_by_one);
    tcase_add_test(tcase, ill_formed_bytes_are_characters);
    tcase_add_test(tcase, any_bytes_do);
    tcase_add_test(tcase, nothing_counted_is_nothing_scored);
    tcase_add_test(tcase, exact_matches);
    suite_add_tcase(suite, tcase);
    return suite;
}
