/* Learning and encoding, against plain implementations of the definition. */
#include <string.h>

#include "data/learner.h"
#include "data/pieces.h"
#include "tests/nasty.h"
#include "tests/suites.h"
#include "text/utf8.h"

/* ---- the definition, plainly: all pairs are counted anew for each merge ---- */

enum { MOST = 20000 };

typedef struct Plain {
    int32_t token[MOST]; /* all pieces of all texts, one after the other, -1 between them */
    int n;
} Plain;

static void plain_add(Plain *plain, const Tokenizer *tokenizer, const char *piece, size_t n)
{
    for (size_t i = 0; i < n;) {
        int32_t code;
        size_t length = utf8_decode(piece + i, n - i, &code);
        int32_t token = tokenizer_character(tokenizer, code);
        if (token >= 0) plain->token[plain->n++] = token;
        else
            for (size_t k = 0; k < length; k++) plain->token[plain->n++] = TOKENIZER_FIRST_BYTE + (uint8_t)piece[i + k];
        i += length;
    }
    plain->token[plain->n++] = -1;
    ck_assert_int_lt(plain->n, MOST - PIECES_MAX_BYTES);
}

static void plain_text(Plain *plain, const Tokenizer *tokenizer, const char *text, size_t length)
{
    Text prepared = {0};
    pieces_prepare(&prepared, text, length);
    size_t n;
    for (size_t i = 0; i < prepared.n; i += n) {
        n = pieces_next(prepared.data + i, prepared.n - i);
        plain_add(plain, tokenizer, prepared.data + i, n);
    }
    text_free(&prepared);
}

static void plain_merge(Plain *plain, int32_t left, int32_t right, int32_t merged)
{
    int n = 0;
    for (int i = 0; i < plain->n; i++) {
        bool here = i + 1 < plain->n && plain->token[i] == left && plain->token[i + 1] == right;
        plain->token[n++] = here ? merged : plain->token[i];
        i += here;
    }
    plain->n = n;
}

static bool can_merge(int32_t token)
{
    return token >= TOKENIZER_FIRST_BYTE && (token < TOKENIZER_FIRST_BYTE + 0x80 || token >= TOKENIZER_FIRST_CHARACTER);
}

/* The next merge by the definition; false if no pair occurs twice. `refused` pairs, which can't become tokens, are skipped.
 * */
static bool plain_best(const Plain *plain, bool (*refused)(int32_t, int32_t), int32_t *left, int32_t *right)
{
    int best = 1;
    *left = *right = INT32_MAX;
    for (int i = 0; i + 1 < plain->n; i++) {
        int32_t a = plain->token[i], b = plain->token[i + 1];
        if (!can_merge(a) || !can_merge(b) || refused(a, b)) continue;
        int count = 0;
        for (int k = 0; k + 1 < plain->n; k++) count += plain->token[k] == a && plain->token[k + 1] == b;
        bool before = a < *left || (a == *left && b < *right);
        if (count < 2 || count < best || (count == best && !before)) continue;
        best = count;
        *left = a;
        *right = b;
    }
    return best > 1;
}

/* A tokenizer that the plain implementation builds, for refused(). */
static Tokenizer *growing;

static bool refused(int32_t left, int32_t right)
{
    size_t n_left, n_right;
    char both[2 * TOKENIZER_MAX_BYTES];
    const char *bytes = tokenizer_bytes(growing, left, &n_left);
    memcpy(both, bytes, n_left);
    bytes = tokenizer_bytes(growing, right, &n_right);
    memcpy(both + n_left, bytes, n_right);
    if (n_left + n_right > TOKENIZER_MAX_BYTES) return true;
    for (int32_t token = TOKENIZER_FIRST_CHARACTER; token < tokenizer_size(growing); token++) {
        size_t n;
        bytes = tokenizer_bytes(growing, token, &n);
        if (n == n_left + n_right && !memcmp(bytes, both, n)) return true;
    }
    return false;
}

START_TEST(learning_by_definition)
{
    enum { N_TEXTS = 40, VOCAB = TOKENIZER_MIN_SIZE + 120 };
    static Plain plain;
    void (*text_of)(Text *, uint32_t) = _i ? nasty_text : nasty_few_letters;
    Tokenizer *tokenizer = nasty_tokenizer(text_of, N_TEXTS, VOCAB);
    growing = tokenizer_new();
    int32_t token = TOKENIZER_FIRST_CHARACTER, left, right;
    for (; token < tokenizer_size(tokenizer) && !tokenizer_parts(tokenizer, token, &left, &right); token++) {
        size_t n;
        int32_t code;
        const char *bytes = tokenizer_bytes(tokenizer, token, &n);
        ck_assert_uint_eq(utf8_decode(bytes, n, &code), n);
        ck_assert_int_eq(tokenizer_add_character(growing, code), token);
    }
    Text text = {0};
    plain.n = 0;
    for (uint32_t i = 0; i < N_TEXTS; i++) {
        text_of(&text, i);
        plain_text(&plain, growing, text.data, text.n);
    }
    for (; token < VOCAB; token++) {
        int32_t plain_left, plain_right;
        bool more = plain_best(&plain, refused, &plain_left, &plain_right);
        ck_assert_int_eq(more, tokenizer_parts(tokenizer, token, &left, &right));
        if (!more) break;
        ck_assert_int_eq(left, plain_left);
        ck_assert_int_eq(right, plain_right);
        ck_assert_int_eq(tokenizer_add_merge(growing, left, right), token);
        plain_merge(&plain, left, right, token);
    }
    ck_assert_int_gt(token, TOKENIZER_MIN_SIZE + 20);
    ck_assert_int_eq(tokenizer_size(growing), tokenizer_size(tokenizer));
    ck_assert_uint_eq(tokenizer_hash(growing), tokenizer_hash(tokenizer));
    tokenizer_free(growing);
    tokenizer_free(tokenizer);
    text_free(&text);
}
END_TEST

START_TEST(encoding_by_definition)
{
    static Plain plain;
    void (*text_of)(Text *, uint32_t) = _i ? nasty_text : nasty_few_letters;
    Tokenizer *tokenizer = nasty_tokenizer(text_of, 400, TOKENIZER_MIN_SIZE + 300);
    TokenizerCache *cache = tokenizer_cache_new();
    Tokens tokens = {0};
    Text text = {0};
    for (uint32_t i = 200; i < 800; i++) {
        text_of(&text, i);
        plain.n = 0;
        plain_text(&plain, tokenizer, text.data, text.n);
        int32_t left, right;
        for (int32_t token = TOKENIZER_FIRST_CHARACTER; token < tokenizer_size(tokenizer); token++)
            if (tokenizer_parts(tokenizer, token, &left, &right)) plain_merge(&plain, left, right, token);
        tokens.n = 0;
        tokenizer_encode(tokenizer, cache, text.data, text.n, &tokens);
        size_t at = 0;
        for (int k = 0; k < plain.n; k++)
            if (plain.token[k] >= 0) ENSURE(at < tokens.n && tokens.token[at++] == plain.token[k], "text %u", i);
        ck_assert_uint_eq(at, tokens.n);
    }
    text_free(&text);
    tokenizer_tokens_free(&tokens);
    tokenizer_cache_free(cache);
    tokenizer_free(tokenizer);
}
END_TEST

/* ---- properties of learning ---- */

START_TEST(order_of_texts_does_not_matter)
{
    Error error = {0};
    Text text = {0};
    Learner *learner = learner_new();
    for (uint32_t i = 300; i-- > 0;) {
        nasty_text(&text, i);
        learner_add(learner, text.data, text.n);
    }
    Tokenizer *forward = nasty_tokenizer(nasty_text, 300, 600), *backward = learner_finish(learner, 600, &error);
    ck_assert_uint_eq(tokenizer_hash(forward), tokenizer_hash(backward));
    ck_assert_int_eq(tokenizer_size(forward), 600);
    learner_free(learner);
    tokenizer_free(forward);
    tokenizer_free(backward);
    text_free(&text);
}
END_TEST

START_TEST(sizes_of_vocabularies)
{
    Error error = {0};
    Learner *learner = learner_new();
    ck_assert_ptr_null(learner_finish(learner, 1000, &error));
    ck_assert_int_eq(error.code, ERROR_FAILED);
    learner_add(learner, "  ", 2);
    ck_assert_ptr_null(learner_finish(learner, 1000, &error));
    for (int i = 0; i < 5; i++) learner_add(learner, "\xC3\xA9\xC3\xA9 \xC3\xA8", 7);
    for (int i = 0; i < 4; i++) learner_add(learner, "\xC3\xA0", 2); /* too rare */
    ck_assert_ptr_null(learner_finish(learner, TOKENIZER_MIN_SIZE - 1, &error));
    ck_assert_int_eq(error.code, ERROR_USAGE);
    /* The characters e acute and e grave take at most half of the room; then come the pairs of which the words are made. */
    static const int more_wanted[] = {0, 1, 2, 3, 4, 5, 1000}, more[] = {0, 0, 2, 3, 4, 5, 5};
    for (int i = 0; i < 7; i++) {
        Tokenizer *tokenizer = learner_finish(learner, TOKENIZER_MIN_SIZE + more_wanted[i], &error);
        ck_assert_int_eq(tokenizer_size(tokenizer) - TOKENIZER_MIN_SIZE, more[i]);
        tokenizer_free(tokenizer);
    }
    learner_free(learner);
}
END_TEST

Suite *suite_learner(void)
{
    Suite *suite = suite_create("learner");
    TCase *tcase = tcase_create("learner");
    tcase_add_loop_test(tcase, learning_by_definition, 0, 2);
    tcase_add_loop_test(tcase, encoding_by_definition, 0, 2);
    tcase_add_test(tcase, order_of_texts_does_not_matter);
    tcase_add_test(tcase, sizes_of_vocabularies);
    suite_add_tcase(suite, tcase);
    return suite;
}
