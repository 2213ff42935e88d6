/* Byte-pair encoding on raw text (Sennrich et al. 2016, with bytes under it as in GPT-2).
 *
 * Text is brought to its normal form (text/text.h), a space is put before it, and it is cut into pieces (data/pieces.h): a
 * word, a digit, or a run of punctuation, each with the space before it, if any. A piece is cut into characters; those that
 * the tokenizer doesn't know, into their bytes; then neighbouring tokens are merged, the earliest-learned pair first, the
 * leftmost first. So nothing is unknown, and decoding gives the normal form back, whatever the text.
 *
 * Symbols are strings that are kept whole wherever they stand (the longest one where several begin): each is two tokens, one
 * with the space before it and one without; what stands between symbols is cut into pieces as if alone.
 *
 * A tokenizer of words, for text that another program has tokenized, has no merges: its pieces are what blanks separate, and
 * a piece is one token if the tokenizer knows it, else its characters or bytes.
 *
 * Token numbers: N_SPECIAL special tokens, which no text produces and which decode to nothing; the 256 bytes, of which the
 * first 128 are the ASCII characters; symbols; other characters; merged pairs in the order in which they were learned, or
 * words. Bytes from 0x80 are never merged, so every other token is a whole number of characters. No two tokens have the same
 * text. */
#ifndef FERRY_DATA_TOKENIZER_H
#define FERRY_DATA_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/batch.h"
#include "core/error.h"
#include "core/random.h"
#include "text/text.h"

enum {
    TOKENIZER_FIRST_BYTE = N_SPECIAL,                     /* byte b is token TOKENIZER_FIRST_BYTE + b */
    TOKENIZER_FIRST_CHARACTER = TOKENIZER_FIRST_BYTE + 256,
    TOKENIZER_MIN_SIZE = TOKENIZER_FIRST_CHARACTER,       /* the smallest vocabulary */
    TOKENIZER_MAX_BYTES = 64,                             /* no token's text is longer */
};

/* Once built, a tokenizer never changes: threads may share it, each with a cache of its own. */
typedef struct Tokenizer Tokenizer;

/* What one thread needs to encode fast: the tokens of words seen before (a fixed 4 MB) and buffers. Another tokenizer than
 * the last makes it forget. */
typedef struct TokenizerCache TokenizerCache;

/* A growable array of tokens. Starts as all zeros. */
typedef struct Tokens {
    int32_t *token;
    size_t n, capacity;
} Tokens;

/* ---- use ---- */

/* Append the tokens of the text to `out`, without BOS and EOS; none for blank text. Time O(n log n) however long a word. */
void tokenizer_encode(const Tokenizer *tokenizer, TokenizerCache *cache, const char *text, size_t length, Tokens *out);

/* BPE-dropout (Provilkov et al. 2020, algorithm 1): append the tokens of the same text, merged anew, where each merge that is
 * due is left out with probability `dropout` until another has been made. `token` are those of a text, as tokenizer_encode
 * gives them; dropout 0 gives the same ones, 1 those of single characters. Symbols and words stay whole. Random numbers are
 * those of the stream from position `place` << 32 on. `text` is room to work in. */
void tokenizer_encode_again(const Tokenizer *tokenizer, const int32_t *token, size_t n, double dropout,
                            const RandomStream *stream, uint32_t place, Text *text, Tokens *out);

/* The text of the tokens replaces what `out` held: always in normal form, so well formed and without a newline, whatever the
 * tokens are. Special tokens print nothing. */
void tokenizer_decode(const Tokenizer *tokenizer, const int32_t *token, size_t n, Text *out);

/* The number of tokens, V. */
int32_t tokenizer_size(const Tokenizer *tokenizer);

/* CRC-32 of all that decides what the tokenizer does; two swapped merges give another one. */
uint32_t tokenizer_hash(const Tokenizer *tokenizer);

/* [V]: what each token is to the search, as a byte that utf8_next (text/utf8.h) takes. From UTF8_START, a token may follow
 * if
 *     state = utf8_next(state, byte[token])
 * is not UTF8_BAD. Tokens of whole characters, and EOS, count as an ASCII byte (allowed only where a character is complete),
 * bytes from 0x80 as themselves, and what must never be generated (PAD, BOS, control characters such as newline) as 0xFF. */
const uint8_t *tokenizer_utf8_bytes(const Tokenizer *tokenizer);

/* Append the token as people see it: space as U+2581, other characters that can't be seen as \u{hex}, as well as U+2581
 * itself; \\ for a backslash; <pad>, <s>, </s>, and <0xE2> for bytes from 0x80. Never contains a blank. */
void tokenizer_show(const Tokenizer *tokenizer, int32_t token, Text *out);

/* The token that is shown like this, or -1. */
int32_t tokenizer_find(const Tokenizer *tokenizer, const char *shown, size_t n);

/* One more token. */
void tokenizer_append(Tokens *tokens, int32_t token);

TokenizerCache *tokenizer_cache_new(void);
void tokenizer_cache_free(TokenizerCache *cache);
void tokenizer_tokens_free(Tokens *tokens);
void tokenizer_free(Tokenizer *tokenizer); /* NULL is allowed */

/* ---- building (data/learner.c and data/tokenizer_file.c) ---- */

/* Special tokens and bytes only. */
Tokenizer *tokenizer_new(void);

/* Add a symbol (normal text of at least two characters without blanks that shows as no other token), a character (from
 * U+0080, no blank), a merge of two tokens that may be merged, or a word (a piece, with the space before it); in this order,
 * and either merges or words. The new token, or -1 if there is a token with this text, it would be longer than
 * TOKENIZER_MAX_BYTES, or it can't be added. Of a symbol it is the token without the space; the next is the one with it. */
int32_t tokenizer_add_symbol(Tokenizer *tokenizer, const char *text, size_t n);
int32_t tokenizer_add_character(Tokenizer *tokenizer, int32_t code);
int32_t tokenizer_add_merge(Tokenizer *tokenizer, int32_t left, int32_t right);
int32_t tokenizer_add_word(Tokenizer *tokenizer, const char *text, size_t n);
/* Pieces are what blanks separate. Adding a word says so, too. */
void tokenizer_set_words(Tokenizer *tokenizer);

/* What a token from TOKENIZER_FIRST_CHARACTER on is. */
typedef enum TokenKind { TOKEN_SYMBOL, TOKEN_CHARACTER, TOKEN_MERGE, TOKEN_WORD } TokenKind;
TokenKind tokenizer_kind(const Tokenizer *tokenizer, int32_t token);

/* A walk over the pieces of prepared text (pieces_prepare), symbols being pieces of their own. */
typedef struct PieceCursor {
    const Tokenizer *tokenizer;
    const char *text; /* what is left */
    size_t n;
    size_t symbol_at, symbol_length; /* the next symbol, in `text`; symbol_at is n if there is none */
    int32_t symbol;
} PieceCursor;

PieceCursor tokenizer_pieces(const Tokenizer *tokenizer, const Text *prepared);
/* The next piece, its length to *n, and to *symbol its token if it is a symbol, else -1. NULL at the end. */
const char *tokenizer_next_piece(PieceCursor *cursor, size_t *n, int32_t *symbol);

/* The two tokens that a merged token was made of; false for others. The text of a token other than a special one. */
bool tokenizer_parts(const Tokenizer *tokenizer, int32_t token, int32_t *left, int32_t *right);
const char *tokenizer_bytes(const Tokenizer *tokenizer, int32_t token, size_t *n);

/* The token of a character, or -1 if it is left to its bytes. */
int32_t tokenizer_character(const Tokenizer *tokenizer, int32_t code);

#endif
