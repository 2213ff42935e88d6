/* UTF-8 as the metrics see it. */
#ifndef FERRY_METRICS_UNICODE_H
#define FERRY_METRICS_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The character at the start of `text` (bytes >= 1); returns its length in bytes. A byte that begins no well-formed
 * character is a character by itself, 0x110000 + byte. */
size_t unicode_next(const char *text, size_t bytes, uint32_t *character);
/* Whether Python's str.split() takes the character for whitespace. */
bool unicode_is_space(uint32_t character);
/* The length of the text without trailing whitespace, in bytes. */
size_t unicode_trimmed(const char *text, size_t bytes);

#endif
