/* The tokenizer: round trips, what the search may generate, and the file with its faults. */
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "data/learner.h"
#include "data/pieces.h"
#include "data/tokenizer_file.h"
#include "tests/nasty.h"
#include "tests/suites.h"
#include "tests/temp.h"
#include "text/utf8.h"

/* ---- round trips ---- */

static void assert_round_trip(const Tokenizer *tokenizer, TokenizerCache *cache, const char *bytes, size_t n)
{
    Tokens tokens = {0};
    Text normal = {0}, back = {0};
    tokenizer_encode(tokenizer, cache, bytes, n, &tokens);
    for (size_t i = 0; i < tokens.n; i++)
        ENSURE(tokens.token[i] >= N_SPECIAL && tokens.token[i] < tokenizer_size(tokenizer), "token %d", tokens.token[i]);
    text_normalize(&normal, bytes, n);
    tokenizer_decode(tokenizer, tokens.token, tokens.n, &back);
    ENSURE(back.n == normal.n && (!back.n || !memcmp(back.data, normal.data, back.n)), "%.*s", (int)n, bytes);
    ENSURE(!tokens.n == !normal.n, "blank text has no tokens, other text some");
    tokenizer_tokens_free(&tokens);
    text_free(&normal);
    text_free(&back);
}

START_TEST(decoding_gives_the_text_back)
{
    Tokenizer *tokenizers[3] = {tokenizer_new()};
    tokenizers[1] = nasty_tokenizer(nasty_text, 300, 700);
    tokenizers[2] = nasty_tokenizer(nasty_few_letters, 50, 300);
    TokenizerCache *cache[] = {tokenizer_cache_new(), tokenizer_cache_new(), tokenizer_cache_new()};
    Text text = {0};
    for (uint32_t i = 0; i < 6000; i++) {
        nasty_text(&text, i);
        for (int k = 0; k < 3; k++) assert_round_trip(tokenizers[k], cache[k], text.data, text.n);
    }
    for (int k = 0; k < 3; k++) {
        tokenizer_free(tokenizers[k]);
        tokenizer_cache_free(cache[k]);
    }
    text_free(&text);
}
END_TEST

START_TEST(a_cache_serves_any_tokenizer)
{
    Tokenizer *tokenizers[] = {nasty_tokenizer(nasty_text, 300, 700), nasty_tokenizer(nasty_few_letters, 50, 300)};
    TokenizerCache *shared = tokenizer_cache_new();
    Text text = {0};
    for (uint32_t i = 0; i < 40; i++) {
        TokenizerCache *fresh = tokenizer_cache_new();
        Tokens expected = {0}, tokens = {0};
        nasty_text(&text, i / 2);
        tokenizer_encode(tokenizers[i % 2], fresh, text.data, text.n, &expected);
        tokenizer_encode(tokenizers[i % 2], shared, text.data, text.n, &tokens);
        ck_assert_uint_eq(tokens.n, expected.n);
        if (tokens.n) ck_assert(!memcmp(tokens.token, expected.token, tokens.n * sizeof *tokens.token));
        tokenizer_tokens_free(&expected);
        tokenizer_tokens_free(&tokens);
        tokenizer_cache_free(fresh);
    }
    for (int k = 0; k < 2; k++) tokenizer_free(tokenizers[k]);
    tokenizer_cache_free(shared);
    text_free(&text);
}
END_TEST

/* ---- BPE-dropout ---- */

static size_t encode_again(const Tokenizer *tokenizer, const Tokens *tokens, double dropout, uint32_t seed, Tokens *out)
{
    const RandomStream stream = random_stream(seed, RANDOM_TEST, 0, 0);
    Text text = {0};
    out->n = 0;
    tokenizer_encode_again(tokenizer, tokens->token, tokens->n, dropout, &stream, 0, &text, out);
    text_free(&text);
    return out->n;
}

/* Whatever is left out, the text stays. Nothing left out: the same tokens; everything: nothing that was merged. */
START_TEST(merges_left_out_keep_the_text)
{
    Tokenizer *tokenizers[] = {nasty_tokenizer(nasty_text, 300, 700), nasty_tokenizer(nasty_few_letters, 50, 300)};
    void (*text_of[])(Text *, uint32_t) = {nasty_text, nasty_few_letters};
    TokenizerCache *cache = tokenizer_cache_new();
    Text text = {0}, normal = {0}, back = {0};
    for (int k = 0; k < 2; k++) {
        size_t n_whole = 0, n_again = 0;
        for (uint32_t i = 0; i < 1000; i++) {
            Tokens whole = {0}, again = {0};
            int32_t left, right;
            text_of[k](&text, i);
            text_normalize(&normal, text.data, text.n);
            tokenizer_encode(tokenizers[k], cache, text.data, text.n, &whole);
            ENSURE(encode_again(tokenizers[k], &whole, 0, i, &again) == whole.n, "text %u", i);
            ENSURE(!whole.n || !memcmp(again.token, whole.token, whole.n * sizeof *whole.token), "text %u", i);
            n_whole += whole.n;
            n_again += encode_again(tokenizers[k], &whole, 0.3, i, &again);
            tokenizer_decode(tokenizers[k], again.token, again.n, &back);
            ENSURE(back.n == normal.n && (!back.n || !memcmp(back.data, normal.data, back.n)), "text %u", i);
            encode_again(tokenizers[k], &whole, 1, i, &again);
            for (size_t t = 0; t < again.n; t++) ENSURE(!tokenizer_parts(tokenizers[k], again.token[t], &left, &right), "text %u", i);
            tokenizer_tokens_free(&whole);
            tokenizer_tokens_free(&again);
        }
        ck_assert_uint_gt(n_again, n_whole + n_whole / 10);
        tokenizer_free(tokenizers[k]);
    }
    tokenizer_cache_free(cache);
    text_free(&text);
    text_free(&normal);
    text_free(&back);
}
END_TEST

/* "aba" with the merges ab, ba, and aba of ab and a, each left out with probability p: what comes out, and how often. */
START_TEST(merges_are_left_out_as_often_as_asked)
{
    enum { N = 40000, A = TOKENIZER_FIRST_BYTE + 'a', B = TOKENIZER_FIRST_BYTE + 'b' };
    const double p = 0.2;
    Tokenizer *tokenizer = tokenizer_new();
    const int32_t ab = tokenizer_add_merge(tokenizer, A, B), ba = tokenizer_add_merge(tokenizer, B, A);
    const int32_t aba = tokenizer_add_merge(tokenizer, ab, A);
    const int32_t space = TOKENIZER_FIRST_BYTE + ' ';
    int32_t whole[] = {space, aba};
    const Tokens tokens = {.token = whole, .n = 2};
    const struct {
        int32_t token[4];
        size_t n;
        double probability;
    } outcomes[] = {
        {{space, aba}, 2, (1 - p) * (1 - p)},
        {{space, ab, A}, 3, (1 - p) * p},
        {{space, A, ba}, 3, p * (1 - p)}, /* ab was left out, ba was not */
        {{space, A, B, A}, 4, p * p},
    };
    int count[4] = {0};
    Tokens again = {0};
    for (uint32_t i = 0; i < N; i++) {
        const size_t n = encode_again(tokenizer, &tokens, p, i, &again);
        int k = 0;
        while (k < 4 && (outcomes[k].n != n || memcmp(outcomes[k].token, again.token, n * sizeof *again.token))) k++;
        ENSURE(k < 4, "seed %u", i);
        count[k]++;
    }
    for (int k = 0; k < 4; k++) { /* five standard deviations */
        const double expected = N * outcomes[k].probability;
        ck_assert_double_eq_tol(count[k], expected, 5 * sqrt(expected * (1 - outcomes[k].probability)));
    }
    tokenizer_tokens_free(&again);
    tokenizer_free(tokenizer);
}
END_TEST

START_TEST(lines_of_a_megabyte)
{
    enum { N = 1 << 20 };
    Tokenizer *tokenizer = nasty_tokenizer(nasty_few_letters, 200, 500);
    TokenizerCache *cache = tokenizer_cache_new();
    Text text = {0};
    char *data = text_reserve(&text, N);
    memset(data, 'a', N); /* one word */
    assert_round_trip(tokenizer, cache, data, N);
    for (size_t i = 0; i < N; i++) data[i] = "abba"[random_word(&(RandomStream){0}, i) % 4];
    assert_round_trip(tokenizer, cache, data, N);
    memset(data, '\xCC', N);
    for (size_t i = 1; i < N; i += 2) data[i] = i % 4 == 1 ? '\x81' : '\xA7'; /* nothing but marks */
    assert_round_trip(tokenizer, cache, data, N);
    memset(data, '\x80', N);
    assert_round_trip(tokenizer, cache, data, N);
    memset(data, ' ', N);
    assert_round_trip(tokenizer, cache, data, N);
    text_free(&text);
    tokenizer_cache_free(cache);
    tokenizer_free(tokenizer);
}
END_TEST

/* A word long enough to hold all candidates that can come at once, in tokens of all lengths. */
START_TEST(pieces_as_long_as_they_get)
{
    Text word = {0};
    Error error = {0};
    for (int i = 0; i < PIECES_MAX_BYTES; i++) text_append(&word, "a", 1);
    Learner *learner = learner_new();
    for (int i = 0; i < 3; i++) learner_add(learner, word.data, word.n);
    Tokenizer *tokenizer = learner_finish(learner, 400, &error);
    TokenizerCache *cache = tokenizer_cache_new();
    for (size_t n = word.n - 70; n <= word.n; n++) assert_round_trip(tokenizer, cache, word.data, n);
    for (int32_t token = 0; token < tokenizer_size(tokenizer); token++) {
        size_t n;
        tokenizer_bytes(tokenizer, token, &n);
        ck_assert_uint_le(n, TOKENIZER_MAX_BYTES);
    }
    learner_free(learner);
    text_free(&word);
    tokenizer_cache_free(cache);
    tokenizer_free(tokenizer);
}
END_TEST

/* ---- what the search may generate ---- */

START_TEST(generation_is_well_formed)
{
    Tokenizer *tokenizer = nasty_tokenizer(nasty_text, 300, 700);
    const uint8_t *byte = tokenizer_utf8_bytes(tokenizer);
    ck_assert(byte[TOKEN_PAD] == 0xFF && byte[TOKEN_BOS] == 0xFF && byte[TOKENIZER_FIRST_BYTE + '\n'] == 0xFF);
    ck_assert(utf8_next(UTF8_START, byte[TOKEN_EOS]) == UTF8_START && utf8_next(1, byte[TOKEN_EOS]) == UTF8_BAD);
    RandomStream stream = random_stream(5, RANDOM_TEST, 0, 0);
    Text raw = {0}, text = {0};
    Tokens tokens = {0};
    Utf8State state = UTF8_START;
    for (uint32_t i = 0; tokens.n < 20000; i++) { /* draw any token, keep what is allowed */
        int32_t token = (int32_t)random_below(&stream, i, i % 2 ? 259 : (uint32_t)tokenizer_size(tokenizer));
        Utf8State next = utf8_next(state, byte[token]);
        if (next == UTF8_BAD) continue;
        state = next;
        tokenizer_append(&tokens, token);
        size_t n;
        const char *bytes = tokenizer_bytes(tokenizer, token, &n);
        if (token >= N_SPECIAL) text_append(&raw, bytes, n);
    }
    int n_long = 0;
    for (size_t i = 0; i < raw.n;) {
        int32_t code;
        size_t n = utf8_decode(raw.data + i, raw.n - i, &code);
        n_long += n > 2;
        ENSURE((code >= 0x20 && code != 0x7F) || i + 4 > raw.n, "at %zu: %d", i, code);
        i += n;
    }
    ck_assert_int_gt(n_long, 100);
    text_free(&raw);
    text_free(&text);
    tokenizer_tokens_free(&tokens);
    tokenizer_free(tokenizer);
}
END_TEST

START_TEST(decoding_any_tokens)
{
    Tokenizer *tokenizer = nasty_tokenizer(nasty_text, 300, 700);
    Text text = {0}, normal = {0};
    int32_t token[30];
    for (uint32_t i = 0; i < 5000; i++) {
        RandomStream stream = random_stream(6, RANDOM_TEST, i, 0);
        for (uint32_t k = 0; k < 30; k++)
            token[k] = (int32_t)random_below(&stream, k, i % 2 ? 259 : (uint32_t)tokenizer_size(tokenizer));
        tokenizer_decode(tokenizer, token, i % 31, &text);
        text_normalize(&normal, text.data, text.n);
        ENSURE(normal.n == text.n && (!text.n || !memcmp(normal.data, text.data, text.n)), "case %u", i);
        ENSURE(!text.n || !memchr(text.data, '\n', text.n), "case %u", i);
    }
    text_free(&text);
    text_free(&normal);
    tokenizer_free(tokenizer);
}
END_TEST

/* ---- the file ---- */

/* Worked out by hand from the pieces " the" (10), " \xC3\xA9t\xC3\xA9" (10), " th\xC3\xA9" (5), " \xE2\x96\x81\\" (10); the
 * hash is what it once was. */
static const char tiny_file[] =
    "ferry tokenizer 1, 269 tokens, hash cd8f524d\n"
    "char \xC3\xA9\n"
    "char \\u{2581}\n"
    "merge \xE2\x96\x81 t\n"
    "merge \xE2\x96\x81t h\n"
    "merge \xE2\x96\x81 \xC3\xA9\n"
    "merge \xE2\x96\x81 \\u{2581}\n"
    "merge t \xC3\xA9\n"
    "merge \xE2\x96\x81th e\n"
    "merge \xE2\x96\x81\xC3\xA9 t\xC3\xA9\n"
    "merge \xE2\x96\x81\\u{2581} \\\\\n";

static Tokenizer *tiny(void)
{
    static const char *const texts[] = {
        "the \xC3\xA9t\xC3\xA9",
        "the th\xC3\xA9 \xE2\x96\x81\\",
        "\xC3\xA9t\xC3\xA9 \xE2\x96\x81\\",
    };
    Error error = {0};
    Learner *learner = learner_new();
    for (int i = 0; i < 15; i++) learner_add(learner, texts[i % 3], strlen(texts[i % 3]));
    Tokenizer *tokenizer = learner_finish(learner, TOKENIZER_MIN_SIZE + 10, &error);
    learner_free(learner);
    return tokenizer;
}

START_TEST(file_is_what_it_was)
{
    Tokenizer *tokenizer = tiny();
    Text text = {0};
    tokenizer_file_format(tokenizer, &text);
    text_append(&text, "", 1);
    ck_assert_str_eq(text.data, tiny_file);
    tokenizer_free(tokenizer);
    text_free(&text);
}
END_TEST

START_TEST(file_and_back)
{
    Error error = {0};
    Text text = {0};
    Tokenizer *tokenizer = nasty_tokenizer(nasty_text, 500, 900);
    tokenizer_file_format(tokenizer, &text);
    char *folder = temp_folder(), *path = temp_file(folder, "tokenizer.bpe", text.data, text.n);
    Tokenizer *again = tokenizer_file_load(path, &error);
    ck_assert_msg(again, "%s", error.text);
    ck_assert_int_eq(tokenizer_size(again), tokenizer_size(tokenizer));
    ck_assert_uint_eq(tokenizer_hash(again), tokenizer_hash(tokenizer));
    for (int32_t token = 0; token < tokenizer_size(tokenizer); token++) {
        size_t n, n_again;
        const char *bytes = tokenizer_bytes(tokenizer, token, &n), *bytes_again = tokenizer_bytes(again, token, &n_again);
        ck_assert(n == n_again && !memcmp(bytes, bytes_again, n));
    }
    ck_assert(!memcmp(tokenizer_utf8_bytes(again), tokenizer_utf8_bytes(tokenizer), (size_t)tokenizer_size(again)));
    text_free(&text);
    mem_free(path);
    temp_remove(folder);
    tokenizer_free(tokenizer);
    tokenizer_free(again);
}
END_TEST

START_TEST(tokens_are_shown_and_found)
{
    Tokenizer *tokenizer = nasty_tokenizer(nasty_text, 500, 900);
    Text text = {0};
    for (int32_t token = 0; token < tokenizer_size(tokenizer); token++) {
        text.n = 0;
        tokenizer_show(tokenizer, token, &text);
        ENSURE(tokenizer_find(tokenizer, text.data, text.n) == token, "token %d: %.*s", token, (int)text.n, text.data);
    }
    static const char *const unknown[] = {"", "<0x41>", "<0xe2>", "<unk>", "\\", "not there"};
    for (int i = 0; i < 6; i++) ck_assert_int_eq(tokenizer_find(tokenizer, unknown[i], strlen(unknown[i])), -1);
    text_free(&text);
    tokenizer_free(tokenizer);
}
END_TEST

/* Loading this content must fail with the file's name and, unless 0, the line's number. */
static void assert_refused(const char *folder, const Text *content, int line)
{
    Error error = {0};
    char *path = temp_file(folder, "damaged.bpe", content->data, content->n);
    Tokenizer *tokenizer = tokenizer_file_load(path, &error);
    ENSURE(!tokenizer, "%.*s", (int)content->n, content->data);
    char *place = line ? mem_format("%s: line %d: ", path, line) : mem_format("%s: ", path);
    ENSURE(!strncmp(error.text, place, strlen(place)), "%s instead of %s", error.text, place);
    mem_free(place);
    mem_free(path);
}

/* The file's lines, each with its \n, in this order: all of them but with `first` and `second`, if not -1, swapped, `twice`
 * doubled, and `blank` put before line `blank_at`. */
static Text edit(const Text *file, int first, int second, int twice, int blank_at)
{
    Text out = {0};
    const char *line[400];
    int n = 0;
    for (size_t i = 0; i < file->n; i++)
        if (!i || file->data[i - 1] == '\n') line[n++] = file->data + i;
    for (int i = 0; i < n; i++) {
        const char *use = line[i == first ? second : i == second ? first : i];
        size_t length = (size_t)((const char *)memchr(use, '\n', file->n) - use) + 1;
        if (i == blank_at) text_append(&out, "\n", 1);
        text_append(&out, use, length);
        if (i == twice) text_append(&out, use, length);
    }
    return out;
}

START_TEST(file_faults)
{
    char *folder = temp_folder();
    Tokenizer *tokenizer = nasty_tokenizer(nasty_text, 100, 400);
    Text file = {0};
    tokenizer_file_format(tokenizer, &file);
    int n_lines = 1 + tokenizer_size(tokenizer) - TOKENIZER_FIRST_CHARACTER;
    for (int i = 0; i < n_lines; i++) {
        Text twice = edit(&file, -1, -1, i, -1), blank = edit(&file, -1, -1, -1, i);
        assert_refused(folder, &twice, i == n_lines - 1 ? 0 : i + 2);
        assert_refused(folder, &blank, i + 1);
        text_free(&twice);
        text_free(&blank);
        for (int k = i + 1; k < n_lines; k += 7) {
            Text swapped = edit(&file, i, k, -1, -1);
            assert_refused(folder, &swapped, 0);
            text_free(&swapped);
        }
    }
    for (size_t n = 0; n + 1 < file.n; n++) assert_refused(folder, &(Text){.data = file.data, .n = n}, 0);
    for (size_t i = 0; i + 1 < file.n; i++) {
        for (int bit = 0; bit < 8; bit += 3) {
            file.data[i] ^= (char)(1 << bit);
            assert_refused(folder, &file, 0);
            file.data[i] ^= (char)(1 << bit);
        }
    }
    Error error = {0};
    char *path = temp_file(folder, "sound.bpe", file.data, file.n - 1); /* without the last \n: all is there */
    Tokenizer *again = tokenizer_file_load(path, &error);
    ck_assert_ptr_nonnull(again);
    tokenizer_free(again);
    mem_free(path);
    text_free(&file);
    tokenizer_free(tokenizer);
    temp_remove(folder);
}
END_TEST

Suite *suite_tokenizer(void)
{
    Suite *suite = suite_create("tokenizer");
    TCase *tcase = tcase_create("tokenizer");
    tcase_add_test(tcase, decoding_gives_the_text_back);
    tcase_add_test(tcase, a_cache_serves_any_tokenizer);
    tcase_add_test(tcase, merges_left_out_keep_the_text);
    tcase_add_test(tcase, merges_are_left_out_as_often_as_asked);
    tcase_add_test(tcase, lines_of_a_megabyte);
    tcase_add_test(tcase, pieces_as_long_as_they_get);
    tcase_add_test(tcase, generation_is_well_formed);
    tcase_add_test(tcase, decoding_any_tokens);
    tcase_add_test(tcase, file_is_what_it_was);
    tcase_add_test(tcase, file_and_back);
    tcase_add_test(tcase, tokens_are_shown_and_found);
    tcase_add_test(tcase, file_faults);
    suite_add_tcase(suite, tcase);
    return suite;
}
