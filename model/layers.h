/* What encoder and decoder are made of: sublayers, and the residual stream through them. */
#ifndef FERRY_MODEL_LAYERS_H
#define FERRY_MODEL_LAYERS_H

#include "model/model.h"

/* The residual stream: `sum` is what the next sublayer's output is added to, `input` what the next sublayer sees. With
 * Post-LN they are one tensor. */
typedef struct Stream {
    Tensor *sum, *input;
    int n_done; /* sublayers so far */
} Stream;

/* The stream of a stack that begins with x, [N, D]. */
Stream layers_begin(const Model *model, Tape *tape, const Stack *stack, Tensor *x);

/* Add a sublayer's output. Post-LN then applies that sublayer's norm; Pre-LN the next one's, the final norm after the last. */
void layers_add(const Model *model, Tape *tape, const Stack *stack, Stream *stream, Tensor *output);

/* x [N, in] by the layer's weight and bias. */
Tensor *layers_project(Tape *tape, Tensor *x, Linear *layer);

/* The sublayers, [N, D] each. kv: keys and values of the encoder's output, [source tokens, 2D]. */
Tensor *layers_self_attention(const Model *model, Tape *tape, Layer *layer, Tensor *x, const Spans *spans, bool causal);
Tensor *layers_cross_attention(const Model *model, Tape *tape, Layer *layer, Tensor *query, Tensor *kv, const Spans *target,
                               const Spans *source);
Tensor *layers_feed_forward(const Model *model, Tape *tape, Layer *layer, Tensor *x);

#endif
