/* Layer norm of x itself: its gradient goes straight to x's. */
#include "autograd/norm.h"
#include "autograd/ops.h"

const OpDef op_layer_norm = {"layer_norm", norm_forward, norm_backward};

Tensor *layer_norm(Tape *tape, Tensor *x, Tensor *gain, Tensor *bias)
{
    NormNode *n = norm_node(tape, x, gain, bias);
    n->sum = x;
    tape_run(tape, &op_layer_norm, &n->node);
    return n->y;
}

Footprint layer_norm_footprint(int n, int d_model, int n_threads)
{
    return norm_footprint(n, d_model, n_threads);
}
