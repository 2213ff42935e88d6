/* N lines in, N lines out (or N lists of the best translations). Lines are read in blocks, so that batches are large and
 * memory is bounded; what is typed at a terminal is answered line by line. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/models.h"
#include "cli/output.h"
#include "core/memory.h"
#include "data/lines.h"
#include "system/progress.h"

enum { BLOCK_LINES = 2000 };

/* What the flags say. */
typedef struct Job {
    LineReader *lines, *prefixes; /* prefixes: the beginnings of translations, one a line; NULL: none */
    bool prefix_column;           /* they follow the source in its line, after a tab */
    size_t block;                 /* lines at a time */
    OutputFormat format;
    ferry_model *model;
    ferry_call call;
    Progress progress;
} Job;

/* Lines that are translated together. */
typedef struct Block {
    ModelLines source, prefix;
    int64_t first; /* the number of the first one */
} Block;

/* ---- reading ---- */

/* The beginning of the translation: from the other file, or from behind the tab. */
static bool read_prefix(const Job *job, Block *block, const char *tab, const char *end, Error *error)
{
    const char *line = "";
    size_t length = 0;
    if (job->prefix_column) {
        models_add_line(&block->prefix, tab ? tab + 1 : "", tab ? (size_t)(end - tab - 1) : 0);
        return true;
    }
    const int got = lines_next(job->prefixes, &line, &length, error);
    if (got == 0)
        return error_set(error, "%s ends after line %" PRId64 ", before %s does; it must have a line for each of its lines",
                         lines_name(job->prefixes), lines_number(job->prefixes), lines_name(job->lines));
    if (got > 0) models_add_line(&block->prefix, line, length);
    return got > 0;
}

/* The next line, to the block: 1, 0 at the end, -1 *error. */
static int read_line(const Job *job, Block *block, Error *error)
{
    const char *line;
    size_t length;
    const int got = lines_next(job->lines, &line, &length, error);
    if (got != 1) return got;
    const char *end = line + length, *tab = job->prefix_column && length ? memchr(line, '\t', length) : NULL;
    if ((job->prefix_column || job->prefixes) && !read_prefix(job, block, tab, end, error)) return -1;
    models_add_line(&block->source, line, (size_t)((tab ? tab : end) - line));
    return 1;
}

/* ---- translating ---- */

static bool write_result(const Job *job, const Block *block, const ferry_result *result, Error *error)
{
    Text out = {0};
    models_warn(result);
    for (size_t i = 0; i < ferry_n_lines(result); i++) {
        out.n = 0;
        output_append(&job->format, block->first + (int64_t)i - 1, result, i, &out);
        fwrite(out.data, 1, out.n, stdout);
    }
    text_free(&out);
    if (fflush(stdout) || ferror(stdout))
        return error_set(error, "cannot write to standard output: %s", strerror(errno));
    return true;
}

/* What comes before a line that can't be translated is translated all the same. */
static bool translate_block(Job *job, Block *block, Error *error)
{
    const char *const *source = models_lines(&block->source), *const *prefix = models_lines(&block->prefix);
    ferry_error failure, again;
    FERRY_INIT(failure);
    FERRY_INIT(again);
    job->call.first_line = block->first;
    job->call.prefixes = block->prefix.n ? prefix : NULL;
    job->call.prefix_lengths = block->prefix.length;
    const size_t *length = block->source.length;
    ferry_result *result = ferry_translate(job->model, source, length, block->source.n, &job->call, &failure);
    const bool whole = result != NULL;
    if (!whole && failure.line > 0)
        result = ferry_translate(job->model, source, length, (size_t)failure.line, &job->call, &again);
    progress_clear(&job->progress);
    const bool written = !result || write_result(job, block, result, error);
    ferry_free(result);
    return written && (whole || models_failed(&failure, error));
}

static bool translate(Job *job, Error *error)
{
    int got = 1;
    bool good = true;
    while (good && got == 1) {
        Block block = {.first = lines_number(job->lines) + 1};
        while (block.source.n < job->block && (got = read_line(job, &block, error)) == 1) continue;
        /* What was read before an error is still translated: the message then says where the text ends. */
        Error output = {0};
        if (block.source.n) good = translate_block(job, &block, &output);
        if (!good) *error = output;
        models_free_lines(&block.source);
        models_free_lines(&block.prefix);
    }
    return good && got == 0;
}

/* ---- the command ---- */

/* The library would say it in its own words, and not before a line is read. */
static bool check_n_best(const Options *options, int64_t n, Error *error)
{
    if (options->decode_sample)
        return error_usage(error, "--n-best lists what beam search finds; it doesn't go with decode.sample = yes");
    if (n > options->decode_beam)
        return error_usage(error,
                           "--n-best %" PRId64 ": a beam of %" PRId64
                           " finds at most so many translations; set --beam %" PRId64 " or more",
                           n, options->decode_beam, n);
    return true;
}

static bool set_n_best(Job *job, const CommandLine *line, Error *error)
{
    int64_t n;
    Options options;
    if (!command_number(line, FLAG_N_BEST, 1, INT64_MAX, &n, error)) return false;
    const bool good = models_options(job->model, &options, error) && check_n_best(&options, n, error);
    options_free(&options);
    job->call.n_best = (size_t)n;
    job->format.list = true;
    return good;
}

/* What the flags say. Readers that were opened must be closed also after an error. */
static bool open_job(Job *job, const CommandLine *line, Error *error)
{
    const char *path = line->n_arguments ? line->argument[0] : "-", *const *flag = line->flag;
    FERRY_INIT(job->call);
    job->call.tokenized = flag[FLAG_TOKENIZED_INPUT] != NULL;
    job->format.tokenized = flag[FLAG_TOKENIZED_OUTPUT] != NULL;
    job->call.distinct_tokens = job->format.tokenized;
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
    bool good = open_job(&job, line, error) && (job.model = models_open(line, false, error));
    if (good) {
        progress_init(&job.progress, stderr);
        job.call.name = lines_name(job.lines);
        job.call.other_name = job.prefixes ? lines_name(job.prefixes) : NULL;
        job.call.alignments = job.format.alignment != ALIGNMENT_NONE;
        job.call.progress_context = &job.progress;
        if (job.block > 1 && isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO)) job.call.progress = models_progress;
        good = (!line->flag[FLAG_N_BEST] || set_n_best(&job, line, error)) && translate(&job, error);
        ferry_close(job.model);
    }
    lines_close(job.prefixes);
    lines_close(job.lines);
    return good;
}
