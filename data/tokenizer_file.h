/* The tokenizer's file, tokenizer.bpe: UTF-8 text for people to read. The first line is
 *     ferry tokenizer 1, 10000 tokens, hash 89abcdef
 * with the format's version, the vocabulary's size and tokenizer_hash; then come the tokens in order of their numbers, one a
 * line, special tokens and bytes left out, as tokenizer_show shows them:
 *     symbol <2fr>     (with and without a space before it: two tokens)
 *     char é
 *     merge ▁t he
 * or, in the tokenizer of text that was tokenized by another program, words in place of merges:
 *     word ▁the
 */
#ifndef FERRY_DATA_TOKENIZER_FILE_H
#define FERRY_DATA_TOKENIZER_FILE_H

#include "data/tokenizer.h"

/* The file's content replaces what `out` held. */
void tokenizer_file_format(const Tokenizer *tokenizer, Text *out);

/* NULL and *error, with the file's name and line, unless the file is exactly as it was saved (line ends \r\n are forgiven).
 * Other content is a usage error. */
Tokenizer *tokenizer_file_load(const char *path, Error *error);

#endif
