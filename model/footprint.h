/* How much memory a model and its training take: known from shapes, before any of it is taken. */
#ifndef FERRY_MODEL_FOOTPRINT_H
#define FERRY_MODEL_FOOTPRINT_H

#include "model/model.h"

/* The number of parameters; exact. */
size_t footprint_parameters(const ModelConfig *config);

/* Bytes that the tape's arena hands out at the peak of a training step on a batch of n_source and n_target tokens, of at most
 * `longest` in a sentence, with so many threads. For batches of some size at least the truth, and at most an eighth more. */
size_t footprint_step(const ModelConfig *config, size_t n_source, size_t n_target, size_t longest, int n_threads);

/* Bytes at most of the gradients that are alive at a time in its backward pass. */
size_t footprint_gradients(const ModelConfig *config, size_t n_source, size_t n_target);

/* Bytes at most for translating n_seq sentences of n_source tokens in all into up to `n_rows` tokens in all, `beam_size`
 * hypotheses each. */
size_t footprint_search(const ModelConfig *config, size_t n_source, size_t n_seq, size_t n_rows, size_t beam_size);

#endif
