/* What stands behind include/ferry.h: opened models with the threads and the memory of the calls that use them, and
 * results. Callers' threads allocate nothing here but the objects themselves; all else is done by a hand
 * (translate/hand.h), within a mem_run, in the scope of the model, of the call's context, or of the result. */
#ifndef FERRY_TRANSLATE_LIBRARY_H
#define FERRY_TRANSLATE_LIBRARY_H

#include <pthread.h>
#include <sys/types.h>

#include "core/memory.h"
#include "include/ferry.h"
#include "translate/ensemble.h"
#include "translate/hand.h"

/* Warnings that were collected, in a scope. */
typedef struct Warnings {
    MemScope *scope;
    char **text; /* [n] */
    size_t n, capacity;
} Warnings;

/* For a WarningSink whose context is a Warnings. */
void warnings_take(void *warnings, const char *text);

/* What a call has for itself while it lasts. Kept for the next one; where memory lacked, all but the hand is thrown
 * away. */
typedef struct Context {
    struct Context *next; /* idle as well */
    Hand *hand;
    MemScope scope; /* of the translator */
    Translator translator;
    bool ready; /* there is one */
} Context;

struct ferry_model {
    pid_t process;  /* that opened it: another one has none of its threads */
    MemScope scope; /* of what follows */
    Ensemble ensemble;     /* no models: a tokenizer alone */
    Tokenizer *tokenizer;  /* the ensemble's, or that one */
    ferry_description description;
    Warnings warnings;
    pthread_mutex_t lock; /* of idle */
    Context *idle;
};

/* An idle context, or a new one; NULL and *error if there can't be one. Give it back when the call is over. */
Context *context_take(ferry_model *model, ferry_error *error);
void context_give(ferry_model *model, Context *context);
/* Throw away what it holds, but the hand. */
void context_forget(Context *context);

/* "key=value" texts, NULL last, as settings; free with library_settings_free. One without "=" is a usage error. */
bool library_settings_parse(OptionSettings *settings, const char *const *texts, Error *error);
void library_settings_free(OptionSettings *settings);
void library_settings_add(OptionSettings *settings, const char *key, const char *value);

/* ---- results ---- */

typedef struct ResultLine {
    ferry_translation *translation; /* [n] */
    size_t n;
} ResultLine;

struct ferry_result {
    MemScope scope; /* of what follows */
    Arena arena;
    ResultLine *line; /* [n] */
    size_t n;
    Warnings warnings;
};

/* NULL if memory lacks. result_begin is then called with its scope as the thread's. */
ferry_result *result_new(void);
void result_begin(ferry_result *result, size_t n_lines, size_t bytes);
/* A copy of the text, with a NUL behind it. */
const char *result_text(ferry_result *result, const char *text, size_t n);

#endif
