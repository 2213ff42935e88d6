#include "translate/tokens.h"

#include <string.h>

#include "core/memory.h"
#include "data/tokenizer_file.h"
#include "run/run.h"
#include "system/files.h"

void tokens_show(const Tokenizer *tokenizer, const int32_t *token, size_t n, Text *out)
{
    for (size_t i = 0; i < n; i++) {
        if (i) text_append(out, " ", 1);
        tokenizer_show(tokenizer, token[i], out);
    }
}

bool tokens_read(const Tokenizer *tokenizer, const char *line, size_t length, Tokens *tokens, Error *error)
{
    for (const char *end = line + length, *token = line; token < end;) {
        const char *stop = memchr(token, ' ', (size_t)(end - token));
        if (!stop) stop = end;
        if (stop > token) {
            int32_t number = tokenizer_find(tokenizer, token, (size_t)(stop - token));
            if (number < 0) return error_set(error, "'%.*s' is not a token of this model", (int)(stop - token), token);
            tokenizer_append(tokens, number);
        }
        token = stop + 1;
    }
    return true;
}

/* Free the path with mem_free. */
static char *find_tokenizer(const char *model)
{
    const char *name = path_name(model), *dot = strrchr(name, '.');
    const bool is_tokenizer = dot && !strcmp(dot, strrchr(RUN_TOKENIZER, '.'));
    char *folder = path_folder(model);
    char *inside = path_join(model, RUN_TOKENIZER), *beside = path_join(folder, RUN_TOKENIZER);
    char *found = mem_string(file_exists(inside) ? inside : !is_tokenizer && file_exists(beside) ? beside : model);
    mem_free(folder);
    mem_free(inside);
    mem_free(beside);
    return found;
}

Tokenizer *tokens_open(const char *model, Error *error)
{
    if (!file_exists(model)) {
        error_set(error, "there is no model %s (-m names the run folder of a trained model, or a checkpoint in it)",
                  model);
        return NULL;
    }
    char *path = find_tokenizer(model);
    Tokenizer *tokenizer = tokenizer_file_load(path, error);
    mem_free(path);
    return tokenizer;
}
