/* UTF-8, byte by byte. What counts as well formed is table 3-7 of the Unicode Standard: no overlong forms, no surrogates,
 * nothing above U+10FFFF. */
#ifndef FERRY_TEXT_UTF8_H
#define FERRY_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { UTF8_REPLACEMENT = 0xFFFD }; /* U+FFFD: stands for what could not be read */

/* How far a character has come. At UTF8_START a character is complete and any may begin; at UTF8_BAD the last byte could not
 * follow. All states between mean that continuation bytes are missing. */
typedef uint8_t Utf8State;
enum { UTF8_START = 0, UTF8_BAD = 8 };

/* The state after `byte`; UTF8_BAD if no well-formed text goes on like this. From UTF8_BAD nothing leads away. */
Utf8State utf8_next(Utf8State state, uint8_t byte);

/* Continuation bytes that are missing in a state (not UTF8_BAD): 0 to 3. */
int utf8_missing(Utf8State state);

/* The code point at the start of text[0 .. length-1] (length >= 1) and, returned, its bytes (1 to 4). Ill-formed bytes give
 * *code = -1 and the length of the maximal ill-formed part: what began like a character up to the byte that broke it, else
 * one byte. */
size_t utf8_decode(const char *text, size_t length, int32_t *code);

/* Write the code point (0 .. 10FFFF hexadecimal, no surrogate) to `out`; returns the number of bytes, 1 to 4. */
size_t utf8_encode(int32_t code, char out[4]);

#endif
