/* Text as people can see it, one word without blanks: a space is U+2581 (a low line), a backslash is two, and U+2581 itself,
 * control and format characters, blanks, unassigned and private characters, and combining marks with nothing to stand on are
 * \u{hex}. */
#ifndef FERRY_DATA_VISIBLE_H
#define FERRY_DATA_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>

#include "text/text.h"

/* Append the visible form of well-formed text. */
void visible_append(Text *out, const char *text, size_t n);

/* The text whose visible form this is replaces what `out` held. False, with `out` undefined, if it is that of none. */
bool visible_parse(Text *out, const char *shown, size_t n);

#endif
