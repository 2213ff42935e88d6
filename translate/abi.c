#include "translate/abi.h"

#include <stdarg.h>
#include <stdio.h>

/* All structs begin with their size; none will ever be as large as MOST. */
enum { LEAST = sizeof(size_t), MOST = 1 << 16 };

static size_t size_of(const void *theirs)
{
    size_t size = 0;
    if (theirs) memcpy(&size, theirs, sizeof size);
    return size;
}

bool abi_read(void *own, size_t own_size, const void *theirs, const char *name, ferry_error *error)
{
    memset(own, 0, own_size);
    if (!theirs) return true;
    const size_t size = size_of(theirs);
    if (size < LEAST || size > MOST)
        return abi_error(error, FERRY_USAGE, -1, "%s.size is %zu; FERRY_INIT sets what it must be", name, size);
    memcpy(own, theirs, size < own_size ? size : own_size);
    for (size_t i = own_size; i < size; i++)
        if (((const unsigned char *)theirs)[i])
            return abi_error(error, FERRY_USAGE, -1,
                             "%s has fields that libferry %s doesn't know; it is older than the program", name,
                             ferry_version());
    return true;
}

bool abi_write(void *theirs, const void *own, size_t own_size)
{
    const size_t size = size_of(theirs), n = size < own_size ? size : own_size;
    if (size < LEAST || size > MOST) return false;
    memcpy((char *)theirs + LEAST, (const char *)own + LEAST, n - LEAST);
    memset((char *)theirs + n, 0, size - n);
    return true;
}

bool abi_error(ferry_error *error, int code, int64_t line, const char *format, ...)
{
    ferry_error own = {.code = code, .line = line};
    va_list args;
    va_start(args, format);
    vsnprintf(own.text, sizeof own.text, format, args);
    va_end(args);
    const size_t size = size_of(error);
    if (abi_write(error, &own, sizeof own) && size > offsetof(ferry_error, text) && size < sizeof own)
        ((char *)error)[size - 1] = '\0';
    return false;
}
