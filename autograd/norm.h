/* What layer_norm and residual_norm share: a row's normalization and its gradient, over all rows. */
#ifndef FERRY_AUTOGRAD_NORM_H
#define FERRY_AUTOGRAD_NORM_H

#include "autograd/ops.h"

typedef struct NormNode {
    Node node;
    Tensor *x, *z, *gain, *bias, *sum, *y; /* z NULL: sum is x */
    Dropout dropout;
    real *statistics; /* [N, 2] mean and 1 / deviation of each row */
} NormNode;

/* Without the sum */
Footprint norm_footprint(int n, int d_model, int n_threads);

/* y = layer norm of (x + dropout(z)) */
void norm_forward(Tape *tape, Node *node);
void norm_backward(Tape *tape, Node *node);

/* Fill the node's common part (not z, sum, dropout). */
NormNode *norm_node(Tape *tape, Tensor *x, Tensor *gain, Tensor *bias);

#endif
