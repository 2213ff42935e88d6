/* Cuts normal text into the pieces inside which pairs are merged. A piece is, with the one space before it if there is one,
 *   - a word: letters, and apostrophes (' and U+2019) between two letters ("l'homme", "don't"), or
 *   - one digit (any numeric character), or
 *   - a run of anything else: punctuation, symbols, emoji, control characters.
 * Combining marks and format characters (joiners, for instance) belong to what they follow. Pieces end to end give the text.
 * */
#ifndef FERRY_DATA_PIECES_H
#define FERRY_DATA_PIECES_H

#include <stddef.h>

#include "text/text.h"

/* A longer piece is cut: this bounds what merging costs where there are no blanks. */
enum { PIECES_MAX_BYTES = 1024 };

/* The normal form of the text with a space before it, so that a word at the start is the same as elsewhere; empty if the
 * text is blank. Replaces what `out` held. */
void pieces_prepare(Text *out, const char *text, size_t n);

/* The length in bytes, 1 .. PIECES_MAX_BYTES, of the first piece of prepared text (n >= 1). */
size_t pieces_next(const char *text, size_t n);

/* The same if pieces are what blanks separate, each with the space before it. */
size_t pieces_next_word(const char *text, size_t n);

#endif
