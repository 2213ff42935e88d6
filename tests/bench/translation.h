/* Loading a model and translating with it, as `ferry translate` does both. */
#ifndef FERRY_TESTS_BENCH_TRANSLATION_H
#define FERRY_TESTS_BENCH_TRANSLATION_H

#include <stdbool.h>

#include "core/error.h"

/* A part of bench_scale: load time, and greedy search by batch size (BATCHES, in tokens), with the model RUN, else with an
 * untrained one of the shape in a temporary folder. */
bool translation_scale(const char *shape, int repeat, Error *error);

#endif
