/* The tokenizer's file. Bytes as they are, and below a header that fits them: a tokenizer that is written as the same file
 * again, or an error that names the file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "data/tokenizer_file.h"
#include "tests/fuzz/fuzz.h"

static Tokenizer *load(const Text *content, Error *error)
{
    FuzzFile file = fuzz_file(content->data, content->n);
    Tokenizer *tokenizer = tokenizer_file_load(file.path, error);
    CHECK(tokenizer || strstr(error->text, file.path), "no name in '%s'", error->text);
    fuzz_file_close(&file);
    return tokenizer;
}

static void put_header(Text *content, size_t n_lines, uint32_t hash)
{
    content->n = 0;
    text_append_format(content, "ferry tokenizer 1, %zu tokens, hash %08" PRIx32 "\n", TOKENIZER_MIN_SIZE + n_lines, hash);
}

/* The file is the text of its tokenizer, but for \r\n and the last newline. */
static void check_text(const Tokenizer *tokenizer, const Text *content)
{
    Text again = {0};
    tokenizer_file_format(tokenizer, &again);
    size_t at = content->n >= 3 && !memcmp(content->data, "\xEF\xBB\xBF", 3) ? 3 : 0;
    for (size_t i = 0; i < again.n; i++, at++) {
        if (again.data[i] == '\n' && at < content->n && content->data[at] == '\r') at++;
        CHECK(at < content->n ? again.data[i] == content->data[at] : i + 1 == again.n, "byte %zu", at);
    }
    text_free(&again);
}

/* Each token is found by what it looks like. */
static void check_tokens(const Tokenizer *tokenizer)
{
    Text shown = {0};
    for (int32_t token = 0; token < tokenizer_size(tokenizer); token++) {
        shown.n = 0;
        tokenizer_show(tokenizer, token, &shown);
        CHECK(tokenizer_find(tokenizer, shown.data, shown.n) == token, "token %d is shown as '%.*s'", (int)token, (int)shown.n,
              shown.data);
    }
    text_free(&shown);
}

int fuzz_tokenizer(const uint8_t *data, size_t size)
{
    Error error = {0};
    Text content = {0};
    text_append(&content, (const char *)data, size);
    Tokenizer *tokenizer = load(&content, &error);
    size_t n_lines = size && data[size - 1] != '\n';
    for (size_t i = 0; i < size; i++) n_lines += data[i] == '\n';
    if (!tokenizer) { /* the hash that fits is the one that the message tells */
        put_header(&content, n_lines, 0);
        text_append(&content, (const char *)data, size);
        tokenizer = load(&content, &error);
        uint32_t hash;
        const char *told = tokenizer ? NULL : strstr(error.text, "but the lines below give ");
        if (told && sscanf(told, "but the lines below give %" SCNx32, &hash) == 1) {
            put_header(&content, n_lines, hash);
            text_append(&content, (const char *)data, size);
            tokenizer = load(&content, &error);
            CHECK(tokenizer, "%s", error.text);
        }
    }
    if (tokenizer) {
        check_text(tokenizer, &content);
        check_tokens(tokenizer);
    }
    tokenizer_free(tokenizer);
    text_free(&content);
    return 0;
}
