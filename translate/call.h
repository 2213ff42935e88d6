/* One call of include/ferry.h on its way: what the calling thread and the hand that works know of it. */
#ifndef FERRY_TRANSLATE_CALL_H
#define FERRY_TRANSLATE_CALL_H

#include <stdatomic.h>

#include "translate/library.h"

/* Lines as a caller gives them; line NULL: none. */
typedef struct Side {
    const char *const *line;
    const size_t *length; /* NULL: they end in NUL */
} Side;

typedef struct Call {
    ferry_model *model;
    Context *context;
    ferry_result *result;
    ferry_call options;
    const char *name, *other_name;
    Side source, target;
    size_t n;
    bool (*work)(struct Call *call);
    /* what the work uses; the texts are for one translation at a time */
    Text text, shown;
    const double *norm; /* of scores, by length */
    /* what the calling thread and the work tell each other */
    atomic_bool cancelled;
    atomic_size_t n_done, n_to_do;
    /* how it ended */
    bool good;
    bool lacked;
    size_t wanted; /* bytes that lacked */
    Error error;
    int64_t at; /* the line that is at fault, or -1 */
} Call;

/* Line i, lent. */
Text call_line(const Side *side, size_t i);
/* Whether the caller has given up. */
int call_stopped(void *call);

/* What a hand does for each kind of call, within a mem_run: the result's lines, all of them unless the caller has
 * given up. False and call->error if it can't be. */
bool call_translate(Call *call);
bool call_score(Call *call);
bool call_tokenize(Call *call);
bool call_detokenize(Call *call);

#endif
