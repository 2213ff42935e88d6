/* Scaled dot-product attention of one head in one sentence (Vaswani et al. 2017, equation 1):
 *     out = dropout(softmax(q k^T / sqrt(d_head))) v.
 * Works on tiles of queries x keys with a running maximum and sum, so no [n_q, n_k] matrix exists; the backward pass
 * computes the weights anew from the saved log-sum-exp (as in Dao et al. 2022). Each row's arithmetic depends on that row
 * alone. */
#ifndef FERRY_CORE_ATTENTION_H
#define FERRY_CORE_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

#include "core/real.h"

enum { ATTENTION_TILE = 64 };

/* A matrix inside a wider one: row i is value[i * stride]. grad lies alike; NULL if there is none. */
typedef struct AttentionView {
    real *value, *grad;
    size_t stride;
} AttentionView;

typedef struct AttentionHead {
    int n_q, n_k, d_head;
    int visible; /* query i sees keys 0 .. i + visible - 1: 1 for causal, n_k (or more) for all */
    AttentionView q, k, v, out;
    real *lse; /* [n_q], lse_stride apart: log of the sum of exp of a row's scores; written forward, read backward */
    size_t lse_stride;
    const struct Dropout *dropout; /* NULL: none */
    uint64_t dropout_group;        /* first random group of this head's masks; ATTENTION_TILE_GROUPS are used for a tile */
    real *scratch; /* attention_scratch(n_q, n_k, d_head) elements, 64-byte aligned, one thread's own */
} AttentionHead;

enum { ATTENTION_TILE_GROUPS = ATTENTION_TILE * ATTENTION_TILE / 128 };

/* Elements of scratch that a head needs, forward or backward. */
size_t attention_scratch(int n_q, int n_k, int d_head);

#endif
