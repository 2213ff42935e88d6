/* Encoding and decoding. A tokenizer is learned from the first half of the bytes; any text, whatever its bytes, is
 * encoded without special tokens and decoded to its normal form; any tokens decode to normal text; the tokenizer survives its
 * file. */
#include <string.h>

#include "data/learner.h"
#include "data/tokenizer_file.h"
#include "tests/fuzz/fuzz.h"

static bool same_text(const Text *a, const Text *b)
{
    return a->n == b->n && (!a->n || !memcmp(a->data, b->data, a->n));
}

static bool same_tokens(const Tokens *a, const Tokens *b)
{
    return a->n == b->n && (!a->n || !memcmp(a->token, b->token, a->n * sizeof *a->token));
}

static void check_text(const Tokenizer *tokenizer, TokenizerCache *cache, const char *bytes, size_t n)
{
    Tokens tokens = {0}, again = {0};
    Text normal = {0}, decoded = {0};
    tokenizer_encode(tokenizer, cache, bytes, n, &tokens);
    for (size_t i = 0; i < tokens.n; i++)
        CHECK(tokens.token[i] >= N_SPECIAL && tokens.token[i] < tokenizer_size(tokenizer), "token %d", (int)tokens.token[i]);
    tokenizer_decode(tokenizer, tokens.token, tokens.n, &decoded);
    text_normalize(&normal, bytes, n);
    CHECK(same_text(&normal, &decoded), "'%.*s' became '%.*s'", (int)normal.n, normal.data, (int)decoded.n, decoded.data);
    text_normalize(&decoded, normal.data, normal.n);
    CHECK(same_text(&normal, &decoded), "'%.*s' is not the normal form of itself", (int)normal.n, normal.data);
    tokenizer_encode(tokenizer, cache, normal.data, normal.n, &again);
    CHECK(same_tokens(&tokens, &again), "%zu and %zu tokens", tokens.n, again.n);
    tokenizer_tokens_free(&tokens);
    tokenizer_tokens_free(&again);
    text_free(&normal);
    text_free(&decoded);
}

/* The bytes as token numbers: what a model might say. */
static void check_tokens(const Tokenizer *tokenizer, const uint8_t *data, size_t size)
{
    Tokens tokens = {0};
    Text decoded = {0}, normal = {0};
    for (size_t i = 0; i + 1 < size; i += 2)
        tokenizer_append(&tokens, (data[i] | data[i + 1] << 8) % tokenizer_size(tokenizer));
    tokenizer_decode(tokenizer, tokens.token, tokens.n, &decoded);
    text_normalize(&normal, decoded.data, decoded.n);
    CHECK(same_text(&normal, &decoded), "'%.*s' is not normal", (int)decoded.n, decoded.data);
    tokenizer_tokens_free(&tokens);
    text_free(&decoded);
    text_free(&normal);
}

static void check_file(const Tokenizer *tokenizer)
{
    Error error = {0};
    Text content = {0};
    tokenizer_file_format(tokenizer, &content);
    FuzzFile file = fuzz_file(content.data, content.n);
    Tokenizer *again = tokenizer_file_load(file.path, &error);
    CHECK(again, "%s", error.text);
    CHECK(tokenizer_hash(again) == tokenizer_hash(tokenizer), "another hash");
    tokenizer_free(again);
    fuzz_file_close(&file);
    text_free(&content);
}

int fuzz_bpe(const uint8_t *data, size_t size)
{
    static TokenizerCache *cache;
    Error error = {0};
    const char *bytes = (const char *)data;
    if (!cache) cache = tokenizer_cache_new();
    Learner *learner = learner_new();
    for (int i = 0; i < 5; i++) learner_add(learner, bytes, size / 2); /* LEARNER_MIN_CHARACTER */
    Tokenizer *tokenizer = learner_finish(learner, TOKENIZER_MIN_SIZE + (size ? data[0] : 0), &error);
    if (!tokenizer) tokenizer = tokenizer_new();
    check_text(tokenizer, cache, bytes, size);
    check_text(tokenizer, cache, bytes + size / 2, size - size / 2);
    check_tokens(tokenizer, data, size);
    check_file(tokenizer);
    tokenizer_free(tokenizer);
    learner_free(learner);
    return 0;
}
