#include "cli/output.h"

#include <inttypes.h>
#include <string.h>

#include "system/number.h"

bool output_alignment(const char *word, OutputAlignment *alignment, Error *error)
{
    static const char *const words[] = {
        [ALIGNMENT_HARD] = "hard", [ALIGNMENT_SOFT] = "soft", [ALIGNMENT_COVERAGE] = "coverage"};
    for (int i = ALIGNMENT_HARD; i <= ALIGNMENT_COVERAGE; i++)
        if (!strcmp(word, words[i])) {
            *alignment = (OutputAlignment)i;
            return true;
        }
    return error_usage(error, "--alignment '%s': expected hard, soft or coverage", word);
}

static void append_number(Text *out, double value)
{
    char number[NUMBER_SIZE];
    number_write_real(number, value);
    text_append(out, number, strlen(number));
}

/* Weights have so many digits as help anyone. */
static void append_weight(Text *out, double value)
{
    char number[NUMBER_SIZE];
    number_write_digits(number, value, 4);
    text_append(out, number, strlen(number));
}

/* weight: [n_target + 1, n_source], the last row and the last column being those of EOS */
static void append_hard(Text *out, const float *weight, size_t n_target, size_t n_source)
{
    for (size_t j = 0; j < n_target; j++, weight += n_source) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n_source; i++)
            if (weight[i] > weight[best]) best = i;
        text_append_format(out, j ? " %zu-%zu" : "%zu-%zu", best, j);
    }
}

static void append_soft(Text *out, const float *weight, size_t n_target, size_t n_source)
{
    for (size_t j = 0; j < n_target; j++)
        for (size_t i = 0; i < n_source; i++, weight++) {
            if (i || j) text_append(out, i ? "," : " ", 1);
            append_weight(out, (double)*weight);
        }
}

static void append_coverage(Text *out, const float *weight, size_t n_target, size_t n_source)
{
    for (size_t i = 0; i + 1 < n_source; i++) {
        double sum = 0;
        for (size_t j = 0; j < n_target; j++) sum += (double)weight[j * n_source + i];
        if (i) text_append(out, " ", 1);
        append_weight(out, sum);
    }
}

static void append_alignment(Text *out, OutputAlignment alignment, const float *weight, size_t n_target, size_t n_source)
{
    static void (*const append[])(Text *out, const float *weight, size_t n_target, size_t n_source) = {
        [ALIGNMENT_HARD] = append_hard, [ALIGNMENT_SOFT] = append_soft, [ALIGNMENT_COVERAGE] = append_coverage};
    if (alignment != ALIGNMENT_NONE) text_append(out, " ||| ", 5);
    if (alignment != ALIGNMENT_NONE && weight) append[alignment](out, weight, n_target, n_source);
}

void output_append(const OutputFormat *format, int64_t number, const ferry_result *result, size_t i, Text *out)
{
    ferry_translation t;
    FERRY_INIT(t);
    for (size_t place = 0; ferry_get(result, i, place, &t); place++) {
        if (format->list) text_append_format(out, "%" PRId64 " ||| ", number);
        if (format->tokenized) text_append(out, t.tokens, strlen(t.tokens));
        else text_append(out, t.text, t.length);
        if (format->list) {
            text_append_format(out, " ||| LogProb= ");
            append_number(out, t.log_probability);
            text_append_format(out, " Length= %zu ||| ", t.n_tokens);
            append_number(out, t.score);
        }
        append_alignment(out, format->alignment, t.alignment, t.n_tokens, t.n_source);
        text_append(out, "\n", 1);
    }
}
