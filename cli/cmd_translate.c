/* N lines in, N lines out (or N lists of the best translations). Lines are read in blocks, so that batches are large and
 * memory is bounded; what is typed at a terminal is answered line by line. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/output.h"
#include "core/memory.h"
#include "data/lines.h"
#include "system/number.h"
#include "system/progress.h"
#include "translate/ensemble.h"
#include "translate/tokens.h"

enum { BLOCK_LINES = 2000 };

/* What the flags say. */
typedef struct Job {
    LineReader *lines, *prefixes; /* prefixes: the beginnings of translations, one a line; NULL: none */
    bool prefix_column;           /* they follow the source in its line, after a tab */
    bool tokenized_input;
    int block; /* lines at a time */
    OutputFormat format;
    Translator translator;
    Progress progress;
} Job;

/* Lines that are translated together. */
typedef struct Block {
    Sequences source, prefix;
    int n;
    int64_t first;         /* the number of the first one */
    Text out[BLOCK_LINES]; /* what to write for each */
    const OutputFormat *format;
} Block;

static bool write_lines(const Text *lines, int n, Error *error)
{
    for (int i = 0; i < n; i++) fwrite(lines[i].data, 1, lines[i].n, stdout);
    if (fflush(stdout) || ferror(stdout)) return error_set(error, "cannot write to standard output: %s", strerror(errno));
    return true;
}

/* ---- reading ---- */

/* The tokens of a text from the reader's present line; special ones can't be given. */
static bool read_tokens(const Job *job, const LineReader *reader, const char *text, size_t n, Tokens *tokens, Error *error)
{
    const Tokenizer *tokenizer = job->format.tokenizer;
    tokens->n = 0;
    if (!job->tokenized_input) {
        tokenizer_encode(tokenizer, job->translator.cache, text, n, tokens);
        return true;
    }
    bool good = tokens_read(tokenizer, text, n, tokens, error);
    for (size_t i = 0; i < tokens->n && good; i++)
        if (tokens->token[i] < N_SPECIAL)
            good = error_set(error, "<s>, </s> and <pad> stand for no text and can't be translated");
    return good || error_context(error, "%s, line %" PRId64, lines_name(reader), lines_number(reader));
}

/* The beginning of the translation: from the other file, or from behind the tab. */
static bool read_prefix(const Job *job, const char *tab, const char *end, Tokens *tokens, Error *error)
{
    tokens->n = 0;
    if (job->prefix_column) return !tab || read_tokens(job, job->lines, tab + 1, (size_t)(end - tab - 1), tokens, error);
    const char *line;
    size_t length;
    const int got = lines_next(job->prefixes, &line, &length, error);
    if (got == 0)
        return error_set(error, "%s ends after line %" PRId64 ", before %s does; it must have a line for each of its lines",
                         lines_name(job->prefixes), lines_number(job->prefixes), lines_name(job->lines));
    return got > 0 && read_tokens(job, job->prefixes, line, length, tokens, error);
}

/* The next line, to the block: 1, 0 at the end, -1 *error. */
static int read_line(const Job *job, Block *block, Tokens *source, Tokens *prefix, Error *error)
{
    const char *line;
    size_t length;
    const int got = lines_next(job->lines, &line, &length, error);
    if (got != 1) return got;
    const char *end = line + length, *tab = job->prefix_column && length ? memchr(line, '\t', length) : NULL;
    if (!read_tokens(job, job->lines, line, (size_t)((tab ? tab : end) - line), source, error)) return -1;
    if (job->prefix_column || job->prefixes) {
        if (!read_prefix(job, tab, end, prefix, error)) return -1;
        sequences_append(&block->prefix, prefix->token, prefix->n);
    }
    translator_append(&job->translator, source, lines_name(job->lines), lines_number(job->lines), &block->source);
    block->out[block->n++].n = 0;
    return 1;
}

/* ---- translating ---- */

static void take(void *context, const Translated *translated)
{
    Block *block = context;
    const int64_t number = block->first + (int64_t)translated->index;
    output_append(block->format, number - 1, translated, &block->out[translated->index]);
}

static bool translate_block(Job *job, Block *block, Error *error)
{
    const bool given = job->prefix_column || job->prefixes;
    translator_run(&job->translator, &block->source, given ? &block->prefix : NULL, block->first, take, block);
    progress_clear(&job->progress);
    for (int i = 0; i < block->n; i++)
        if (!block->out[i].n) output_append_blank(&job->format, block->first + i - 1, &block->out[i]);
    return write_lines(block->out, block->n, error);
}

static bool translate(Job *job, Error *error)
{
    Block *block = mem_zalloc(sizeof *block);
    block->format = &job->format;
    const int32_t n_tokens = tokenizer_size(job->format.tokenizer);
    Tokens source = {0}, prefix = {0};
    int got = 1;
    bool good = true;
    while (good && got == 1) {
        block->source = sequences_new(n_tokens);
        block->prefix = sequences_new(n_tokens);
        block->n = 0;
        block->first = lines_number(job->lines) + 1;
        while (block->n < job->block && (got = read_line(job, block, &source, &prefix, error)) == 1) continue;
        /* What was read before an error is still translated: the message then says where the text ends. */
        Error output = {0};
        good = translate_block(job, block, &output);
        if (!good) *error = output;
        sequences_free(&block->source);
        sequences_free(&block->prefix);
        for (int i = 0; i < block->n; i++) text_free(&block->out[i]); /* or each would keep the memory of its longest */
    }
    mem_free(block);
    tokenizer_tokens_free(&source);
    tokenizer_tokens_free(&prefix);
    return good && got == 0;
}

/* ---- the command ---- */

static bool set_n_best(Job *job, const CommandLine *line, Error *error)
{
    int64_t n;
    if (!command_number(line, FLAG_N_BEST, 1, INT64_MAX, &n, error)) return false;
    SearchOptions *search = &job->translator.limits;
    if (search->sample)
        return error_usage(error, "--n-best lists what beam search finds; it doesn't go with decode.sample = yes");
    if (n > search->beam_size)
        return error_usage(error,
                           "--n-best %" PRId64 ": a beam of %d finds at most so many translations; set --beam %" PRId64
                           " or more",
                           n, search->beam_size, n);
    job->format.n_best = (int)n;
    search->n_best = search->beam_size; /* some may have the same text */
    return true;
}

/* What the flags say. Readers that were opened must be closed also after an error. */
static bool open_job(Job *job, const CommandLine *line, Error *error)
{
    const char *path = line->n_arguments ? line->argument[0] : "-", *const *flag = line->flag;
    job->tokenized_input = flag[FLAG_TOKENIZED_INPUT] != NULL;
    job->format.tokenized = flag[FLAG_TOKENIZED_OUTPUT] != NULL;
    job->prefix_column = flag[FLAG_PREFIX_COLUMN] != NULL;
    if (flag[FLAG_ALIGNMENT] && !output_alignment(flag[FLAG_ALIGNMENT], &job->format.alignment, error)) return false;
    if (flag[FLAG_PREFIX] && job->prefix_column)
        return error_usage(error, "--prefix and --prefix-column are two places for the same thing; give one of them");
    if (flag[FLAG_PREFIX] && !strcmp(flag[FLAG_PREFIX], "-") && !strcmp(path, "-"))
        return error_usage(error, "standard input can't be both the text and its --prefix");
    const bool typed = !strcmp(path, "-") && isatty(STDIN_FILENO);
    job->block = typed || flag[FLAG_LINE_BUFFERED] ? 1 : BLOCK_LINES;
    if (!(job->lines = lines_open(path, error))) return false;
    return !flag[FLAG_PREFIX] || (job->prefixes = lines_open(flag[FLAG_PREFIX], error));
}

bool cmd_translate(CommandLine *line, Error *error)
{
    Job job = {0};
    Ensemble ensemble;
    bool good = open_job(&job, line, error) && ensemble_open(&ensemble, line->model, line->n_models, &line->settings, error);
    if (good) {
        ensemble_translator(&ensemble, &job.translator);
        job.format.tokenizer = job.translator.tokenizer;
        job.translator.aligns = job.format.alignment != ALIGNMENT_NONE;
        progress_init(&job.progress, stderr);
        job.translator.progress_context = &job.progress;
        if (job.block > 1 && isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO)) job.translator.progress = output_progress;
        good = (!line->flag[FLAG_N_BEST] || set_n_best(&job, line, error)) && translate(&job, error);
        translator_free(&job.translator);
        ensemble_close(&ensemble);
    }
    lines_close(job.prefixes);
    lines_close(job.lines);
    return good;
}
