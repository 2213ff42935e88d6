/* What the caller may choose: variables of the environment, into which make puts those of its command line
 * (make bench SHAPES="toy base" REPEAT=3). One that is not set, or empty, has the value given here. */
#ifndef FERRY_TESTS_BENCH_SETTINGS_H
#define FERRY_TESTS_BENCH_SETTINGS_H

#include <stdbool.h>

#include "core/error.h"

enum { SETTINGS_MOST = 32 };

const char *settings_text(const char *name, const char *standard);
/* Words separated by blanks, SETTINGS_MOST at most; free them with settings_free (on success). None if both are "". */
typedef struct Settings {
    const char *word[SETTINGS_MOST]; /* [n], in `text` */
    int n;
    char *text;
} Settings;
bool settings_words(const char *name, const char *standard, Settings *words, Error *error);
void settings_free(Settings *words);
/* Whole numbers from `least` to `most`, separated by blanks. */
bool settings_ints(const char *name, const char *standard, int least, int most, int *values, int *n, Error *error);
bool settings_int(const char *name, const char *standard, int least, int most, int *value, Error *error);
/* What THREADS is if it isn't set: one, and all. */
const char *settings_threads(void);
bool settings_real(const char *name, const char *standard, double *value, Error *error);

#endif
