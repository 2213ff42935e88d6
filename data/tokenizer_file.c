#include "data/tokenizer_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "data/lines.h"
#include "data/visible.h"
#include "text/utf8.h"

static const char header_format[] = "ferry tokenizer 1, %" PRId32 " tokens, hash %08" PRIx32;

void tokenizer_file_format(const Tokenizer *tokenizer, Text *out)
{
    out->n = 0;
    text_append_format(out, header_format, tokenizer_size(tokenizer), tokenizer_hash(tokenizer));
    static const char *const words[] = {
        [TOKEN_SYMBOL] = "symbol", [TOKEN_CHARACTER] = "char", [TOKEN_MERGE] = "merge", [TOKEN_WORD] = "word"};
    for (int32_t token = TOKENIZER_FIRST_CHARACTER; token < tokenizer_size(tokenizer); token++) {
        const TokenKind kind = tokenizer_kind(tokenizer, token);
        int32_t left, right;
        text_append_format(out, "\n%s ", words[kind]);
        if (tokenizer_parts(tokenizer, token, &left, &right)) {
            tokenizer_show(tokenizer, left, out);
            text_append(out, " ", 1);
            tokenizer_show(tokenizer, right, out);
        } else {
            tokenizer_show(tokenizer, token, out);
        }
        token += kind == TOKEN_SYMBOL; /* the one with the space goes without saying */
    }
    text_append(out, "\n", 1);
}

/* ---- loading ---- */

/* Does the line begin with the word? Then step over it. */
static bool skip_word(const char **line, size_t *n, const char *word)
{
    size_t length = strlen(word);
    if (*n < length || memcmp(*line, word, length) != 0) return false;
    *line += length;
    *n -= length;
    return true;
}

/* "char X": what is wrong with it, or NULL. */
static const char *read_character(Tokenizer *tokenizer, const char *shown, size_t n)
{
    int32_t code = -1;
    Text text = {0};
    if (visible_parse(&text, shown, n) && text.n) {
        if (utf8_decode(text.data, text.n, &code) != text.n) code = -1;
    }
    text_free(&text);
    if (code < 0x80) return "not one character beyond ASCII";
    if (tokenizer_add_character(tokenizer, code) < 0) return "a character that is blank, comes twice, or after a merge";
    return NULL;
}

/* "merge X Y": what is wrong with it, or NULL. */
static const char *read_merge(Tokenizer *tokenizer, const char *shown, size_t n)
{
    const char *blank = memchr(shown, ' ', n);
    if (!blank) return "a merge needs two tokens";
    size_t n_left = (size_t)(blank - shown);
    int32_t left = tokenizer_find(tokenizer, shown, n_left), right = tokenizer_find(tokenizer, blank + 1, n - n_left - 1);
    if (left < 0 || right < 0) return "a merge of a token that no line before it makes";
    if (tokenizer_add_merge(tokenizer, left, right) < 0) return "a token that comes twice or can't be merged";
    return NULL;
}

/* "symbol X" or "word X": what is wrong with it, or NULL. */
static const char *read_whole(Tokenizer *tokenizer, const char *shown, size_t n,
                              int32_t (*add)(Tokenizer *tokenizer, const char *text, size_t n))
{
    Text text = {0};
    const bool good = visible_parse(&text, shown, n) && add(tokenizer, text.data ? text.data : "", text.n) >= 0;
    text_free(&text);
    return good ? NULL : "a token that comes twice, can't be one, or stands in the wrong place";
}

static const char *read_line(Tokenizer *tokenizer, const char *line, size_t n)
{
    if (!n) return "a blank line";
    if (skip_word(&line, &n, "char ")) return read_character(tokenizer, line, n);
    if (skip_word(&line, &n, "merge ")) return read_merge(tokenizer, line, n);
    if (skip_word(&line, &n, "symbol ")) return read_whole(tokenizer, line, n, tokenizer_add_symbol);
    if (skip_word(&line, &n, "word ")) return read_whole(tokenizer, line, n, tokenizer_add_word);
    return "not \"symbol X\", \"char X\", \"merge X Y\" or \"word X\"";
}

/* The header must be as header_format writes it. */
static bool read_header(const char *line, size_t n, int32_t *size, uint32_t *hash)
{
    char header[128], again[128];
    if (n >= sizeof header || memchr(line, 0, n)) return false;
    memcpy(header, line, n);
    header[n] = 0;
    /* NOLINTNEXTLINE(cert-err34-c): numbers that were misread are not written as the same header again */
    if (sscanf(header, "ferry tokenizer 1, %" SCNd32 " tokens, hash %" SCNx32, size, hash) != 2) return false;
    snprintf(again, sizeof again, header_format, *size, *hash);
    return !strcmp(header, again) && *size >= TOKENIZER_MIN_SIZE;
}

static bool load(LineReader *reader, Tokenizer *tokenizer, Error *error)
{
    static const char way_out[] = "restore the file from its run or a copy; a changed tokenizer doesn't fit the model";
    const char *line, *name = lines_name(reader);
    size_t n;
    int32_t size;
    uint32_t hash;
    int status = lines_next(reader, &line, &n, error);
    if (status < 0) return false;
    if (!status || !read_header(line, n, &size, &hash))
        return error_usage(error, "%s: line 1: not a tokenizer of this version of ferry (\"ferry tokenizer 1, ...\")", name);
    while ((status = lines_next(reader, &line, &n, error)) > 0) {
        const char *problem = tokenizer_size(tokenizer) < size ? read_line(tokenizer, line, n) : "a line too many";
        if (problem) return error_usage(error, "%s: line %" PRId64 ": %s; %s", name, lines_number(reader), problem, way_out);
    }
    if (status < 0) return false;
    if (tokenizer_size(tokenizer) != size)
        return error_usage(error, "%s: ends after line %" PRId64 " with %" PRId32 " of %" PRId32 " tokens; %s", name,
                           lines_number(reader), tokenizer_size(tokenizer), size, way_out);
    if (tokenizer_hash(tokenizer) != hash)
        return error_usage(error, "%s: line 1: hash %08" PRIx32 ", but the lines below give %08" PRIx32 ": they were changed; %s",
                           name, hash, tokenizer_hash(tokenizer), way_out);
    return true;
}

Tokenizer *tokenizer_file_load(const char *path, Error *error)
{
    LineReader *reader = lines_open(path, error);
    if (!reader) return NULL;
    Tokenizer *tokenizer = tokenizer_new();
    if (!load(reader, tokenizer, error)) {
        tokenizer_free(tokenizer);
        tokenizer = NULL;
    }
    lines_close(reader);
    return tokenizer;
}
