/* What `ferry tokenize` and `ferry detokenize` share: lines through a function of the library. */
#ifndef FERRY_CLI_TOKENIZER_LINES_H
#define FERRY_CLI_TOKENIZER_LINES_H

#include "cli/command.h"
#include "include/ferry.h"

typedef ferry_result *TokenizerLines(ferry_model *model, const char *const *lines, const size_t *lengths, size_t n,
                                     const ferry_call *call, ferry_error *error);

/* Run `function` over the lines of the command's FILE or standard input with the tokenizer of its run, to standard
 * output. */
bool tokenizer_lines(const CommandLine *line, TokenizerLines *function, Error *error);

#endif
