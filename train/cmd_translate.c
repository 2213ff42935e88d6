/* N lines in, N lines out. Lines are read in blocks, so that batches are large and memory is bounded; what is typed at a
 * terminal is answered line by line. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "data/lines.h"
#include "train/command.h"
#include "train/run.h"
#include "train/translator.h"

enum { BLOCK_LINES = 2000 };

static bool write_lines(const Text *lines, size_t n, Error *error)
{
    for (size_t i = 0; i < n; i++) {
        if (lines[i].n) fwrite(lines[i].data, 1, lines[i].n, stdout);
        putchar('\n');
    }
    if (fflush(stdout) || ferror(stdout)) return error_set(error, "cannot write to standard output: %s", strerror(errno));
    return true;
}

static bool translate(Translator *translator, LineReader *reader, size_t block, Error *error)
{
    static Text in[BLOCK_LINES], out[BLOCK_LINES];
    int got = 1;
    bool good = true;
    while (good && got == 1) {
        const int64_t first = lines_number(reader) + 1;
        const char *line;
        size_t n = 0, length;
        while (n < block && (got = lines_next(reader, &line, &length, error)) == 1)
            text_append(&in[n++], line, length);
        /* What was read before an error is still translated: the message then says where the text ends. */
        translator_lines(translator, in, n, lines_name(reader), first, out);
        Error output = {0};
        good = write_lines(out, n, &output);
        if (!good) *error = output;
        for (size_t i = 0; i < n; i++) { /* or each place would keep the memory of its longest line so far */
            text_free(&in[i]);
            text_free(&out[i]);
        }
    }
    return good && got == 0;
}

bool cmd_translate(CommandLine *line, Error *error)
{
    const char *path = line->n_arguments ? line->argument[0] : "-";
    LineReader *reader = lines_open(path, error);
    if (!reader) return false;
    Run run;
    bool good = run_open(&run, line, error);
    if (good) {
        Translator translator;
        translator_init(&translator, run.model, run.tokenizer, &run.options);
        const bool typed = !strcmp(path, "-") && isatty(STDIN_FILENO);
        translator.reports = !typed && isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
        good = translate(&translator, reader, typed ? 1 : BLOCK_LINES, error);
        translator_free(&translator);
        run_close(&run);
    }
    lines_close(reader);
    return good;
}
