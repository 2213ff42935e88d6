#include "text/utf8.h"

/* Between START and BAD a state allows one range of continuation bytes. */
enum { TAIL1 = 1, TAIL2, TAIL3, AFTER_E0, AFTER_ED, AFTER_F0, AFTER_F4 };

typedef struct Continuation {
    uint8_t first, last; /* the bytes that may come */
    Utf8State next;
} Continuation;

static const Continuation continuations[] = {
    [TAIL1] = {0x80, 0xBF, UTF8_START},
    [TAIL2] = {0x80, 0xBF, TAIL1},
    [TAIL3] = {0x80, 0xBF, TAIL2},
    [AFTER_E0] = {0xA0, 0xBF, TAIL1}, /* less would be overlong */
    [AFTER_ED] = {0x80, 0x9F, TAIL1}, /* more would be a surrogate */
    [AFTER_F0] = {0x90, 0xBF, TAIL2}, /* less would be overlong */
    [AFTER_F4] = {0x80, 0x8F, TAIL2}, /* more would be above U+10FFFF */
};

static Utf8State first_byte(uint8_t byte)
{
    if (byte < 0x80) return UTF8_START;
    if (byte < 0xC2 || byte > 0xF4) return UTF8_BAD;
    if (byte < 0xE0) return TAIL1;
    if (byte < 0xF0) return byte == 0xE0 ? AFTER_E0 : byte == 0xED ? AFTER_ED : TAIL2;
    return byte == 0xF0 ? AFTER_F0 : byte == 0xF4 ? AFTER_F4 : TAIL3;
}

Utf8State utf8_next(Utf8State state, uint8_t byte)
{
    if (state == UTF8_START) return first_byte(byte);
    if (state >= UTF8_BAD) return UTF8_BAD;
    const Continuation *c = &continuations[state];
    return byte >= c->first && byte <= c->last ? c->next : UTF8_BAD;
}

int utf8_missing(Utf8State state)
{
    int n = 0;
    for (; state != UTF8_START; n++) state = continuations[state].next;
    return n;
}

size_t utf8_decode(const char *text, size_t length, int32_t *code)
{
    uint8_t first = (uint8_t)text[0];
    Utf8State state = first_byte(first);
    int32_t value = first < 0x80 ? first : first < 0xE0 ? first & 0x1F : first < 0xF0 ? first & 0x0F : first & 0x07;
    size_t n = 1;
    while (state != UTF8_START) {
        Utf8State next = n < length ? utf8_next(state, (uint8_t)text[n]) : UTF8_BAD;
        if (next == UTF8_BAD) {
            *code = -1;
            return n;
        }
        value = value << 6 | ((uint8_t)text[n] & 0x3F);
        state = next;
        n++;
    }
    *code = value;
    return n;
}

size_t utf8_encode(int32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)((0xF00 >> n & 0xFF) | code);
    return n;
}
