/* Tokens as people read and write them: those of a line, separated by blanks. */
#ifndef FERRY_TRANSLATE_TOKENS_H
#define FERRY_TRANSLATE_TOKENS_H

#include "data/tokenizer.h"
#include "text/text.h"

/* Append tokens as `ferry tokenize` prints them. */
void tokens_show(const Tokenizer *tokenizer, const int32_t *token, size_t n, Text *out);

/* Append the tokens of such a line. One that is none of the tokenizer's is an error. */
bool tokens_read(const Tokenizer *tokenizer, const char *line, size_t length, Tokens *tokens, Error *error);

/* The tokenizer alone of a model: `model` names a run folder, a checkpoint in one, or a tokenizer's file itself. NULL
 * on error. */
Tokenizer *tokens_open(const char *model, Error *error);

#endif
