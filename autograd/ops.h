/* The builders of the ops. Shapes: N tokens, D model width, H heads, V vocabulary, F feed-forward width. Results live in the
 * tape's arena until tape_begin. */
#ifndef FERRY_AUTOGRAD_OPS_H
#define FERRY_AUTOGRAD_OPS_H

#include "autograd/tape.h"
#include "core/batch.h"

/* What an op takes from the arena while it records, in bytes: `kept` until the next pass, `scratch` at most at a time while it
 * runs forward or backward. Beside its builder, each op says what that is for its shapes, with so many threads and whatever of
 * this machine computes; the node itself, and what is lost by alignment, come on top. */
typedef struct Footprint {
    size_t kept, scratch;
} Footprint;

/* y[N, D] = dropout(sqrt(D) table[token] + positions): table is [V, D]; the first token of each sentence stands at position
 * `first`. Vaswani et al. 2017, 3.4, 3.5 and 5.4. `tokens` must live as long as the pass. */
Tensor *embedding(Tape *tape, Tensor *table, const Ragged *tokens, int first, real dropout);
Footprint embedding_footprint(int n, int d_model, int n_threads);

/* y[N, out] = x weight^T + bias: x is [N, in], weight [out, in], bias [1, out] or NULL. While not recording, each row's bits
 * depend on that row alone. */
Tensor *linear(Tape *tape, Tensor *x, Tensor *weight, Tensor *bias);
Footprint linear_footprint(int n, int in, int out);

/* y = dropout(relu(x)) or dropout(gelu(x)); gelu in its exact form x (1 + erf(x / sqrt 2)) / 2. */
typedef enum Activation { ACTIVATE_RELU, ACTIVATE_GELU } Activation;
Tensor *activation(Tape *tape, Tensor *x, Activation kind, real dropout);
Footprint activation_footprint(int n, int cols, int n_threads);

/* y[N, D] = layer norm of x's rows with gain and bias [1, D] (Ba et al. 2016). */
Tensor *layer_norm(Tape *tape, Tensor *x, Tensor *gain, Tensor *bias);
Footprint layer_norm_footprint(int n, int d_model, int n_threads);

/* s = x + dropout(z); y = layer norm of s. Returns y; *sum, if asked for, is s: the residual stream of Pre-LN. */
Tensor *residual_norm(Tape *tape, Tensor *x, Tensor *z, Tensor *gain, Tensor *bias, real dropout, Tensor **sum);
Footprint residual_norm_footprint(int n, int d_model, int n_threads);

/* Which rows of a matrix belong to each sentence: start[s] .. start[s] + count[s] - 1. */
typedef struct Spans {
    int n;
    const int32_t *start, *count; /* [n] */
} Spans;

/* The sentences of a ragged batch as spans, in the tape's arena. */
Spans spans_of(Tape *tape, const Ragged *ragged);

/* Multi-head attention (Vaswani et al. 2017, 3.2): y[Nq, D], q [Nq, D], k and v [Nk, D]; head h is columns h D/H and on.
 * Sentence s of q_spans sees sentence s of k_spans: all of it, or, if `causal`, query i of n_q sees keys up to
 * n_k - n_q + i. Dropout is on the weights. Spans must live as long as the pass. */
Tensor *attention(Tape *tape, Tensor *q, Tensor *k, Tensor *v, const Spans *q_spans, const Spans *k_spans, int heads,
                  bool causal, real dropout);
/* longest: queries or keys of a sentence at most. */
Footprint attention_footprint(int n_q, int longest, int d_model, int heads, int n_threads);

/* What projection_loss counts, besides the loss itself. Sums over tokens. */
typedef struct LossSums {
    double loss; /* with label smoothing */
    double nll;  /* -log p(label) */
} LossSums;

/* The label-smoothed cross-entropy of x weight^T against the labels, times `scale`: a [1, 1] tensor. x is [N, D], weight
 * [V, D], label [N]; smoothing spreads that much of the target evenly over all V classes (as PyTorch). The [N, V] logits
 * never exist in full: chunks of rows are computed, turned into their gradient and used up. *sums, if asked for, is set. */
Tensor *projection_loss(Tape *tape, Tensor *x, Tensor *weight, const int32_t *label, real smoothing, real scale,
                        LossSums *sums);

/* R-Drop (Liang et al. 2021), halved so that it is of one token: x is [2N, D], its rows i and N + i those of one token in two
 * passes with different dropout. The mean of both passes' label-smoothed cross-entropies, plus `divergence` / 4 times
 * KL(p || q) + KL(q || p) of their distributions. label is [N]; all else as projection_loss. */
Tensor *projection_loss_pairs(Tape *tape, Tensor *x, Tensor *weight, const int32_t *label, real smoothing, real divergence,
                              real scale, LossSums *sums);
/* Of both: n rows of x, in n_passes passes. */
Footprint projection_loss_footprint(int n, int n_passes, int d_model, int vocab_size);

#endif
