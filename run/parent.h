/* The run that another one begins with (train.init_from), to be fine-tuned: it gives its tokenizer and its weights. */
#ifndef FERRY_RUN_PARENT_H
#define FERRY_RUN_PARENT_H

#include "options/options.h"
#include "run/checkpoint.h"

/* Starts as all zeros: none. */
typedef struct Parent {
    char *folder;
    Checkpoint checkpoint;
} Parent;

/* Open what train.init_from names, a run folder or a checkpoint in one. An error that names what differs unless all
 * options of section [model] are the same, and data.symbols and data.tokenized, by which its tokenizer was learned.
 * Close with parent_close, in any case. */
bool parent_open(Parent *parent, const Options *options, Error *error);
void parent_close(Parent *parent);

/* Copy the weights that it translates with (decode.weights). */
bool parent_weights(const Parent *parent, const Options *options, Params *params, Error *error);

#endif
