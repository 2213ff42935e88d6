/* Lines of text files, plain or gzipped, and lists of files. */
#ifndef FERRY_DATA_LINES_H
#define FERRY_DATA_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "text/text.h"
#include "text/words.h"

/* Reads one file line by line. A line ends at \n only, and one \r before that is dropped; all else, NUL, a lone \r, \v, \f,
 * U+0085 and U+2028 too, is text. A last line without \n is a line. A byte order mark (EF BB BF) at the very start is
 * dropped. Gzip, of any number of members, is known by its first bytes, whatever the name; but an empty file whose name ends
 * in .gz is an error. */
typedef struct LineReader LineReader;

/* Open the file; "-" is standard input. Nothing is read yet. NULL and *error if it can't be opened or is a folder. */
LineReader *lines_open(const char *path, Error *error);

/* The next line, without its end: 1 a line, 0 the end of the file, -1 *error (names file and line); after an error only
 * lines_close may follow. *line is not terminated and valid until the next call. A gzip file that is truncated, damaged, or
 * followed by anything but zero bytes is an error, never the end; all whole lines before come first. A pipe's line is returned as soon as its \n is there. */
int lines_next(LineReader *reader, const char **line, size_t *length, Error *error);

/* The number of the line that lines_next returned last, from 1 (0: none yet); the file's name for messages. */
int64_t lines_number(const LineReader *reader);
const char *lines_name(const LineReader *reader);

/* NULL is allowed. */
void lines_close(LineReader *reader);

/* Whole files in memory: line i is text[start[i]] .. text[start[i + 1] - 1]. */
typedef struct LineArray {
    Text text;
    size_t *start; /* [n + 1] */
    size_t n, start_capacity;
} LineArray;

/* All lines of the files, one file after the other, as they are or (`normalize`) in normal form. Free with lines_array_free.
 * */
bool lines_read_all(const Words *files, bool normalize, LineArray *lines, Error *error);
const char *lines_get(const LineArray *lines, size_t i, size_t *length);
void lines_array_free(LineArray *lines);

#endif
