#include "cli/output.h"

#include <inttypes.h>
#include <string.h>

#include "core/memory.h"
#include "system/number.h"
#include "system/progress.h"
#include "translate/tokens.h"

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
static void append_hard(Text *out, const real *weight, int n_target, int n_source)
{
    for (int j = 0; j < n_target; j++, weight += n_source) {
        int best = 0;
        for (int i = 1; i < n_source - 1; i++)
            if (weight[i] > weight[best]) best = i;
        text_append_format(out, j ? " %d-%d" : "%d-%d", best, j);
    }
}

static void append_soft(Text *out, const real *weight, int n_target, int n_source)
{
    for (int j = 0; j < n_target; j++)
        for (int i = 0; i < n_source; i++, weight++) {
            if (i || j) text_append(out, i ? "," : " ", 1);
            append_weight(out, (double)*weight);
        }
}

static void append_coverage(Text *out, const real *weight, int n_target, int n_source)
{
    for (int i = 0; i < n_source - 1; i++) {
        double sum = 0;
        for (int j = 0; j < n_target; j++) sum += (double)weight[j * n_source + i];
        if (i) text_append(out, " ", 1);
        append_weight(out, sum);
    }
}

static void append_alignment(Text *out, OutputAlignment alignment, const real *weight, int n_target, int n_source)
{
    static void (*const append[])(Text *out, const real *weight, int n_target, int n_source) = {
        [ALIGNMENT_HARD] = append_hard, [ALIGNMENT_SOFT] = append_soft, [ALIGNMENT_COVERAGE] = append_coverage};
    if (alignment != ALIGNMENT_NONE) text_append(out, " ||| ", 5);
    if (alignment != ALIGNMENT_NONE && weight) append[alignment](out, weight, n_target, n_source);
}

/* One line. weight NULL: nothing is aligned. */
static void append_line(const OutputFormat *format, int64_t number, const Text *text, const Translation *t, int n_source,
                        const real *weight, Text *out)
{
    if (format->n_best) text_append_format(out, "%" PRId64 " ||| ", number);
    if (text->n) text_append(out, text->data, text->n);
    if (format->n_best) {
        text_append_format(out, " ||| LogProb= ");
        append_number(out, t->log_probability);
        text_append_format(out, " Length= %d ||| ", t->n);
        append_number(out, t->score);
    }
    append_alignment(out, format->alignment, weight, t->n, n_source);
    text_append(out, "\n", 1);
}

static void show(const OutputFormat *format, const Translation *t, Text *out)
{
    if (format->tokenized) tokens_show(format->tokenizer, t->token, (size_t)t->n, out);
    else tokenizer_decode(format->tokenizer, t->token, (size_t)t->n, out);
}

static bool among(const Text *text, int n, const Text *wanted)
{
    for (int i = 0; i < n; i++)
        if (text[i].n == wanted->n && (!wanted->n || !memcmp(text[i].data, wanted->data, wanted->n))) return true;
    return false;
}

void output_append(const OutputFormat *format, int64_t number, const Translated *translated, Text *out)
{
    const int most = format->n_best ? format->n_best : 1;
    Text *text = mem_zalloc(((size_t)most + 1) * sizeof *text);
    int n = 0, place = 0;
    for (const Translation *t = translated->best; t && n < most; t = t->next, place++) {
        text[n].n = 0;
        show(format, t, &text[n]);
        if (among(text, n, &text[n])) continue;
        append_line(format, number, &text[n++], t, translated->n_source,
                    translated->weight ? translated->weight[place] : NULL, out);
    }
    for (int i = 0; i <= most; i++) text_free(&text[i]);
    mem_free(text);
}

void output_append_blank(const OutputFormat *format, int64_t number, Text *out)
{
    append_line(format, number, &(Text){0}, &(Translation){0}, 0, NULL, out);
}

void output_progress(void *progress, size_t n_done, size_t n)
{
    progress_state(progress, "translated %zu of %zu lines", n_done, n);
}
