/* Residual sum with dropout and layer norm in one pass. */
#include "autograd/norm.h"
#include "autograd/ops.h"
#include "core/error.h"

const OpDef op_residual_norm = {"residual_norm", norm_forward, norm_backward};

Tensor *residual_norm(Tape *tape, Tensor *x, Tensor *z, Tensor *gain, Tensor *bias, real dropout, Tensor **sum)
{
    CHECK(x->rows == z->rows && x->cols == z->cols, "x [%d, %d], z [%d, %d]", x->rows, x->cols, z->rows, z->cols);
    NormNode *n = norm_node(tape, x, gain, bias);
    n->z = z;
    n->sum = tape_tensor(tape, x->rows, x->cols);
    n->dropout = tape_dropout(tape, dropout);
    tape_run(tape, &op_residual_norm, &n->node);
    if (sum) *sum = n->sum;
    return n->y;
}

Footprint residual_norm_footprint(int n, int d_model, int n_threads)
{
    Footprint f = norm_footprint(n, d_model, n_threads);
    f.kept += (size_t)n * (size_t)d_model * sizeof(real); /* the sum */
    return f;
}
