#include "metrics/unicode.h"

#include <utf8proc.h>

size_t unicode_next(const char *text, size_t bytes, uint32_t *character)
{
    utf8proc_int32_t code;
    utf8proc_ssize_t limit = bytes < 4 ? (utf8proc_ssize_t)bytes : 4;
    utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text, limit, &code);
    *character = n > 0 ? (uint32_t)code : 0x110000u + (unsigned char)*text;
    return n > 0 ? (size_t)n : 1;
}

bool unicode_is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

size_t unicode_trimmed(const char *text, size_t bytes)
{
    size_t end = 0;
    uint32_t character;
    for (size_t at = 0; at < bytes;) {
        at += unicode_next(text + at, bytes - at, &character);
        if (!unicode_is_space(character)) end = at;
    }
    return end;
}
