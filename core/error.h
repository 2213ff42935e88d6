/* Errors, in three tiers.
 *   CHECK        our own bug: prints file and line and aborts; always compiled in.
 *   Error        the outside world (files, options, data): functions return false and leave a message that names the
 *                file, the line and what to do; their outputs are untouched. Callers may put a context before it.
 *   cli/main.c alone prints an Error and exits with its code. */
#ifndef FERRY_CORE_ERROR_H
#define FERRY_CORE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

typedef enum ErrorCode {
    ERROR_NONE = 0,
    ERROR_FAILED = 1, /* something went wrong outside: exit code 1 */
    ERROR_USAGE = 2,  /* wrong options, configuration or arguments: exit code 2 */
} ErrorCode;

typedef struct Error {
    ErrorCode code;
    char text[2048];
} Error;

#define FERRY_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))

/* Set the message (printf format, no final newline); of a very long one the middle is left out. Both return false, so that
 * `return error_set(error, ...)` reads well. */
bool error_set(Error *error, const char *format, ...) FERRY_PRINTF(2, 3);
bool error_usage(Error *error, const char *format, ...) FERRY_PRINTF(2, 3);

/* Put "context: " before the message that is there. Returns false. */
bool error_context(Error *error, const char *format, ...) FERRY_PRINTF(2, 3);

/* The end of a counted noun: "%d file%s", n, plural(n). */
static inline const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* Who takes warnings: complete sentences without a newline, valid during the call. */
typedef struct WarningSink {
    void (*take)(void *context, const char *text);
    void *context;
} WarningSink;

/* This thread's warnings go to `sink` from now on (NULL: nowhere, which is how threads begin). Returns the sink before. */
const WarningSink *warnings_to(const WarningSink *sink);

/* Give a warning to the thread's sink. */
void warn(const char *format, ...) FERRY_PRINTF(1, 2);

/* Abort unless `condition` holds. For invariants of our own, never for input. The message is a printf format. */
#define CHECK(condition, ...)                                                   \
    do {                                                                        \
        if (!(condition)) check_failed(__FILE__, __LINE__, #condition, __VA_ARGS__); \
    } while (0)

_Noreturn void check_failed(const char *file, int line, const char *condition, const char *format, ...) FERRY_PRINTF(4, 5);

#endif
