/* translate/translator and train/scores: lines through a small random model. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/kernels.h"
#include "core/memory.h"
#include "core/threads.h"
#include "data/learner.h"
#include "system/files.h"
#include "tests/sample.h"
#include "tests/suites.h"
#include "tests/temp.h"
#include "translate/scores.h"
#include "translate/translator.h"

static const char *const lines[] = {
    "the cat", "", "the small cat sees the girl and the girl sees the small cat", " \t ", "a", "the girl sees", "the cat",
};
enum { N = sizeof lines / sizeof *lines };

static Tokenizer *tokenizer;
static Model *model;
static Options options;
static char *folder;

static void setup(void)
{
    Error error = {0};
    Learner *learner = learner_new();
    for (int i = 0; i < N; i++) learner_add(learner, lines[i], strlen(lines[i]));
    tokenizer = learner_finish(learner, 280, &error);
    ck_assert_msg(tokenizer != NULL, "%s", error.text);
    learner_free(learner);
    const ModelConfig config = {.vocab_size = tokenizer_size(tokenizer), .d_model = 16, .d_ff = 24, .heads = 2,
                                .encoder_layers = 1, .decoder_layers = 1};
    model = sample_model(&config, 4, false);
    model_freeze(model, PRECISION_FP32);
    options_init(&options);
    folder = temp_folder();
}

static void teardown(void)
{
    options_free(&options);
    model_free(model);
    tokenizer_free(tokenizer);
    temp_remove(folder);
}

/* out[i], to be freed, becomes the translation of line[i]. */
static bool translate(const char *const *line, size_t n, int (*stop)(void *context), Text *out)
{
    Translator translator;
    Text *in = mem_zalloc(n * sizeof *in);
    for (size_t i = 0; i < n; i++) text_append(&in[i], line[i], strlen(line[i]));
    memset(out, 0, n * sizeof *out);
    translator_init(&translator, model, tokenizer, &options);
    translator.stop = stop;
    const bool good = translator_lines(&translator, in, n, "lines", 11, out);
    translator_free(&translator);
    for (size_t i = 0; i < n; i++) text_free(&in[i]);
    mem_free(in);
    return good;
}

static void assert_same(const Text *a, const Text *b)
{
    ck_assert_uint_eq(a->n, b->n);
    ck_assert(!a->n || !memcmp(a->data, b->data, a->n));
}

static void free_texts(Text *text, size_t n)
{
    for (size_t i = 0; i < n; i++) text_free(&text[i]);
}

/* Each line alone gives what all of them give at once, in any number of batches, on any number of threads. */
START_TEST(lines_keep_their_places)
{
    Text alone[N], out[N];
    for (int i = 0; i < N; i++) ck_assert(translate(&lines[i], 1, NULL, &alone[i]));
    ck_assert(alone[0].n && alone[2].n && alone[4].n && alone[5].n);
    ck_assert(alone[0].n != alone[2].n || memcmp(alone[0].data, alone[2].data, alone[0].n)); /* the model tells them apart */
    ck_assert(!alone[1].n && !alone[3].n);
    const int64_t batch_tokens[] = {1, 5, 12, 100000};
    for (int b = 0; b < 12; b++) {
        options.decode_batch_tokens = batch_tokens[b % 4];
        threads_set(b / 4 + 1);
        ck_assert(translate(lines, N, NULL, out));
        for (int i = 0; i < N; i++) assert_same(&alone[i], &out[i]);
        free_texts(out, N);
    }
    free_texts(alone, N);
}
END_TEST

START_TEST(nothing_to_translate)
{
    const char *const blank[] = {"", "  "};
    Text out[2];
    ck_assert(translate(blank, 0, NULL, out));
    ck_assert(translate(blank, 2, NULL, out));
    ck_assert(!out[0].n && !out[1].n);
    free_texts(out, 2);
}
END_TEST

static void take_warning(void *context, const char *said)
{
    Text *warnings = context;
    text_append_format(warnings, "%s\n", said);
}

/* Cut to 3 tokens, a line is translated as its first 3 tokens are; the warning names the line, counted from the first. */
START_TEST(long_lines_are_cut)
{
    Text out[N], first;
    Tokens tokens = {0};
    TokenizerCache *cache = tokenizer_cache_new();
    tokenizer_encode(tokenizer, cache, lines[2], strlen(lines[2]), &tokens);
    ck_assert_uint_gt(tokens.n, 3);
    Text beginning = {0};
    tokenizer_decode(tokenizer, tokens.token, 3, &beginning);
    text_append(&beginning, "", 1);
    const char *line = beginning.data;
    ck_assert(translate(&line, 1, NULL, &first));

    Text said = {0};
    options.decode_max_source = 3;
    warnings_to(&(WarningSink){take_warning, &said});
    ck_assert(translate(lines, N, NULL, out));
    warnings_to(NULL);
    assert_same(&out[2], &first);
    text_append(&said, "", 1);
    ck_assert_msg(strstr(said.data, "lines, line 13: cut from") != NULL, "%s", said.data);
    text_free(&said);
    text_free(&beginning);
    text_free(&first);
    free_texts(out, N);
    tokenizer_tokens_free(&tokens);
    tokenizer_cache_free(cache);
}
END_TEST

static int at_once(void *context)
{
    (void)context;
    return 1;
}

START_TEST(gives_up_when_told)
{
    Text out[N];
    options.decode_batch_tokens = 1;
    ck_assert(!translate(lines, N, at_once, out));
    free_texts(out, N);
}
END_TEST

static int n_asked;

static int at_the_third_step(void *context)
{
    (void)context;
    return ++n_asked >= 3;
}

START_TEST(gives_up_within_a_batch)
{
    Text out[N], whole[N];
    ck_assert(translate(lines, N, NULL, whole));
    ck_assert(!translate(lines, N, at_the_third_step, out)); /* all lines are one batch */
    ck_assert_int_le(n_asked, 4);
    size_t n = 0, n_whole = 0;
    for (int i = 0; i < N; i++) {
        n += out[i].n;
        n_whole += whole[i].n;
    }
    ck_assert_uint_lt(n, n_whole);
    free_texts(out, N);
    free_texts(whole, N);
}
END_TEST

/* ---- scores ---- */

static char *write_lines(const char *name, const char *text)
{
    return temp_file(folder, name, text, strlen(text));
}

START_TEST(sets_that_are_no_sets)
{
    char *two = write_lines("two", "a\nb\n"), *three = write_lines("three", "a\nb\nc\n"), *none = write_lines("none", "");
    Error error = {0};
    TestSet set;
    ck_assert(!scores_read_set(&set, two, three, &error));
    ck_assert_msg(strstr(error.text, "two has 2 lines") && strstr(error.text, "three has 3;"), "%s", error.text);
    ck_assert(!scores_read_set(&set, none, none, &error));
    ck_assert_msg(strstr(error.text, "none is empty") != NULL, "%s", error.text);
    ck_assert(!scores_read_set(&set, two, "/nowhere/file", &error));
    ck_assert_msg(strstr(error.text, "/nowhere/file") != NULL, "%s", error.text);
    mem_free(two);
    mem_free(three);
    mem_free(none);
}
END_TEST

/* The references are the model's own translations, but one: all scores are known. */
START_TEST(scores_of_known_translations)
{
    Text out[N], source = {0}, reference = {0};
    ck_assert(translate(lines, N, NULL, out));
    for (int i = 0; i < N; i++) {
        text_append_format(&source, "%s\n", lines[i]);
        if (out[i].n) text_append(&reference, out[i].data, out[i].n);
        text_append_format(&reference, i == 2 ? " \t\r\n" : "\n"); /* compared in normal form */
    }
    char *source_path = temp_file(folder, "source", source.data, source.n);
    char *same = temp_file(folder, "same", reference.data, reference.n);
    text_append(&reference, "x", 1);
    memmove(reference.data + 1, reference.data, reference.n - 1);
    reference.data[0] = 'x'; /* the first is wrong */
    char *other = temp_file(folder, "other", reference.data, reference.n);
    Error error = {0};
    Translator translator;
    translator_init(&translator, model, tokenizer, &options);
    const struct { const char *reference; double exact; } cases[] = {{same, 100}, {other, 100.0 * (N - 1) / N}};
    for (int c = 0; c < 2; c++) {
        TestSet set;
        Scores scores;
        Text *translations = NULL;
        ck_assert_msg(scores_read_set(&set, source_path, cases[c].reference, &error), "%s", error.text);
        ck_assert(scores_of(&translator, &set, "source", &scores, &translations));
        ck_assert_uint_eq(scores.n_sentences, N);
        ck_assert_double_eq_tol(scores.exact, cases[c].exact, 1e-9);
        ck_assert(c == 0 ? scores.chrf > 100 - 1e-9 : scores.chrf < 100);
        for (int i = 0; i < N; i++) assert_same(&translations[i], &out[i]);
        free_texts(translations, N);
        mem_free(translations);
        translator.stop = at_once;
        ck_assert(!scores_of(&translator, &set, "source", &scores, NULL));
        translator.stop = NULL;
        scores_free_set(&set);
    }
    translator_free(&translator);
    mem_free(source_path);
    mem_free(same);
    mem_free(other);
    text_free(&source);
    text_free(&reference);
    free_texts(out, N);
}
END_TEST

Suite *suite_translator(void)
{
    Suite *suite = suite_create("translator");
    TCase *tcase = tcase_create("translator"), *scores = tcase_create("scores");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_checked_fixture(scores, setup, teardown);
    tcase_add_test(tcase, lines_keep_their_places);
    tcase_add_test(tcase, nothing_to_translate);
    tcase_add_test(tcase, long_lines_are_cut);
    tcase_add_test(tcase, gives_up_when_told);
    tcase_add_test(tcase, gives_up_within_a_batch);
    tcase_add_test(scores, sets_that_are_no_sets);
    tcase_add_test(scores, scores_of_known_translations);
    suite_add_tcase(suite, tcase);
    suite_add_tcase(suite, scores);
    return suite;
}
