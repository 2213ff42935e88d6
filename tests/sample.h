/* Random inputs for the tests of ops and models: functions of a seed. */
#ifndef FERRY_TESTS_SAMPLE_H
#define FERRY_TESTS_SAMPLE_H

#include "core/batch.h"
#include "core/memory.h"
#include "model/transformer.h"

/* n normal numbers of this deviation. */
void sample_normal(uint64_t seed, double deviation, size_t n, real *out);

/* Sentence pairs in the arena: lengths (before EOS or BOS) uniform in shortest .. longest on both sides, tokens in
 * N_SPECIAL .. vocab_size - 1. */
Batch sample_batch(Arena *arena, uint64_t seed, int n_seq, int shortest, int longest, int vocab_size);

/* Sentence s of `ragged` alone, in the arena. */
Ragged sample_sentence(Arena *arena, const Ragged *ragged, int s);

/* A model whose every parameter is random, norms and biases too, so that none hides behind an initial 0 or 1. */
Model *sample_model(const ModelConfig *config, uint64_t seed, bool gradients);

#endif
