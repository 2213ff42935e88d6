/* Random text of the kind that breaks programs. */
#ifndef FERRY_TESTS_NASTY_H
#define FERRY_TESTS_NASTY_H

#include <check.h>

#include "data/tokenizer.h"
#include "text/text.h"

/* ck_assert for inner loops: that one writes to a file at each call. */
#define ENSURE(condition, ...)                                \
    do {                                                      \
        if (!(condition)) ck_abort_msg(#condition ": " __VA_ARGS__); \
    } while (0)

/* Text number i replaces what `out` held: up to 40 of: words, blanks of all kinds, NUL, control characters, marks, joined
 * emoji, right-to-left text, ill-formed UTF-8, names of special tokens, the space mark, escapes, any code point, any byte.
 * */
void nasty_text(Text *out, uint32_t i);

/* Words over three letters, so that pairs repeat and overlap ("aaaa"), with ties in plenty. */
void nasty_few_letters(Text *out, uint32_t i);

/* The tokenizer of at most vocab_size tokens that is learned from texts 0 .. n_texts-1 of one of the two above. */
Tokenizer *nasty_tokenizer(void (*text_of)(Text *out, uint32_t i), uint32_t n_texts, int vocab_size);

#endif
