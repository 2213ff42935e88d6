/* Numbers as text, the same under every locale. */
#ifndef FERRY_SYSTEM_NUMBER_H
#define FERRY_SYSTEM_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

enum { NUMBER_SIZE = 32 };

/* All of `text` as a decimal whole number / a finite decimal number. Blanks, hexadecimal, "inf" and "nan" are refused, as is
 * what doesn't fit; *out is then untouched. */
bool number_read_int(const char *text, int64_t *out);
bool number_read_real(const char *text, double *out);

/* The shortest text that reads back as the same number: 0.1, 5e-9, 100. Returns `out`. */
char *number_write_real(char out[NUMBER_SIZE], double value);
/* With at most `digits` (1 to 17) significant digits. */
char *number_write_digits(char out[NUMBER_SIZE], double value, int digits);

#endif
