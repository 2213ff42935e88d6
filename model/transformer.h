/* The encoder-decoder Transformer (Vaswani et al. 2017) built from ops. */
#ifndef FERRY_MODEL_TRANSFORMER_H
#define FERRY_MODEL_TRANSFORMER_H

#include "autograd/ops.h"
#include "autograd/params.h"
#include "core/batch.h"

typedef enum ModelNorm { MODEL_POST_NORM, MODEL_PRE_NORM } ModelNorm;
typedef enum ModelTie { MODEL_TIE_NONE, MODEL_TIE_DECODER, MODEL_TIE_ALL } ModelTie;

typedef struct ModelConfig {
    int vocab_size, d_model, d_ff, heads, encoder_layers, decoder_layers;
    ModelNorm norm;        /* after each residual sum (the paper), or before each sublayer with final norms */
    Activation activation; /* of the feed-forward layers */
    ModelTie tie;          /* which of source embedding, target embedding and output projection are one matrix */
    real dropout;          /* embeddings, and each sublayer's output */
    real attention_dropout, activation_dropout;
    real label_smoothing;
    real rdrop; /* weight of R-Drop's divergence (Liang et al. 2021); 0: one pass, no divergence */
} ModelConfig;

typedef struct Linear {
    Tensor weight, bias;
} Linear;

typedef struct Norm {
    Tensor gain, bias;
} Norm;

/* One layer; the decoder's have cross-attention, too. Query, key and value projections are one matrix where their input is
 * one. */
typedef struct Layer {
    Linear self_input, self_output;               /* [3D, D], [D, D] */
    Linear cross_query, cross_input, cross_output; /* [D, D], [2D, D] key and value of the encoder's output, [D, D] */
    Linear ff_input, ff_output;                   /* [F, D], [D, F] */
} Layer;

typedef struct Stack {
    int n_layers, n_sublayers;
    Layer *layer; /* [n_layers] */
    Norm *norm;   /* [n_sublayers], and with Pre-LN the final norm behind them */
} Stack;

typedef struct Model {
    ModelConfig config;
    Params params;
    Tensor source_table, target_table, output; /* [V, D]; tied ones share memory */
    Stack encoder, decoder;
    Compute compute;     /* what packs its weights and multiplies by them in searches: the best, or what the owner sets */
    void *packed_memory; /* of a frozen model: all weights, packed, and */
    MatmulWeights *packed; /* the descriptions of them, in the order of model_freeze */
} Model;

/* A model with memory for its parameters, and for their gradients if asked for; values uninitialized (model_init, or read
 * from a checkpoint). The configuration must be sound (heads divide d_model). Free with model_free. */
Model *model_new(const ModelConfig *config, bool gradients);
void model_free(Model *model);

/* Initial weights: matrices Xavier-uniform (Glorot and Bengio 2010), query, key and value as one [3D, D] matrix (as PyTorch
 * and fairseq do: sqrt(1/2) of the bound of each alone, which keeps attention soft in the beginning); embeddings normal with
 * standard deviation 1/sqrt(D), so that scaled embeddings and logits of tied projections have unit variance; biases 0. */
void model_init(Model *model, uint64_t seed);

/* Pack the weights for inference in this precision (matmul_can) / forget the packed weights (after which values may change
 * again). */
void model_freeze(Model *model, Precision precision);
void model_thaw(Model *model);

/* The encoder's output, [n_tokens, D]. */
Tensor *model_encode(Model *model, Tape *tape, const Ragged *source);

/* Keys and values of one batch during decoding. Each sentence has `width` slots, one for each hypothesis about it: those of
 * sentence s are s * width and on. */
typedef struct DecoderCache {
    int n_seq, width;
    int room;                             /* positions that a slot has memory for; grows as they come */
    int32_t *source_start, *source_count; /* [n_seq] its rows in the encoder's output */
    Tensor *self;                         /* [decoder_layers], each [n_seq * width * room, 2D]: keys, values */
    Tensor *cross;                        /* [decoder_layers], each [source tokens, 2D] */
    real *block;                          /* the values of `self`, kept from batch to batch */
    size_t block_size;                    /* elements */
    Arena arena;                          /* owns the rest */
} DecoderCache;

/* Encode the source: cross keys and values of all layers, and slots without any position yet. Starts as zeros; memory is used
 * again. The tape is begun anew. */
void model_cache_begin(Model *model, Tape *tape, DecoderCache *cache, const Ragged *source, int width);
/* Positions first .. last-1 of slot `from` become those of slot `to`. Threads may do it at once for different `to`. */
void model_cache_copy(DecoderCache *cache, const Model *model, int from, int to, int first, int last);
void model_cache_free(DecoderCache *cache);

/* The decoder's output, [target tokens, D], for targets that begin with BOS. memory: the encoder's output for `source`. */
Tensor *model_decode(Model *model, Tape *tape, Tensor *memory, const Ragged *source, const Ragged *target);

/* The queries and keys of one layer's cross-attention, [target tokens, D] and [source tokens, D]. */
typedef struct CrossAttention {
    const Tensor *query, *key;
} CrossAttention;

/* model_decode, and what its cross-attention works with: watched[decoder_layers]. */
Tensor *model_decode_watched(Model *model, Tape *tape, Tensor *memory, const Ragged *source, const Ragged *target,
                             CrossAttention *watched);

/* One step: slot[i] (of the cache) gets `token[i]` at `position`, which is its next; [n, D]. The slots of a sentence lie
 * together. The tape must not record. */
Tensor *model_decode_step(Model *model, Tape *tape, DecoderCache *cache, int n, const int32_t *slot, const int32_t *token,
                          int position);

/* Logits [rows, V] of decoder outputs. */
Tensor *model_logits(Model *model, Tape *tape, Tensor *hidden);

/* The training loss of a batch: label-smoothed cross-entropy summed over target tokens, times `scale`. With R-Drop, and
 * dropout on, the batch goes through the model twice, and the loss is that of projection_loss_pairs. */
Tensor *model_loss(Model *model, Tape *tape, const Batch *batch, real scale, LossSums *sums);

#endif
