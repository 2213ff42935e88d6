#include "data/pieces.h"

#include <string.h>
#include <utf8proc.h>

#include "text/utf8.h"

typedef enum Kind { KIND_OTHER, KIND_LETTER, KIND_DIGIT, KIND_EXTENDS } Kind;

/* By Unicode's general category; those not named are KIND_OTHER. */
static const unsigned char kinds[32] = {
    [UTF8PROC_CATEGORY_LU] = KIND_LETTER,  [UTF8PROC_CATEGORY_LL] = KIND_LETTER,  [UTF8PROC_CATEGORY_LT] = KIND_LETTER,
    [UTF8PROC_CATEGORY_LM] = KIND_LETTER,  [UTF8PROC_CATEGORY_LO] = KIND_LETTER,  [UTF8PROC_CATEGORY_ND] = KIND_DIGIT,
    [UTF8PROC_CATEGORY_NL] = KIND_DIGIT,   [UTF8PROC_CATEGORY_NO] = KIND_DIGIT,   [UTF8PROC_CATEGORY_MN] = KIND_EXTENDS,
    [UTF8PROC_CATEGORY_MC] = KIND_EXTENDS, [UTF8PROC_CATEGORY_ME] = KIND_EXTENDS, [UTF8PROC_CATEGORY_CF] = KIND_EXTENDS,
};

static Kind kind_of(int32_t code)
{
    if (code < 0x80) { /* the same, faster */
        const int32_t letter = code | 0x20;
        return letter >= 'a' && letter <= 'z' ? KIND_LETTER : code >= '0' && code <= '9' ? KIND_DIGIT : KIND_OTHER;
    }
    return (Kind)kinds[utf8proc_category(code)];
}

/* The length of the character at `i`, and its code point; 0 and -1 at the end of the text. */
static size_t look(const char *text, size_t n, size_t i, int32_t *code)
{
    *code = -1;
    return i < n ? utf8_decode(text + i, n - i, code) : 0;
}

/* Is the character `code`, which ends at `end`, an apostrophe before a letter? */
static int joins_letters(const char *text, size_t n, size_t end, int32_t code)
{
    if (code != '\'' && code != 0x2019) return 0;
    int32_t next;
    return look(text, n, end, &next) && kind_of(next) == KIND_LETTER;
}

void pieces_prepare(Text *out, const char *text, size_t n)
{
    text_normalize(out, text, n);
    if (!out->n) return;
    text_reserve(out, 1);
    memmove(out->data + 1, out->data, out->n);
    out->data[0] = ' ';
    out->n++;
}

size_t pieces_next(const char *text, size_t n)
{
    int32_t code;
    size_t i = text[0] == ' ', length = look(text, n, i, &code);
    if (!length) return i;
    Kind kind = kind_of(code);
    if (kind == KIND_EXTENDS) kind = KIND_OTHER;
    for (i += length; (length = look(text, n, i, &code)) && code != ' ' && i + length <= PIECES_MAX_BYTES; i += length) {
        Kind next = kind_of(code);
        if (next == KIND_EXTENDS || (next == kind && kind != KIND_DIGIT)) continue;
        if (kind == KIND_LETTER && joins_letters(text, n, i + length, code)) continue;
        break;
    }
    return i;
}

size_t pieces_next_word(const char *text, size_t n)
{
    size_t i = 1;
    while (i < n && i < PIECES_MAX_BYTES && text[i] != ' ') i++;
    while (i < n && ((uint8_t)text[i] & 0xC0) == 0x80) i--; /* not inside a character */
    return i;
}
