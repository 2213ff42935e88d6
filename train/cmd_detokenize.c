#include <string.h>

#include "train/tokenizer_lines.h"

static bool detokenize(const Tokenizer *tokenizer, TokenizerCache *cache, const char *line, size_t length, Text *out,
                       Error *error)
{
    (void)cache;
    Tokens tokens = {0};
    bool good = true;
    for (const char *end = line + length, *token = line; good && token < end;) {
        const char *stop = memchr(token, ' ', (size_t)(end - token));
        if (!stop) stop = end;
        if (stop > token) {
            int32_t number = tokenizer_find(tokenizer, token, (size_t)(stop - token));
            if (number < 0) good = error_set(error, "'%.*s' is not a token of this model", (int)(stop - token), token);
            else tokenizer_append(&tokens, number);
        }
        token = stop + 1;
    }
    if (good) tokenizer_decode(tokenizer, tokens.token, tokens.n, out);
    tokenizer_tokens_free(&tokens);
    return good;
}

bool cmd_detokenize(CommandLine *line, Error *error)
{
    return tokenizer_lines(line, detokenize, error);
}
