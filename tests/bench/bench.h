/* The benches, each a word on the command line of build/tests/bench/bench. What they take is in the environment, see
 * tests/bench/settings.h. */
#ifndef FERRY_TESTS_BENCH_BENCH_H
#define FERRY_TESTS_BENCH_BENCH_H

#include <stdbool.h>

#include "core/error.h"

/* SHAPES: training steps by op, beside the machine's peaks, for each number of THREADS. */
bool bench_train(Error *error);
/* How time and memory grow with LENGTHS, VOCABULARIES, WIDTHS, THREADS; then bench_load and bench_greedy. */
bool bench_scale(Error *error);
/* One trained model (RUN) and one text (SOURCE): how fast it is loaded and translates. */
bool bench_translate(Error *error);
/* The tokens of RUN's vocabulary as `ferry tokenize` shows them, a line each. */
bool bench_vocabulary(Error *error);

#endif
