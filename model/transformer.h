/* The encoder-decoder Transformer (Vaswani et al. 2017) built from ops: whole sentences, forward; the tape does the backward
 * pass. */
#ifndef FERRY_MODEL_TRANSFORMER_H
#define FERRY_MODEL_TRANSFORMER_H

#include "core/batch.h"
#include "model/model.h"

/* The encoder's output, [n_tokens, D]. */
Tensor *transformer_encode(Model *model, Tape *tape, const Ragged *source);

/* The decoder's output, [target tokens, D], for targets that begin with BOS. memory: the encoder's output for `source`. */
Tensor *transformer_decode(Model *model, Tape *tape, Tensor *memory, const Ragged *source, const Ragged *target);

/* The queries and keys of one layer's cross-attention, [target tokens, D] and [source tokens, D]. */
typedef struct CrossAttention {
    const Tensor *query, *key;
} CrossAttention;

/* transformer_decode, and what its cross-attention works with: watched[decoder_layers]. */
Tensor *transformer_decode_watched(Model *model, Tape *tape, Tensor *memory, const Ragged *source, const Ragged *target,
                             CrossAttention *watched);

/* Logits [rows, V] of decoder outputs. */
Tensor *transformer_logits(Model *model, Tape *tape, Tensor *hidden);

/* The training loss of a batch: label-smoothed cross-entropy summed over target tokens, times `scale`. With R-Drop, and
 * dropout on, the batch goes through the model twice, and the loss is that of projection_loss_pairs. */
Tensor *transformer_loss(Model *model, Tape *tape, const Batch *batch, real scale, LossSums *sums);

#endif
