/* What the benches print: tables for people on standard output, and every figure again as a row of a TSV file. */
#ifndef FERRY_TESTS_BENCH_REPORT_H
#define FERRY_TESTS_BENCH_REPORT_H

#include <stdbool.h>

#include "core/error.h"
#include "tests/bench/figure.h"

/* Begin the file, with a header; path "" for none. Close it at the end: false if it couldn't be written. */
bool report_open(const char *path, Error *error);
bool report_close(Error *error);

/* A row: what was measured ("multi30k"), on how many threads, which quantity ("linear.forward"), in which unit. Nothing
 * without a file. */
void report_row(const char *subject, int threads, const char *quantity, const char *unit, Figure figure);
/* A value that has no spread. */
void report_value(const char *subject, int threads, const char *quantity, const char *unit, double value);

/* For people: a cell of a table, on the right of `width` columns (on the left of -width); the end of a row; a line. */
void report_cell(int width, const char *format, ...) FERRY_PRINTF(2, 3);
void report_end(void);
void report_line(const char *format, ...) FERRY_PRINTF(1, 2);

#endif
