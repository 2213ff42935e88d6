/* Random text of the kind that breaks programs. */
#ifndef FERRY_TESTS_NASTY_H
#define FERRY_TESTS_NASTY_H

#include <check.h>

#include "data/text.h"

/* ck_assert for inner loops: that one writes to a file at each call. */
#define ENSURE(condition, ...)                                \
    do {                                                      \
        if (!(condition)) ck_abort_msg(#condition ": " __VA_ARGS__); \
    } while (0)

/* Text number i replaces what `out` held: up to 40 of: words, blanks of all kinds, NUL, control characters, marks, joined
 * emoji, right-to-left text, ill-formed UTF-8, names of special tokens, the space mark, escapes, any code point, any byte.
 * */
void nasty_text(Text *out, uint32_t i);

#endif
