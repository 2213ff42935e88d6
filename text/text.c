#include "text/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "core/error.h"
#include "core/memory.h"
#include "text/utf8.h"

char *text_reserve(Text *text, size_t n)
{
    if (!text->data || n > text->capacity - text->n) { /* in C, not even 0 may be added to NULL */
        size_t capacity = 2 * text->capacity > text->n + n ? 2 * text->capacity : text->n + n;
        text->data = mem_resize(text->data, text->n, capacity);
        text->capacity = capacity;
    }
    return text->data + text->n;
}

void text_append(Text *text, const char *bytes, size_t n)
{
    if (!n) return;
    memcpy(text_reserve(text, n), bytes, n);
    text->n += n;
}

void text_append_code(Text *text, int32_t code)
{
    text->n += utf8_encode(code, text_reserve(text, 4));
}

void text_append_format(Text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    CHECK(n >= 0, "format %s", format);
    va_start(args, format);
    vsnprintf(text_reserve(text, (size_t)n + 1), (size_t)n + 1, format, args);
    va_end(args);
    text->n += (size_t)n;
}

void text_free(Text *text)
{
    mem_free(text->data);
    *text = (Text){0};
}

bool text_is_blank(int32_t code)
{
    if (code < 0x80) return code == ' ' || (code >= '\t' && code <= '\r');
    return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
           code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

/* ---- normalization form C ---- */

/* May the character change by itself or with its neighbours? Nothing below the combining marks does, nor do the dashes,
 * quotation marks and ellipses of printed text. */
static bool touched_by_nfc(int32_t code)
{
    return code >= 0x300 && !(code >= 0x2010 && code <= 0x2027) && code != UTF8_REPLACEMENT;
}

static int combining_class(int32_t code)
{
    return utf8proc_get_property(code)->combining_class;
}

/* Sort the n marks by combining class, equal ones in their order, by counting: utf8proc's own way takes quadratic time. */
static void sort_marks(int32_t *mark, size_t n)
{
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++) sorted = combining_class(mark[i - 1]) <= combining_class(mark[i]);
    if (sorted) return;
    size_t place[257] = {0};
    for (size_t i = 0; i < n; i++) place[combining_class(mark[i]) + 1]++;
    for (int c = 0; c < 256; c++) place[c + 1] += place[c];
    int32_t *result = mem_alloc(n * sizeof *result);
    for (size_t i = 0; i < n; i++) result[place[combining_class(mark[i])]++] = mark[i];
    memcpy(mark, result, n * sizeof *mark);
    mem_free(result);
}

/* Decompose the code points; the result, of *n, is allocated. */
static int32_t *decompose(const Text *text, size_t *n)
{
    enum { LONGEST = 18 }; /* no decomposition has more code points */
    size_t capacity = text->n + LONGEST;
    int32_t *codes = mem_alloc(capacity * sizeof *codes);
    *n = 0;
    for (size_t i = 0; i < text->n;) {
        int32_t code;
        i += utf8_decode(text->data + i, text->n - i, &code);
        if (capacity - *n < LONGEST) {
            codes = mem_resize(codes, *n * sizeof *codes, 2 * capacity * sizeof *codes);
            capacity *= 2;
        }
        utf8proc_ssize_t length =
            utf8proc_decompose_char(code, codes + *n, LONGEST, UTF8PROC_DECOMPOSE | UTF8PROC_STABLE, NULL);
        CHECK(length > 0 && length <= LONGEST, "U+%04X decomposes into %td code points", (unsigned)code, length);
        *n += (size_t)length;
    }
    return codes;
}

static void compose(Text *text)
{
    size_t n;
    int32_t *codes = decompose(text, &n);
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && combining_class(codes[end])) end++;
        if (end - i > 1) sort_marks(codes + i, end - i);
        i = end + 1;
    }
    utf8proc_ssize_t composed = utf8proc_normalize_utf32(codes, (utf8proc_ssize_t)n, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    CHECK(composed >= 0, "composing gave error %td", composed);
    text->n = 0;
    for (utf8proc_ssize_t i = 0; i < composed; i++) text_append_code(text, codes[i]);
    mem_free(codes);
}

void text_normalize(Text *out, const char *bytes, size_t n)
{
    out->n = 0;
    text_reserve(out, n);
    bool blank_before = false, touched = false;
    for (size_t i = 0; i < n;) {
        size_t plain = 0; /* characters of ASCII that can be seen: they stay as they are, and most text is made of them */
        while (plain < n - i && bytes[i + plain] > ' ' && bytes[i + plain] < 0x7F) plain++;
        if (plain) {
            if (blank_before) text_append(out, " ", 1);
            text_append(out, bytes + i, plain);
            blank_before = false;
            i += plain;
            continue;
        }
        int32_t code;
        i += utf8_decode(bytes + i, n - i, &code);
        if (code < 0) code = UTF8_REPLACEMENT;
        if (text_is_blank(code)) {
            blank_before = out->n > 0;
            continue;
        }
        if (blank_before) text_append(out, " ", 1);
        text_append_code(out, code);
        blank_before = false;
        touched = touched || touched_by_nfc(code);
    }
    if (touched) compose(out);
}
