/* Translations as lines of text: plain, n-best lists, alignments. */
#ifndef FERRY_CLI_OUTPUT_H
#define FERRY_CLI_OUTPUT_H

#include "translate/translator.h"

typedef enum OutputAlignment {
    ALIGNMENT_NONE,
    ALIGNMENT_HARD,     /* i-j for each target token j: the source token i with the highest weight */
    ALIGNMENT_SOFT,     /* for each target token its weights over the source tokens and EOS, separated by commas */
    ALIGNMENT_COVERAGE, /* for each source token the sum of its weights: near 0 where it was not used */
} OutputAlignment;

typedef struct OutputFormat {
    const Tokenizer *tokenizer;
    bool tokenized; /* tokens as `ferry tokenize` prints them, not text */
    int n_best;     /* 0: the best one; else a list of up to n_best in the format of Moses: number of the line (from 0) |||
                     * translation ||| LogProb= .. Length= .. ||| score */
    OutputAlignment alignment; /* one more field, after ||| */
} OutputFormat;

/* "hard", "soft" or "coverage"; else a usage error. */
bool output_alignment(const char *word, OutputAlignment *alignment, Error *error);

/* Append the lines for one line of input. Of translations with the same text a list has the best one. */
void output_append(const OutputFormat *format, int64_t number, const Translated *translated, Text *out);
/* The same for a blank line, whose translation is blank. */
void output_append_blank(const OutputFormat *format, int64_t number, Text *out);

/* For translator.progress: shows the state on a Progress. */
void output_progress(void *progress, size_t n_done, size_t n);

#endif
