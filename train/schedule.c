#include "train/schedule.h"

#include <math.h>

/* What part of the peak is left at `step`, warm-up being over at `warmup` (not after step). */
static double inverse_sqrt(const Options *options, double step, double warmup)
{
    (void)options;
    return sqrt(warmup / step);
}

static double constant(const Options *options, double step, double warmup)
{
    (void)options, (void)step, (void)warmup;
    return 1;
}

static double linear(const Options *options, double step, double warmup)
{
    const double end = (double)options->train_decay_steps;
    if (step >= end) return SCHEDULE_END;
    return 1 - (1 - SCHEDULE_END) * (step - warmup) / (end - warmup);
}

static double cosine(const Options *options, double step, double warmup)
{
    const double end = (double)options->train_decay_steps, pi = 3.14159265358979323846;
    if (step >= end) return SCHEDULE_END;
    return SCHEDULE_END + (1 - SCHEDULE_END) * (1 + cos(pi * (step - warmup) / (end - warmup))) / 2;
}

double schedule_rate(const Options *options, int64_t step)
{
    static double (*const decay[])(const Options *options, double step, double warmup) = {
        [SCHEDULE_INVERSE_SQRT] = inverse_sqrt, [SCHEDULE_CONSTANT] = constant, [SCHEDULE_LINEAR] = linear,
        [SCHEDULE_COSINE] = cosine};
    const double warmup = options->train_warmup > 0 ? (double)options->train_warmup : 1, t = (double)step;
    return options->train_learning_rate * (t < warmup ? t / warmup : decay[options->train_schedule](options, t, warmup));
}
