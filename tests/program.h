/* The program itself, run by a test: $FERRY, else the one that was built beside the test program. */
#ifndef FERRY_TESTS_PROGRAM_H
#define FERRY_TESTS_PROGRAM_H

#include <stddef.h>

#include "text/text.h"

enum { PROGRAM_MAX_WORDS = 64 };

/* What a run left behind. Starts as all zeros; each run replaces what it held. */
typedef struct ProgramOutput {
    int code; /* exit code; 128 + signal if one ended it */
    Text out, err; /* standard output and error, each with a NUL behind it */
} ProgramOutput;

/* Run `ferry` with these words (NULL after the last), standard input from the file `in` (NULL: none). `max_memory`: bytes of
 * address space that it may have (0: no limit; ignored under AddressSanitizer, which needs terabytes). */
void program_run(ProgramOutput *output, const char *const *words, const char *in, size_t max_memory);
void program_free(ProgramOutput *output);

/* Does the text, with its NUL, contain the words? */
int program_says(const Text *text, const char *words);

#endif
