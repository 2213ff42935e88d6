/* The mean of some checkpoints' weights: often better than the best of them. */
#ifndef FERRY_RUN_AVERAGE_H
#define FERRY_RUN_AVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

typedef struct Average Average;

/* The mean of the parameters of the n > 0 checkpoints (`ema`: of their moving averages, where there are any), summed
 * in double precision in the order of `path`; of one checkpoint, its own bits. They must have this tokenizer and be of
 * one model: the same parameters, and the same options of section [model]; an error names those that differ. NULL on
 * error. */
Average *average_new(char *const *path, int n, bool ema, uint32_t tokenizer_hash, Error *error);

/* Write it as a checkpoint, in which the rest is as in the one of the latest step, but for the optimizer's state and
 * the best score, which a mean has not; and the names of all are noted in it. */
bool average_save(const Average *average, const char *output, Error *error);
/* NULL is allowed. */
void average_free(Average *average);

#endif
