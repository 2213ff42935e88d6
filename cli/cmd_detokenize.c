#include "cli/tokenizer_lines.h"
#include "translate/tokens.h"

static bool detokenize(const Tokenizer *tokenizer, TokenizerCache *cache, const char *line, size_t length, Text *out,
                       Error *error)
{
    (void)cache;
    Tokens tokens = {0};
    const bool good = tokens_read(tokenizer, line, length, &tokens, error);
    if (good) tokenizer_decode(tokenizer, tokens.token, tokens.n, out);
    tokenizer_tokens_free(&tokens);
    return good;
}

bool cmd_detokenize(CommandLine *line, Error *error)
{
    return tokenizer_lines(line, detokenize, error);
}
