/* The learning rate of a step. */
#ifndef FERRY_TRAIN_SCHEDULE_H
#define FERRY_TRAIN_SCHEDULE_H

#include <stdint.h>

#include "options/options.h"

/* For steps from 1. Rises linearly to train.learning_rate over train.warmup steps, and then
 *   inverse_sqrt  falls with 1 / sqrt(step): Vaswani et al. 2017, equation 3, where the peak is (d_model warmup)^-0.5;
 *   constant      stays;
 *   linear        falls in a straight line to SCHEDULE_END of the peak at train.decay_steps, where it stays;
 *   cosine        the same as half a wave, slowly at both ends: Loshchilov and Hutter 2017, equation 5, without restarts. */
double schedule_rate(const Options *options, int64_t step);

#define SCHEDULE_END 0.01

#endif
