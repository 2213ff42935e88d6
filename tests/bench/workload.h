/* What the benches work on: models as the configurations describe them, sentences of chosen lengths, and how many operations
 * and bytes that takes. Nothing is read but configurations. */
#ifndef FERRY_TESTS_BENCH_WORKLOAD_H
#define FERRY_TESTS_BENCH_WORKLOAD_H

#include "autograd/tape.h"
#include "data/bitext.h"
#include "model/model.h"
#include "options/options.h"

/* The options of a shape: "toy", "multi30k", "base", or a configuration file; then what PRECISION and SET in the environment
 * say ("train.precision=bf16 train.matmul=openblas"). Free with options_free (on success). */
bool workload_options(Options *options, const char *shape, Error *error);

/* A tokenizer of exactly `size` (at least TOKENIZER_MIN_SIZE) tokens, learned from nothing: runs of letters. */
Tokenizer *workload_tokenizer(int size);

/* How many tokens a sentence has on each side, end token included: normal, at least 3. */
typedef struct Lengths {
    double mean, deviation;
} Lengths;
#define MULTI30K_LENGTHS ((Lengths){13.5, 4})

/* Random pairs, enough for `tokens` on the smaller side. */
Bitext workload_bitext(int vocab_size, Lengths lengths, int64_t tokens);

/* What a step worked on. */
typedef struct Counts {
    double source, target;                          /* tokens */
    double source_pairs, target_pairs, cross_pairs; /* of tokens that attend to one another, in one layer */
} Counts;

void workload_count(Counts *counts, const Batch *batch);
Counts workload_scaled(Counts counts, double factor);

/* What one direction of all nodes of an op has to do, nothing padded and nothing computed twice: operations of its products
 * (a multiply-add is two), or, where there are none, the bytes of operands that are read or written. 0: not known. */
typedef struct Work {
    double operations, bytes;
} Work;

Work workload_of(const OpDef *op, bool backward, const ModelConfig *config, const Counts *counts);
/* Operations of a whole step. */
double workload_operations(const ModelConfig *config, const Counts *counts);

#endif
