/* What `ferry tokenize` and `ferry detokenize` share: lines through a function. */
#ifndef FERRY_TRAIN_TOKENIZER_LINES_H
#define FERRY_TRAIN_TOKENIZER_LINES_H

#include "data/text.h"
#include "data/tokenizer.h"
#include "train/command.h"

/* Makes `out` (empty before) of a line; false with an error (file and line are put before it). */
typedef bool TokenizerLine(const Tokenizer *tokenizer, TokenizerCache *cache, const char *line, size_t length, Text *out,
                           Error *error);

/* Run `function` over the lines of the command's FILE or standard input with the tokenizer of its run, to standard output.
 */
bool tokenizer_lines(const CommandLine *line, TokenizerLine *function, Error *error);

#endif
