/* Models by the library (include/ferry.h), whose errors and warnings become the program's. */
#ifndef FERRY_CLI_MODELS_H
#define FERRY_CLI_MODELS_H

#include "cli/command.h"
#include "include/ferry.h"
#include "system/progress.h"
#include "text/text.h"

/* Open the models that the line names, with its settings, or their tokenizer alone. Close with ferry_close. NULL on
 * error. */
ferry_model *models_open(const CommandLine *line, bool tokenizer_only, Error *error);

/* The options of an opened model, into *options. Free with options_free, also on error. */
bool models_options(const ferry_model *model, Options *options, Error *error);

/* Let *error be the library's. Returns false. */
bool models_failed(const ferry_error *theirs, Error *error);

/* Warn of what the result warns of. */
void models_warn(const ferry_result *result);

/* For ferry_call.progress: shows the state on a Progress. Never gives up. */
int models_progress(void *progress, size_t n_done, size_t n);

/* Lines that go to the library together, as copies. */
typedef struct ModelLines {
    Text text;
    size_t *start, *length;  /* [n] of each in `text` */
    const char **line;       /* [n], after models_lines */
    size_t n, capacity;
} ModelLines;

void models_add_line(ModelLines *lines, const char *text, size_t n);
/* The lines, as the library wants them; valid until one is added. */
const char *const *models_lines(ModelLines *lines);
void models_free_lines(ModelLines *lines);

#endif
