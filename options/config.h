/* The reader of configuration files:
 *
 *   [section]
 *   key = value      # a comment
 *   ; another one
 *
 * A comment starts at # or ; where a line or a value begins or after a blank; "\#" and "\;" stand for the characters
 * themselves, wherever a value has them. Blanks around keys and values don't count (but "\ " stays: it is a blank in a file
 * name). Dashes in keys count as underscores. Lines end in \n or \r\n, the last one need not, and have any length; a byte
 * order mark is skipped. */
#ifndef FERRY_OPTIONS_CONFIG_H
#define FERRY_OPTIONS_CONFIG_H

#include <stddef.h>

#include "core/error.h"

typedef struct ConfigEntry {
    const char *section, *key, *value;
    int line;
} ConfigEntry;

typedef struct Config {
    ConfigEntry *entry; /* [n], in the order of the file; no section.key twice */
    int n, capacity;
    char *text;         /* what the entries point into */
} Config;

/* Read a file, or the `length` bytes of `text`; `name` is the file in error messages. The values aren't looked at. Wrong
 * syntax and a key that comes twice are usage errors that name file and line. Free with config_free (on success). */
bool config_read(Config *config, const char *path, Error *error);
bool config_parse(Config *config, const char *name, const char *text, size_t length, Error *error);
void config_free(Config *config);

#endif
