#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(Error *error, ErrorCode code, const char *format, va_list args)
{
    error->code = code;
    vsnprintf(error->text, sizeof error->text, format, args);
}

bool error_set(Error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(error, ERROR_FAILED, format, args);
    va_end(args);
    return false;
}

bool error_usage(Error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(error, ERROR_USAGE, format, args);
    va_end(args);
    return false;
}

bool error_context(Error *error, const char *format, ...)
{
    char old[sizeof error->text];
    memcpy(old, error->text, sizeof old);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof error->text) snprintf(error->text + n, sizeof error->text - (size_t)n, ": %s", old);
    return false;
}

void warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("ferry: warning: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

void check_failed(const char *file, int line, const char *condition, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "ferry: bug at %s:%d: %s does not hold: ", file, line, condition);
    vfprintf(stderr, format, args);
    fputs("\nPlease report this with the command that led here.\n", stderr);
    va_end(args);
    abort();
}
