#include "data/visible.h"

#include <string.h>
#include <utf8proc.h>

#include "text/utf8.h"

enum { SPACE_MARK = 0x2581, LAST_CODE = 0x10FFFF };

static bool must_escape(int32_t code, bool at_start)
{
    switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_CC: case UTF8PROC_CATEGORY_CF: case UTF8PROC_CATEGORY_CS: case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN: case UTF8PROC_CATEGORY_ZS: case UTF8PROC_CATEGORY_ZL: case UTF8PROC_CATEGORY_ZP:
        return true;
    case UTF8PROC_CATEGORY_MN: case UTF8PROC_CATEGORY_MC: case UTF8PROC_CATEGORY_ME:
        return at_start;
    default:
        return code == SPACE_MARK;
    }
}

void visible_append(Text *out, const char *text, size_t n)
{
    bool at_start = true;
    for (size_t i = 0; i < n;) {
        int32_t code;
        i += utf8_decode(text + i, n - i, &code);
        if (code < 0) code = UTF8_REPLACEMENT;
        if (code == ' ') text_append_code(out, SPACE_MARK);
        else if (code == '\\') text_append(out, "\\\\", 2);
        else if (must_escape(code, at_start)) text_append_format(out, "\\u{%X}", (unsigned)code);
        else text_append_code(out, code);
        at_start = code == ' ';
    }
}

/* Read what follows a backslash; the bytes read, or 0. */
static size_t parse_escape(const char *shown, size_t n, int32_t *code)
{
    static const char digits[] = "0123456789ABCDEF";
    if (n && shown[0] == '\\') {
        *code = '\\';
        return 1;
    }
    if (n < 4 || memcmp(shown, "u{", 2) != 0) return 0;
    *code = 0;
    for (size_t i = 2; i < n; i++) {
        if (shown[i] == '}') return i > 2 && (*code < 0xD800 || *code > 0xDFFF) ? i + 1 : 0;
        const char *digit = memchr(digits, shown[i], 16);
        if (!digit) return 0;
        *code = 16 * *code + (int32_t)(digit - digits);
        if (*code > LAST_CODE) return 0;
    }
    return 0;
}

static bool parse(Text *out, const char *shown, size_t n)
{
    out->n = 0;
    for (size_t i = 0; i < n;) {
        int32_t code;
        i += utf8_decode(shown + i, n - i, &code);
        if (code < 0 || text_is_blank(code)) return false;
        if (code == SPACE_MARK) code = ' ';
        else if (code == '\\') {
            size_t length = parse_escape(shown + i, n - i, &code);
            if (!length) return false;
            i += length;
        }
        text_append_code(out, code);
    }
    return true;
}

bool visible_parse(Text *out, const char *shown, size_t n)
{
    if (!parse(out, shown, n)) return false;
    Text again = {0}; /* \u{61} is no way to write "a", nor is a control character to stand there unescaped */
    visible_append(&again, out->data, out->n);
    const bool same = again.n == n && (!n || !memcmp(again.data, shown, n));
    text_free(&again);
    return same;
}
