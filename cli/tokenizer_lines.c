#include "cli/tokenizer_lines.h"

#include <inttypes.h>
#include <stdio.h>

#include "data/lines.h"
#include "translate/tokens.h"

bool tokenizer_lines(const CommandLine *line, TokenizerLine *function, Error *error)
{
    LineReader *reader = lines_open(line->n_arguments ? line->argument[0] : "-", error);
    Tokenizer *tokenizer = reader ? tokens_open(line->flag[FLAG_MODEL], error) : NULL;
    TokenizerCache *cache = tokenizer_cache_new();
    Text out = {0};
    const char *text;
    size_t length;
    int got = tokenizer ? 1 : -1;
    while (got == 1 && (got = lines_next(reader, &text, &length, error)) == 1) {
        out.n = 0;
        if (!function(tokenizer, cache, text, length, &out, error)) {
            error_context(error, "%s, line %" PRId64, lines_name(reader), lines_number(reader));
            got = -1;
            break;
        }
        fwrite(out.n ? out.data : "", 1, out.n, stdout);
        putchar('\n');
    }
    text_free(&out);
    tokenizer_cache_free(cache);
    tokenizer_free(tokenizer);
    lines_close(reader);
    return got == 0;
}
