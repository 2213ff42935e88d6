/* The training loop. */
#ifndef FERRY_TRAIN_TRAINER_H
#define FERRY_TRAIN_TRAINER_H

#include <stdbool.h>

#include "core/error.h"
#include "train/options.h"

/* Train as the options say in the run folder, which is made if need be; go on from its newest sound checkpoint if it has
 * one. Returns true when done, or when a signal asked for a stop (signals_stop_requested) and all is saved. */
bool trainer_run(const Options *options, const char *folder, Error *error);

#endif
