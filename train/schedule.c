#include "train/schedule.h"

#include <math.h>

double schedule_rate(const Options *options, int64_t step)
{
    const double warmup = options->train_warmup > 0 ? (double)options->train_warmup : 1, t = (double)step;
    if (t < warmup) return options->train_learning_rate * t / warmup;
    return options->train_learning_rate * (options->train_schedule == SCHEDULE_CONSTANT ? 1 : sqrt(warmup / t));
}
