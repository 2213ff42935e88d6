/* How probable given translations are. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "core/memory.h"
#include "data/lines.h"
#include "system/number.h"
#include "translate/ensemble.h"
#include "translate/scorer.h"
#include "translate/tokens.h"

enum { BLOCK_LINES = 2000 };

/* Pairs of lines that are read, and scored, together. */
typedef struct Block {
    Sequences source, target; /* both with EOS */
} Block;

typedef struct Totals {
    double log_probability;
    int64_t n_tokens, n_sentences;
} Totals;

typedef struct Job {
    LineReader *source, *target;
    Translator translator;
    bool tokenized; /* the input is */
    bool by_token;  /* the output is */
} Job;

/* The tokens of the reader's next line: 1, 0 at the end, -1 *error. */
static int read_tokens(const Job *job, LineReader *reader, Tokens *tokens, Error *error)
{
    const Tokenizer *tokenizer = job->translator.tokenizer;
    const char *line;
    size_t length;
    const int got = lines_next(reader, &line, &length, error);
    tokens->n = 0;
    if (got != 1) return got;
    if (!job->tokenized) tokenizer_encode(tokenizer, job->translator.cache, line, length, tokens);
    else if (!tokens_read(tokenizer, line, length, tokens, error)) {
        error_context(error, "%s, line %" PRId64, lines_name(reader), lines_number(reader));
        return -1;
    }
    return 1;
}

/* The next pair, to the block: 1, 0 at the end, -1 *error. */
static int read_pair(const Job *job, Block *block, Tokens *tokens, Error *error)
{
    const int got = read_tokens(job, job->source, tokens, error);
    if (got < 0) return -1;
    if (got) translator_append(&job->translator, tokens, lines_name(job->source), lines_number(job->source), &block->source);
    const int got_target = read_tokens(job, job->target, tokens, error);
    if (got_target < 0) return -1;
    if (got != got_target) {
        const LineReader *shorter = got ? job->target : job->source, *longer = got ? job->source : job->target;
        error_set(error, "%s ends after line %" PRId64 ", before %s does; line n of one must translate line n of the other",
                  lines_name(shorter), lines_number(shorter), lines_name(longer));
        return -1;
    }
    if (!got) return 0;
    translator_append(&job->translator, tokens, lines_name(job->target), lines_number(job->target), &block->target);
    return 1;
}

/* ---- scoring ---- */

static void print_number(const char *before, double value)
{
    char number[NUMBER_SIZE];
    printf("%s%s", before, number_write_real(number, value));
}

typedef struct Printer {
    const Job *job;
    Totals *totals;
} Printer;

static void print_pair(void *context, const Scored *scored)
{
    const Printer *printer = context;
    printer->totals->log_probability += scored->log_probability;
    printer->totals->n_tokens += scored->n;
    printer->totals->n_sentences++;
    print_number("", scored->log_probability);
    if (printer->job->by_token) {
        Text tokens = {0};
        tokens_show(printer->job->translator.tokenizer, scored->token, (size_t)scored->n, &tokens);
        printf("\t%.*s", (int)tokens.n, tokens.data);
        for (int i = 0; i < scored->n; i++) print_number(i ? " " : "\t", scored->score[i]);
        text_free(&tokens);
    }
    putchar('\n');
}

static bool score(Job *job, Totals *totals, Error *error)
{
    const int32_t n_tokens = tokenizer_size(job->translator.tokenizer);
    Tokens tokens = {0};
    int got = 1;
    bool good = true;
    while (good && got == 1) {
        Block block = {sequences_new(n_tokens), sequences_new(n_tokens)};
        while (block.target.n < BLOCK_LINES && (got = read_pair(job, &block, &tokens, error)) == 1) continue;
        if (got >= 0) scorer_run(&job->translator, &block.source, &block.target, print_pair, &(Printer){job, totals});
        sequences_free(&block.source);
        sequences_free(&block.target);
        if (fflush(stdout)) good = error_set(error, "cannot write to standard output: %s", strerror(errno));
    }
    tokenizer_tokens_free(&tokens);
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
    Job job = {.tokenized = line->flag[FLAG_TOKENIZED_INPUT] != NULL, .by_token = line->flag[FLAG_TOKEN_SCORES] != NULL};
    Ensemble ensemble;
    if (!strcmp(line->argument[0], "-") && !strcmp(line->argument[1], "-"))
        return error_usage(error, "standard input can't be both SOURCE and TARGET");
    bool good = (job.source = lines_open(line->argument[0], error)) && (job.target = lines_open(line->argument[1], error)) &&
                ensemble_open(&ensemble, line->model, line->n_models, &line->settings, error);
    if (good) {
        Totals totals = {0};
        ensemble_translator(&ensemble, &job.translator);
        good = score(&job, &totals, error);
        if (good) report(&totals);
        translator_free(&job.translator);
        ensemble_close(&ensemble);
    }
    lines_close(job.source);
    lines_close(job.target);
    return good;
}
