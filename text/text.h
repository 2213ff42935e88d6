/* A growable string that may hold any byte, NUL too, and the normal form of text. */
#ifndef FERRY_TEXT_TEXT_H
#define FERRY_TEXT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts as all zeros: `Text text = {0}`. Not NUL-terminated. */
typedef struct Text {
    char *data;
    size_t n, capacity; /* bytes */
} Text;

/* `bytes` must not lie in the text. */
void text_append(Text *text, const char *bytes, size_t n);
void text_append_code(Text *text, int32_t code);
/* printf at the end of the text. */
void text_append_format(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Room for n more bytes behind the text, not yet part of it. */
char *text_reserve(Text *text, size_t n);
void text_free(Text *text);

/* The normal form, in which text is learned, encoded and decoded; replaces what `out` held:
 *   1. ill-formed UTF-8: one U+FFFD for each maximal ill-formed part (as browsers and Python do);
 *   2. each run of blanks becomes one space, and none stays at either end. Blanks are the characters with the property
 *      White_Space: tab, newline, \v, \f, \r, space, U+0085, no-break space, U+1680, U+2000..200A, U+2028, U+2029, U+202F,
 *      U+205F, U+3000;
 *   3. Unicode's normalization form C.
 * All else stays as it is, NUL and other control characters too. The normal form of a normal form is itself. Takes time in
 * proportion to the length, also for long runs of combining marks. `bytes` must not lie in `out`. */
void text_normalize(Text *out, const char *bytes, size_t n);

/* Does the code point have the property White_Space? */
bool text_is_blank(int32_t code);

#endif
