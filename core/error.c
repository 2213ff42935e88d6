#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80; /* a character of UTF-8 */
}

/* Of a text that is too long, the middle is left out: where it happened stands at the beginning, the way out at the end. */
static void store(Error *error, const char *text)
{
    static const char gap[] = " [...] ";
    const size_t n = strlen(text), room = sizeof error->text - 1;
    if (n <= room) {
        memcpy(error->text, text, n + 1);
        return;
    }
    size_t head = (room - strlen(gap)) / 2, tail = n - head;
    while (continues(text[head])) head--;
    while (continues(text[tail])) tail++;
    snprintf(error->text, sizeof error->text, "%.*s%s%s", (int)head, text, gap, text + tail);
}

static char *format_text(const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    char *text = mem_alloc((size_t)(n < 0 ? 0 : n) + 1);
    *text = '\0';
    if (n > 0) vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return text;
}

static void fill(Error *error, ErrorCode code, const char *format, va_list args)
{
    char *text = format_text(format, args);
    error->code = code;
    store(error, text);
    mem_free(text);
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
    va_list args;
    va_start(args, format);
    char *context = format_text(format, args), *text = mem_format("%s: %s", context, error->text);
    va_end(args);
    store(error, text);
    mem_free(context);
    mem_free(text);
    return false;
}

static _Thread_local const WarningSink *warnings;

const WarningSink *warnings_to(const WarningSink *sink)
{
    const WarningSink *before = warnings;
    warnings = sink;
    return before;
}

void warn(const char *format, ...)
{
    if (!warnings) return;
    va_list args;
    va_start(args, format);
    char *text = format_text(format, args);
    va_end(args);
    warnings->take(warnings->context, text);
    mem_free(text);
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
