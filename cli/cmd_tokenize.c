#include "cli/tokenizer_lines.h"
#include "translate/tokens.h"

static bool tokenize(const Tokenizer *tokenizer, TokenizerCache *cache, const char *line, size_t length, Text *out,
                     Error *error)
{
    (void)error;
    Tokens tokens = {0};
    tokenizer_encode(tokenizer, cache, line, length, &tokens);
    tokens_show(tokenizer, tokens.token, tokens.n, out);
    tokenizer_tokens_free(&tokens);
    return true;
}

bool cmd_tokenize(CommandLine *line, Error *error)
{
    return tokenizer_lines(line, tokenize, error);
}
