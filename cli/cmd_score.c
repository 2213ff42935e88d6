/* How probable given translations are. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/models.h"
#include "data/lines.h"
#include "system/number.h"

enum { BLOCK_LINES = 2000 };

/* Pairs of lines that are read, and scored, together. */
typedef struct Block {
    ModelLines source, target;
    int64_t first; /* the number of the first pair */
} Block;

typedef struct Totals {
    double log_probability;
    int64_t n_tokens, n_sentences;
} Totals;

typedef struct Job {
    LineReader *source, *target;
    ferry_model *model;
    ferry_call call;
} Job;

/* The next pair, to the block: 1, 0 at the end, -1 *error. */
static int read_pair(const Job *job, Block *block, Error *error)
{
    const char *line;
    size_t length;
    const int got = lines_next(job->source, &line, &length, error);
    if (got < 0) return -1;
    if (got) models_add_line(&block->source, line, length);
    const int got_target = lines_next(job->target, &line, &length, error);
    if (got_target < 0) return -1;
    if (got != got_target) {
        const LineReader *shorter = got ? job->target : job->source, *longer = got ? job->source : job->target;
        error_set(error, "%s ends after line %" PRId64 ", before %s does; line n of one must translate line n of the other",
                  lines_name(shorter), lines_number(shorter), lines_name(longer));
        return -1;
    }
    if (got) models_add_line(&block->target, line, length);
    return got;
}

/* ---- scoring ---- */

static void print_number(const char *before, double value)
{
    char number[NUMBER_SIZE];
    printf("%s%s", before, number_write_real(number, value));
}

static void print_pair(const ferry_translation *t, bool by_token)
{
    print_number("", t->log_probability);
    if (by_token) {
        printf("\t%s%s</s>", t->tokens, t->n_tokens ? " " : "");
        for (size_t i = 0; i <= t->n_tokens; i++) print_number(i ? " " : "\t", t->token_scores[i]);
    }
    putchar('\n');
}

static void print_block(const Job *job, const ferry_result *result, Totals *totals)
{
    ferry_translation t;
    FERRY_INIT(t);
    for (size_t i = 0; ferry_get(result, i, 0, &t); i++) {
        totals->log_probability += t.log_probability;
        totals->n_tokens += (int64_t)t.n_tokens + 1;
        totals->n_sentences++;
        print_pair(&t, job->call.token_scores);
    }
}

/* Score the pairs that are whole. NULL and *error if they can't be. */
static ferry_result *score_block(Job *job, Block *block, Error *error)
{
    ferry_error failure;
    FERRY_INIT(failure);
    job->call.first_line = block->first;
    ferry_result *result = ferry_score(job->model, models_lines(&block->source), block->source.length,
                                       models_lines(&block->target), block->target.length, block->target.n,
                                       &job->call, &failure);
    models_warn(result);
    if (!result) models_failed(&failure, error);
    return result;
}

static bool score(Job *job, Totals *totals, Error *error)
{
    int got = 1;
    bool good = true;
    while (good && got == 1) {
        Block block = {.first = lines_number(job->source) + 1};
        while (block.target.n < BLOCK_LINES && (got = read_pair(job, &block, error)) == 1) continue;
        /* Where reading failed nothing is printed, but an error in a line before comes first. */
        ferry_result *result = score_block(job, &block, error);
        good = result != NULL;
        if (got >= 0) print_block(job, result, totals);
        ferry_free(result);
        models_free_lines(&block.source);
        models_free_lines(&block.target);
        if (fflush(stdout)) good = error_set(error, "cannot write to standard output: %s", strerror(errno));
    }
    return good && got == 0;
}

static void report(const Totals *totals)
{
    char perplexity[NUMBER_SIZE];
    const double mean = totals->n_tokens ? -totals->log_probability / (double)totals->n_tokens : 0;
    fprintf(stderr, "perplexity %s: %" PRId64 " sentence%s, %" PRId64 " token%s (ends counted)\n",
            number_write_digits(perplexity, exp(mean), 6), totals->n_sentences, plural(totals->n_sentences), totals->n_tokens,
            plural(totals->n_tokens));
}

bool cmd_score(CommandLine *line, Error *error)
{
    Job job = {0};
    if (!strcmp(line->argument[0], "-") && !strcmp(line->argument[1], "-"))
        return error_usage(error, "standard input can't be both SOURCE and TARGET");
    bool good = (job.source = lines_open(line->argument[0], error)) && (job.target = lines_open(line->argument[1], error)) &&
                (job.model = models_open(line, false, error));
    if (good) {
        Totals totals = {0};
        FERRY_INIT(job.call);
        job.call.tokenized = line->flag[FLAG_TOKENIZED_INPUT] != NULL;
        job.call.token_scores = line->flag[FLAG_TOKEN_SCORES] != NULL;
        job.call.name = lines_name(job.source);
        job.call.other_name = lines_name(job.target);
        good = score(&job, &totals, error);
        if (good) report(&totals);
        ferry_close(job.model);
    }
    lines_close(job.source);
    lines_close(job.target);
    return good;
}
