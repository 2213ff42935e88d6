/* Translations as lines of text: plain, n-best lists, alignments. */
#ifndef FERRY_CLI_OUTPUT_H
#define FERRY_CLI_OUTPUT_H

#include "core/error.h"
#include "include/ferry.h"
#include "text/text.h"

typedef enum OutputAlignment {
    ALIGNMENT_NONE,
    ALIGNMENT_HARD,     /* i-j for each target token j: the source token i with the highest weight */
    ALIGNMENT_SOFT,     /* for each target token its weights over the source tokens and EOS, separated by commas */
    ALIGNMENT_COVERAGE, /* for each source token the sum of its weights: near 0 where it was not used */
} OutputAlignment;

typedef struct OutputFormat {
    bool tokenized; /* tokens as `ferry tokenize` prints them, not text */
    bool list;      /* all translations of a line, in the format of Moses: number of the line (from 0) ||| translation |||
                     * LogProb= .. Length= .. ||| score */
    OutputAlignment alignment; /* one more field, after ||| */
} OutputFormat;

/* "hard", "soft" or "coverage"; else a usage error. */
bool output_alignment(const char *word, OutputAlignment *alignment, Error *error);

/* Append the lines for line i of a result, the number of which is `number`. */
void output_append(const OutputFormat *format, int64_t number, const ferry_result *result, size_t i, Text *out);

#endif
