/* A model's parameters: declared, named, initialized, packed for inference. */
#ifndef FERRY_MODEL_MODEL_H
#define FERRY_MODEL_MODEL_H

#include "autograd/ops.h"
#include "autograd/params.h"

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
    Linear self_qkv, self_output;               /* [3D, D], [D, D] */
    Linear cross_query, cross_kv, cross_output; /* [D, D], [2D, D] key and value of the encoder's output, [D, D] */
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

#endif
