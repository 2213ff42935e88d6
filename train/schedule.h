/* The learning rate of a step. */
#ifndef FERRY_TRAIN_SCHEDULE_H
#define FERRY_TRAIN_SCHEDULE_H

#include <stdint.h>

#include "train/options.h"

/* For steps from 1. Rises linearly to train.learning_rate over train.warmup steps, then falls with 1 / sqrt(step) (Vaswani
 * et al. 2017, equation 3, whose factor d_model^-0.5 warmup^-0.5 is the peak) or stays. */
double schedule_rate(const Options *options, int64_t step);

#endif
