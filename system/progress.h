/* What a long command says on standard error. On a terminal the state is one line that is rewritten in place; elsewhere (a
 * file, a pipe) it is a plain line every few seconds. */
#ifndef FERRY_SYSTEM_PROGRESS_H
#define FERRY_SYSTEM_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

#include "core/error.h"

typedef struct Progress {
    FILE *out;
    bool terminal;
    bool shown;      /* a line stands on the terminal that the next one overwrites */
    double interval; /* seconds between two states, at least */
    double last;     /* when a state was printed, by progress_clock */
} Progress;

/* Report on `out`. */
void progress_init(Progress *progress, FILE *out);
/* True if a state would be shown now, so that the caller may spare itself making one. */
bool progress_due(const Progress *progress);
/* Show a state, if one is due; cut to the width of the terminal. printf format, no newline. */
void progress_state(Progress *progress, const char *format, ...) FERRY_PRINTF(2, 3);
/* Print a line that stays. */
void progress_line(Progress *progress, const char *format, ...) FERRY_PRINTF(2, 3);
/* Wipe the state off the terminal; before others write to it, and at the end. */
void progress_clear(Progress *progress);

/* Seconds since some fixed moment, never going back. */
double progress_clock(void);

/* Figures for people, in `out`, which is returned. */
enum { FIGURE_SIZE = 32 };
char *progress_duration(char out[FIGURE_SIZE], double seconds); /* "0.034 s", "3.4 s", "59 s", "1:02", "1:02:03" */
char *progress_count(char out[FIGURE_SIZE], double count);      /* "999", "12.3k", "4.56M" */
char *progress_bytes(char out[FIGURE_SIZE], double bytes);      /* "512 B", "1.50 kB", "23.4 MB": powers of 1000 */

#endif
