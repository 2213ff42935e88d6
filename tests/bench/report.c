#include "tests/bench/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "system/number.h"

static FILE *tsv;
static const char *tsv_path;

bool report_open(const char *path, Error *error)
{
    if (!*path) return true;
    tsv_path = path;
    tsv = fopen(path, "we");
    if (!tsv) return error_set(error, "TSV=%s cannot be written: %s", path, strerror(errno));
    fputs("subject\tthreads\tquantity\tunit\tmedian\tlowest\thighest\n", tsv);
    return true;
}

bool report_close(Error *error)
{
    if (!tsv) return true;
    const bool bad = ferror(tsv) != 0;
    if (fclose(tsv) || bad) return error_set(error, "TSV=%s cannot be written: %s", tsv_path, strerror(errno));
    tsv = NULL;
    return true;
}

void report_row(const char *subject, int threads, const char *quantity, const char *unit, Figure f)
{
    if (!tsv) return;
    char median[NUMBER_SIZE], low[NUMBER_SIZE], high[NUMBER_SIZE];
    fprintf(tsv, "%s\t%d\t%s\t%s\t%s\t%s\t%s\n", subject, threads, quantity, unit, number_write_digits(median, f.median, 6),
            number_write_digits(low, f.low, 6), number_write_digits(high, f.high, 6));
}

void report_value(const char *subject, int threads, const char *quantity, const char *unit, double value)
{
    report_row(subject, threads, quantity, unit, (Figure){value, value, value});
}

void report_cell(int width, const char *format, ...)
{
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("%*s", width, text);
}

void report_end(void)
{
    putchar('\n');
    fflush(stdout);
}

void report_line(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    report_end();
}
