/* The training loop. */
#ifndef FERRY_TRAIN_TRAINER_H
#define FERRY_TRAIN_TRAINER_H

#include <stdbool.h>

#include "core/error.h"
#include "options/options.h"

struct Trainer;

/* Train as the options say in the run folder, which is made if need be; go on from its newest sound checkpoint if it has
 * one. Returns true when done, or when a signal asked for a stop (signals_stop_requested) and all is saved. */
bool trainer_run(const Options *options, const char *folder, Error *error);

/* One step of a trainer whose data and model are there (train/setup.h): its batches, their gradients, Adam. Fails if loss or
 * gradient aren't finite; the weights are then as before. For trainer_run, and for the bench, which times it. */
bool trainer_step(struct Trainer *trainer, Error *error);

#endif
