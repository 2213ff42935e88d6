/* Tokenizers with symbols, tokenizers of words, and learning in bounded memory. */
#include <string.h>

#include "core/memory.h"
#include "data/learner.h"
#include "data/tokenizer_file.h"
#include "tests/nasty.h"
#include "tests/suites.h"
#include "tests/temp.h"

/* The tokens of the text as people see them, separated by |. Also: decoding them gives the text's normal form. */
static char *shown(const Tokenizer *tokenizer, const char *text)
{
    TokenizerCache *cache = tokenizer_cache_new();
    Tokens tokens = {0};
    Text out = {0}, normal = {0}, back = {0};
    tokenizer_encode(tokenizer, cache, text, strlen(text), &tokens);
    for (size_t i = 0; i < tokens.n; i++) {
        if (i) text_append(&out, "|", 1);
        tokenizer_show(tokenizer, tokens.token[i], &out);
    }
    text_normalize(&normal, text, strlen(text));
    tokenizer_decode(tokenizer, tokens.token, tokens.n, &back);
    ck_assert_msg(back.n == normal.n && (!back.n || !memcmp(back.data, normal.data, back.n)), "%s", text);
    char *result = mem_format("%.*s", (int)out.n, out.data);
    text_free(&out);
    text_free(&normal);
    text_free(&back);
    tokenizer_tokens_free(&tokens);
    tokenizer_cache_free(cache);
    return result;
}

static void assert_shown(const Tokenizer *tokenizer, const char *text, const char *expected)
{
    char *got = shown(tokenizer, text);
    ck_assert_str_eq(got, expected);
    mem_free(got);
}

/* The file of the tokenizer gives the same tokenizer. */
static Tokenizer *through_a_file(const Tokenizer *tokenizer)
{
    Error error = {0};
    char *folder = temp_folder();
    Text content = {0}, again = {0};
    tokenizer_file_format(tokenizer, &content);
    char *path = temp_file(folder, "tokenizer", content.data, content.n);
    Tokenizer *result = tokenizer_file_load(path, &error);
    ck_assert_msg(result != NULL, "%s", error.text);
    ck_assert_uint_eq(tokenizer_hash(result), tokenizer_hash(tokenizer));
    tokenizer_file_format(result, &again);
    ck_assert(again.n == content.n && !memcmp(again.data, content.data, again.n));
    text_free(&content);
    text_free(&again);
    mem_free(path);
    temp_remove(folder);
    return result;
}

/* A learner that knows these symbols. */
static Learner *learner_of(const char *symbols)
{
    Error error = {0};
    Words list = words_split(symbols);
    Learner *learner = learner_new();
    ck_assert_msg(learner_add_symbols(learner, &list, &error), "%s", error.text);
    words_free(&list);
    return learner;
}

START_TEST(symbols_stay_whole)
{
    Error error = {0};
    Learner *learner = learner_of("<2fr> <2de> __ __URL__ \xC3\xA9t\xC3\xA9");
    for (int i = 0; i < 9; i++) learner_add(learner, "<2fr> the cat __URL__ sees <2 fr>", 33);
    Tokenizer *learned = learner_finish(learner, 400, &error), *tokenizer = through_a_file(learned);
    assert_shown(tokenizer, "<2fr> the cat", "\xE2\x96\x81<2fr>|\xE2\x96\x81the|\xE2\x96\x81" "cat");
    assert_shown(tokenizer, "the<2fr>xyz", "\xE2\x96\x81the|<2fr>|x|y|z");
    assert_shown(tokenizer, "<2fr><2de>", "\xE2\x96\x81<2fr>|<2de>");
    assert_shown(tokenizer, " <2fr>  <2de> ", "\xE2\x96\x81<2fr>|\xE2\x96\x81<2de>");
    assert_shown(tokenizer, "a __URL___", "\xE2\x96\x81|a|\xE2\x96\x81__URL__|_"); /* the longest */
    assert_shown(tokenizer, "__URL", "\xE2\x96\x81__|U|R|L");
    assert_shown(tokenizer, "<2f", "\xE2\x96\x81<|2|f");
    assert_shown(tokenizer, "e\xCC\x81te\xCC\x81", "\xE2\x96\x81\xC3\xA9t\xC3\xA9"); /* NFC comes first */
    assert_shown(tokenizer, "", "");
    tokenizer_free(learned);
    tokenizer_free(tokenizer);
    learner_free(learner);
}
END_TEST

START_TEST(symbols_take_part_in_no_merge)
{
    Error error = {0};
    Learner *with = learner_of("<x>"), *without = learner_new();
    for (int i = 0; i < 20; i++) {
        learner_add(with, "<x> ab <x>ab ab<x> ab", 21);
        learner_add(without, "ab\nab ab ab", 11);
    }
    Tokenizer *a = learner_finish(with, 290, &error), *b = learner_finish(without, 290, &error);
    for (int32_t token = TOKENIZER_FIRST_CHARACTER + 2; token < tokenizer_size(a); token++) {
        size_t n;
        const char *text = tokenizer_bytes(a, token, &n);
        ck_assert(!memchr(text, '<', n) && !memchr(text, 'x', n));
    }
    ck_assert_int_eq(tokenizer_size(b), TOKENIZER_FIRST_CHARACTER + 2);
    tokenizer_free(a);
    tokenizer_free(b);
    learner_free(with);
    learner_free(without);
}
END_TEST

START_TEST(what_can_be_no_symbol)
{
    static const char *const wrong[] = {"a", "<s>", "</s>", "<pad>", "<0xE2>", "e\xCC\x81t", "a\xFF", "", "a b",
                                        "0123456789012345678901234567890123456789012345678901234567890123", "ab"};
    Tokenizer *tokenizer = tokenizer_new();
    ck_assert_int_eq(tokenizer_add_symbol(tokenizer, "ab", 2), TOKENIZER_FIRST_CHARACTER); /* the last is there already */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(tokenizer_add_symbol(tokenizer, wrong[i], strlen(wrong[i])) == -1, "%s", wrong[i]);
    ck_assert_int_ge(tokenizer_add_symbol(tokenizer, wrong[9], 63), 0);
    ck_assert_int_ge(tokenizer_add_character(tokenizer, 0xE9), 0);
    ck_assert_int_eq(tokenizer_add_symbol(tokenizer, "cd", 2), -1); /* not after a character */
    ck_assert_int_eq(tokenizer_size(tokenizer), TOKENIZER_FIRST_CHARACTER + 5);
    tokenizer_free(tokenizer);
    Learner *learner = learner_new();
    Error error = {0};
    Words list = words_split("<2fr> <s>");
    ck_assert(!learner_add_symbols(learner, &list, &error) && error.code == ERROR_USAGE && strstr(error.text, "'<s>'"));
    words_free(&list);
    learner_free(learner);
}
END_TEST

START_TEST(words_are_what_blanks_separate)
{
    Error error = {0};
    Learner *learner = learner_of("<2fr>");
    learner_set_words(learner);
    for (int i = 0; i < 3; i++) learner_add(learner, "the cat@@ s , l'homme", 21);
    learner_add(learner, "the rare rarer a\xC3\xA9", 18);
    Tokenizer *learned = learner_finish(learner, 1000, &error), *tokenizer = through_a_file(learned);
    ck_assert_int_eq(tokenizer_size(tokenizer), TOKENIZER_FIRST_CHARACTER + 2 + 8);
    assert_shown(tokenizer, "the cat@@ s", "\xE2\x96\x81the|\xE2\x96\x81" "cat@@|\xE2\x96\x81s");
    assert_shown(tokenizer, "<2fr> , l'homme", "\xE2\x96\x81<2fr>|\xE2\x96\x81,|\xE2\x96\x81l'homme");
    assert_shown(tokenizer, "thecat", "\xE2\x96\x81|t|h|e|c|a|t"); /* unknown: nothing is merged */
    assert_shown(tokenizer, "\xC3\xA9 a\xC3\xA9", "\xE2\x96\x81|<0xC3>|<0xA9>|\xE2\x96\x81" "a\xC3\xA9");
    tokenizer_free(tokenizer);
    tokenizer_free(learned);
    /* As many as the vocabulary takes: the most frequent, then by their bytes. */
    learned = learner_finish(learner, TOKENIZER_FIRST_CHARACTER + 2 + 3, &error);
    assert_shown(learned, "the , cat@@ s", "\xE2\x96\x81the|\xE2\x96\x81,|\xE2\x96\x81" "cat@@|\xE2\x96\x81|s");
    ck_assert_int_eq(tokenizer_add_merge(learned, TOKENIZER_FIRST_BYTE + 'a', TOKENIZER_FIRST_BYTE + 'b'), -1);
    tokenizer_free(learned);
    learner_free(learner);
}
END_TEST

/* Lines in the wrong place, and what can't be a symbol or a word. Each file is refused for its third line. */
START_TEST(files_with_faults)
{
    static const char *const lines[] = {
        "symbol <a>\nsymbol <a>\n", "char \xC3\xA9\nsymbol <a>\n", "word \xE2\x96\x81" "ab\nsymbol <a>\n",
        "merge a b\nsymbol <a>\n", "symbol <a>\nsymbol <s>\n", "symbol <a>\nsymbol a\n", "symbol <a>\nsymbol a\\u{20}b\n",
        "symbol <a>\nsymbol \n", "symbol <a>\nmerge a <a>\n", "word \xE2\x96\x81" "ab\nmerge a b\n",
        "word \xE2\x96\x81" "ab\nchar \xC3\xA9\n", "merge a b\nword \xE2\x96\x81" "ab\n",
        "word \xE2\x96\x81" "ab\nword \xE2\x96\x81" "ab\n", "word \xE2\x96\x81" "ab\nword ab\n",
        "word \xE2\x96\x81" "ab\nword \n", "word \xE2\x96\x81" "ab\nword \xE2\x96\x81" "a\xE2\x96\x81" "b\n",
    };
    char *folder = temp_folder();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        Error error = {0};
        char *content = mem_format("ferry tokenizer 1, 400 tokens, hash 00000000\n%s", lines[i]);
        char *path = temp_file(folder, "tokenizer", content, strlen(content));
        ck_assert_ptr_null(tokenizer_file_load(path, &error));
        ck_assert_msg(strstr(error.text, "line 3: ") != NULL, "%s: %s", lines[i], error.text);
        mem_free(path);
        mem_free(content);
    }
    temp_remove(folder);
}
END_TEST

/* Any text, a megabyte without a blank too, with symbols and words. */
START_TEST(nasty_text_comes_back)
{
    Error error = {0};
    Text text = {0};
    for (int words = 0; words < 2; words++) {
        Learner *learner = learner_of("<2fr> ab <unk>");
        if (words) learner_set_words(learner);
        for (uint32_t i = 0; i < 300; i++) {
            nasty_text(&text, i);
            learner_add(learner, text.data, text.n);
        }
        Tokenizer *tokenizer = learner_finish(learner, 700, &error);
        TokenizerCache *cache = tokenizer_cache_new();
        Tokens tokens = {0};
        Text normal = {0}, back = {0};
        for (uint32_t i = 0; i < 3001; i++) {
            nasty_text(&text, i);
            if (i % 3 == 0) text_append(&text, "<2fr>", 5);
            for (int k = 0; i == 3000 && k < 200000; k++) text_append(&text, "ab\xC3\xA9_<", 6);
            tokens.n = 0;
            tokenizer_encode(tokenizer, cache, text.data, text.n, &tokens);
            text_normalize(&normal, text.data, text.n);
            tokenizer_decode(tokenizer, tokens.token, tokens.n, &back);
            ENSURE(back.n == normal.n && (!back.n || !memcmp(back.data, normal.data, back.n)), "text %u", i);
        }
        tokenizer_tokens_free(&tokens);
        tokenizer_cache_free(cache);
        text_free(&normal);
        text_free(&back);
        tokenizer_free(tokenizer);
        learner_free(learner);
    }
    text_free(&text);
}
END_TEST

/* Frequent words among a flood of rare ones: what is learned is the same, in a fraction of the memory. */
START_TEST(learning_is_bounded)
{
    Error error = {0};
    Text text = {0};
    Tokenizer *tokenizer[2];
    for (int bounded = 0; bounded < 2; bounded++) {
        Learner *learner = learner_new();
        if (bounded) learner_set_bound(learner, 2000);
        for (int i = 0; i < 20000; i++) {
            text.n = 0;
            text_append_format(&text, "frequent words come often, the others do not: %d\xE2\x82\xAC%c", i % 10, '!');
            if (i % 3 == 0) text_append_format(&text, " %c%c%cQ", 'A' + i % 26, 'A' + i / 26 % 26, 'A' + i / 676 % 26);
            learner_add(learner, text.data, text.n);
        }
        ck_assert_int_eq(learner_pieces(learner) > 200000, 1);
        ck_assert_int_eq(learner_forgotten(learner) > 0, bounded);
        tokenizer[bounded] = learner_finish(learner, 290, &error);
        ck_assert_int_eq(learner_forgotten(learner) > 5000, bounded);
        ck_assert_int_le(learner_forgotten(learner), 20000 / 3 + 1);
        learner_free(learner);
    }
    ck_assert_uint_eq(tokenizer_hash(tokenizer[0]), tokenizer_hash(tokenizer[1]));
    for (int i = 0; i < 2; i++) tokenizer_free(tokenizer[i]);
    text_free(&text);
}
END_TEST

START_TEST(learners_are_merged)
{
    Error error = {0};
    Text text = {0};
    Learner *all = learner_new(), *half[] = {learner_new(), learner_new()};
    for (uint32_t i = 0; i < 200; i++) {
        nasty_text(&text, i);
        learner_add(all, text.data, text.n);
        learner_add(half[i % 3 > 0], text.data, text.n);
    }
    learner_merge(half[0], half[1]);
    ck_assert_int_eq(learner_pieces(half[0]), learner_pieces(all));
    Tokenizer *a = learner_finish(all, 600, &error), *b = learner_finish(half[0], 600, &error);
    ck_assert_int_gt(tokenizer_size(a), 500);
    ck_assert_uint_eq(tokenizer_hash(a), tokenizer_hash(b));
    tokenizer_free(a);
    tokenizer_free(b);
    learner_free(all);
    for (int i = 0; i < 2; i++) learner_free(half[i]);
    text_free(&text);
}
END_TEST

Suite *suite_symbols(void)
{
    Suite *suite = suite_create("symbols");
    TCase *tcase = tcase_create("symbols");
    tcase_add_test(tcase, symbols_stay_whole);
    tcase_add_test(tcase, symbols_take_part_in_no_merge);
    tcase_add_test(tcase, what_can_be_no_symbol);
    tcase_add_test(tcase, words_are_what_blanks_separate);
    tcase_add_test(tcase, files_with_faults);
    tcase_add_test(tcase, nasty_text_comes_back);
    tcase_add_test(tcase, learning_is_bounded);
    tcase_add_test(tcase, learners_are_merged);
    suite_add_tcase(suite, tcase);
    return suite;
}
