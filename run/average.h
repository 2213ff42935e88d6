/* The mean of some checkpoints' weights: often better than the best of them. */
#ifndef FERRY_RUN_AVERAGE_H
#define FERRY_RUN_AVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

/* Write to `output` a checkpoint whose parameters are the means of those of the n > 0 checkpoints (`ema`: of their moving
 * averages, where there are any), summed in double precision in the order of `path`; of one checkpoint, its own bits. They
 * must have the same parameters and this tokenizer. The rest is as in the one of the latest step, but for the optimizer's
 * state and the best score, which a mean has not; and the names of all are noted in it. */
bool average_checkpoints(char *const *path, int n, bool ema, uint32_t tokenizer_hash, const char *output, Error *error);

#endif
