#include "cli/tokenizer_lines.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/models.h"
#include "data/lines.h"

enum { BLOCK_LINES = 2000 };

static void print(const ferry_result *result)
{
    ferry_translation t;
    FERRY_INIT(t);
    for (size_t i = 0; ferry_get(result, i, 0, &t); i++) {
        fwrite(t.text, 1, t.length, stdout);
        putchar('\n');
    }
}

/* What comes before a line that can't be read is printed all the same. */
static bool print_block(ferry_model *model, TokenizerLines *function, ModelLines *lines, const ferry_call *call,
                        Error *error)
{
    const char *const *line = models_lines(lines);
    ferry_error failure;
    FERRY_INIT(failure);
    ferry_result *result = function(model, line, lines->length, lines->n, call, &failure);
    const bool good = result != NULL;
    if (!good && failure.line > 0) result = function(model, line, lines->length, (size_t)failure.line, call, NULL);
    print(result);
    ferry_free(result);
    return good || models_failed(&failure, error);
}

bool tokenizer_lines(const CommandLine *line, TokenizerLines *function, Error *error)
{
    const char *path = line->n_arguments ? line->argument[0] : "-";
    LineReader *reader = lines_open(path, error);
    ferry_model *model = reader ? models_open(line, true, error) : NULL;
    /* What somebody may wait for is printed at once. */
    const size_t most = !strcmp(path, "-") && isatty(STDOUT_FILENO) ? 1 : BLOCK_LINES;
    ferry_call call;
    FERRY_INIT(call);
    if (reader) call.name = lines_name(reader);
    int got = 1;
    bool good = model != NULL;
    while (good && got == 1) {
        ModelLines lines = {0};
        const char *text;
        size_t length;
        call.first_line = lines_number(reader) + 1;
        while (lines.n < most && (got = lines_next(reader, &text, &length, error)) == 1)
            models_add_line(&lines, text, length);
        Error failure = {0};
        good = print_block(model, function, &lines, &call, &failure);
        if (!good) *error = failure;
        models_free_lines(&lines);
    }
    ferry_close(model);
    lines_close(reader);
    return good && got == 0;
}
