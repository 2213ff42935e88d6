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

/* Append tokens as `ferry tokenize` prints them, separated by blanks. */
void tokenizer_show_all(const Tokenizer *tokenizer, const int32_t *token, size_t n, Text *out);

/* Append the tokens of such a line. One that is none of the tokenizer's is an error. */
bool tokenizer_read_all(const Tokenizer *tokenizer, const char *line, size_t length, Tokens *tokens, Error *error);

#endif
