/* The border of the library: structs of callers that were compiled with another version of include/ferry.h. These
 * functions run on the callers' threads, and allocate nothing. */
#ifndef FERRY_TRANSLATE_ABI_H
#define FERRY_TRANSLATE_ABI_H

#include <stdbool.h>

#include "core/error.h"
#include "include/ferry.h"

/* Copy the caller's struct (NULL: all zeros), called `name`, to `own`. A size that can't be one, and fields that
 * aren't 0 and that this version doesn't know, are an error. */
bool abi_read(void *own, size_t own_size, const void *theirs, const char *name, ferry_error *error);
/* Copy `own` to the caller's struct, as far as that goes; what lies beyond becomes 0. False if there is none, or no
 * size. */
bool abi_write(void *theirs, const void *own, size_t own_size);

/* Fill the caller's error, unless it is NULL. Returns false. line: the index of a line, or -1. */
bool abi_error(ferry_error *error, int code, int64_t line, const char *format, ...) FERRY_PRINTF(4, 5);

#endif
