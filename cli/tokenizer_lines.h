/* What `ferry tokenize` and `ferry detokenize` share: lines through a function. */
#ifndef FERRY_CLI_TOKENIZER_LINES_H
#define FERRY_CLI_TOKENIZER_LINES_H

#include "cli/command.h"
#include "data/tokenizer.h"
#include "text/text.h"

/* Makes `out` (empty before) of a line; false with an error (file and line are put before it). */
typedef bool TokenizerLine(const Tokenizer *tokenizer, TokenizerCache *cache, const char *line, size_t length, Text *out,
                           Error *error);

/* Run `function` over the lines of the command's FILE or standard input with the tokenizer of its run, to standard output.
 */
bool tokenizer_lines(const CommandLine *line, TokenizerLine *function, Error *error);

#endif
