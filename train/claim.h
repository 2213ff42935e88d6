/* The claim that a training lays to its run folder: the lock, that nothing of anybody else's is there, and that a
 * training which is refused leaves the folder as it was, or no folder where there was none. */
#ifndef FERRY_TRAIN_CLAIM_H
#define FERRY_TRAIN_CLAIM_H

#include <stdbool.h>

#include "core/error.h"
#include "system/made.h"

typedef struct Claim {
    const char *folder;
    int lock;       /* -1: not held */
    FilesMade made; /* what claim_close removes, unless claim_keep came before */
} Claim;

/* Lock the folder if it is there; nothing is done if it is locked already. */
bool claim_lock(Claim *claim, Error *error);
/* The same, but a folder that isn't there is made. One in which another process has trained in the meantime is an
 * error. */
bool claim_make(Claim *claim, Error *error);

/* Whether a new training may begin in the folder: it holds no model, whose tokenizer would be replaced, and, unless an
 * earlier training was there, no file with a name that training writes. A usage error if not. */
bool claim_check_new(const Claim *claim, Error *error);

/* The path of a file of the folder that is about to be written; claim_close removes it if it isn't there yet. Free with
 * mem_free. */
char *claim_path(Claim *claim, const char *name);

/* Remove what a killed training left half-written. */
bool claim_tidy(const Claim *claim, Error *error);

/* What was made stays from now on. */
void claim_keep(Claim *claim);
/* Give the folder free. */
void claim_close(Claim *claim);

#endif
