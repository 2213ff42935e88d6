/* How probable given translations are. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/tokenizer_lines.h"
#include "core/memory.h"
#include "data/batches.h"
#include "data/lines.h"
#include "model/score.h"
#include "system/number.h"
#include "translate/ensemble.h"

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
    else if (!tokenizer_read_all(tokenizer, line, length, tokens, error)) {
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

static int32_t longer_side(const Block *block, size_t i)
{
    const int32_t source = sequences_length(&block->source, i), target = sequences_length(&block->target, i);
    return source > target ? source : target;
}

/* Pairs first .. end - 1 as a batch. */
static Batch batch_of(Arena *arena, const Block *block, size_t first, size_t end, RaggedBuffer *source, RaggedBuffer *target)
{
    batches_fill_ragged(source, &block->source, NULL, end, first, INT32_MAX);
    batches_fill_ragged(target, &block->target, NULL, end, first, INT32_MAX);
    const Ragged *label = &target->ragged;
    int32_t *token = arena_alloc(arena, (size_t)label->n_tokens * sizeof *token);
    for (int s = 0; s < label->n_seq; s++)
        for (int32_t i = label->start[s]; i < label->start[s + 1]; i++)
            token[i] = i == label->start[s] ? TOKEN_BOS : label->token[i - 1];
    return (Batch){.source = source->ragged, .target = {label->n_seq, label->n_tokens, label->start, token},
                   .label = label->token};
}

static void print_number(const char *before, double value)
{
    char number[NUMBER_SIZE];
    printf("%s%s", before, number_write_real(number, value));
}

static void print_pair(const Job *job, const int32_t *label, const double *log_probability, int32_t n, Totals *totals)
{
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += log_probability[i];
    totals->log_probability += sum;
    totals->n_tokens += n;
    totals->n_sentences++;
    print_number("", sum);
    if (job->by_token) {
        Text tokens = {0};
        tokenizer_show_all(job->translator.tokenizer, label, (size_t)n, &tokens);
        printf("\t%.*s", (int)tokens.n, tokens.data);
        for (int32_t i = 0; i < n; i++) print_number(i ? " " : "\t", log_probability[i]);
        text_free(&tokens);
    }
    putchar('\n');
}

static void score_block(Job *job, const Block *block, Totals *totals)
{
    RaggedBuffer source = {0}, target = {0};
    Arena arena = {0};
    for (size_t first = 0, end; first < block->source.n; first = end) {
        int64_t n_tokens = 0;
        for (end = first; end < block->source.n; end++) {
            n_tokens += longer_side(block, end);
            if (end > first && n_tokens > job->translator.batch_tokens) break;
        }
        arena_reset(&arena);
        const Batch batch = batch_of(&arena, block, first, end, &source, &target);
        double *log_probability = arena_alloc(&arena, (size_t)batch.target.n_tokens * sizeof *log_probability);
        score_batch(&job->translator.search, &batch, log_probability);
        for (int s = 0; s < batch.target.n_seq; s++) {
            const int32_t start = batch.target.start[s];
            print_pair(job, batch.label + start, log_probability + start, batch.target.start[s + 1] - start, totals);
        }
    }
    batches_free_ragged(&source);
    batches_free_ragged(&target);
    arena_free(&arena);
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
        if (got >= 0) score_block(job, &block, totals);
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
