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

/* What somebody meant who wrote a number as 1e3, 1k, 2.5M or 1_000, as plain digits into `out`; false if it is none of these
 * or no whole number. Nothing takes such numbers; messages say what to write instead. */
bool number_plain(char out[NUMBER_SIZE], const char *text);

/* The shortest text that reads back as the same number: 0.1, 5e-9, 100. Returns `out`. */
char *number_write_real(char out[NUMBER_SIZE], double value);
/* With at most `digits` (1 to 17) significant digits. */
char *number_write_digits(char out[NUMBER_SIZE], double value, int digits);

#endif
