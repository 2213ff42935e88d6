/* Temporary files of the tests, and gzip. */
#ifndef FERRY_TESTS_TEMP_H
#define FERRY_TESTS_TEMP_H

#include "data/lines.h"
#include "text/text.h"

/* A new folder; temp_remove removes it with all that is in it. */
char *temp_folder(void);
void temp_remove(char *folder);

/* Write the bytes to folder/name; returns the path, to be freed with mem_free. */
char *temp_file(const char *folder, const char *name, const void *bytes, size_t n);

/* Write the text to root/path, in folders that are made if need be. */
void temp_put(const char *root, const char *path, const char *text);

/* Append a gzip member that holds the bytes. */
void temp_gzip(Text *out, const void *bytes, size_t n);

/* A list of one file. */
Words temp_list(char **path);

#endif
