/* y = x W^T + b. */
#include "autograd/ops.h"
#include "autograd/rows.h"
#include "core/error.h"
#include "core/matmul.h"

typedef struct LinearNode {
    Node node;
    Tensor *x, *weight, *bias, *y;
} LinearNode;

static void forward(Tape *tape, Node *node)
{
    LinearNode *n = (LinearNode *)node;
    Matmul product = {
        .kind = MATMUL_NT, .m = n->x->rows, .n = n->weight->rows, .k = n->weight->cols,
        .a = n->x->value, .a_stride = n->x->stride,
        .b = n->weight->value, .b_stride = n->weight->stride,
        .c = n->y->value, .c_stride = n->y->stride,
        .bias = n->bias ? n->bias->value : NULL, .precision = tape->precision,
    };
    if (tape->recording) {
        matmul(&tape->compute, &product, &tape->arena);
        return;
    }
    /* Inference always takes the packed kernel: its rows don't depend on the batch. */
    ArenaMark mark = arena_mark(&tape->arena);
    const MatmulWeights *packed = n->weight->packed;
    MatmulWeights here;
    if (!packed) {
        here = tape_pack(tape, n->weight);
        packed = &here;
    }
    matmul_packed(&product, packed, &tape->arena);
    arena_release(&tape->arena, mark);
}

/* Each tile's share of the gradient of the bias */
static size_t partials_size(int rows, int cols)
{
    return (size_t)rows_tiles(rows) * (size_t)cols * sizeof(real);
}

/* One pass over the gradient of y, its last reader: the bias's gradient (gbias NULL: none), and rounding for the products. */
static void sum_and_round(Tape *tape, Tensor *y, real *gbias, bool rounds)
{
    const Kernels *kernels = tape->compute.kernels;
    const int n_tiles = rows_tiles(y->rows), cols = y->cols;
    ArenaMark mark = arena_mark(&tape->arena);
    real *partial = arena_zalloc(&tape->arena, partials_size(y->rows, cols));
#pragma omp parallel for schedule(static) if (n_tiles > 1)
    for (int tile = 0; tile < n_tiles; tile++)
        for (int i = tile * ROW_TILE; i < rows_end(tile, y->rows); i++) {
            real *row = y->grad + (size_t)i * y->stride, *sum = partial + (size_t)tile * (size_t)cols;
            if (gbias) kernels->add_masked(cols, sum, row, NULL, sum);
            if (rounds) matmul_round_rows(&tape->compute, 1, cols, row, y->stride);
        }
    if (gbias) rows_add_partials(kernels, partial, (size_t)cols, n_tiles, cols, gbias);
    arena_release(&tape->arena, mark);
}

static void backward(Tape *tape, Node *node)
{
    LinearNode *n = (LinearNode *)node;
    const Tensor *x = n->x, *w = n->weight;
    Tensor *y = n->y;
    const bool rounds = tape->precision == PRECISION_BF16;
    bool add;
    real *gx = tape_grad_first(tape, n->x, &add), *gw = tape_grad(tape, n->weight);
    real *gbias = n->bias ? tape_grad(tape, n->bias) : NULL;
    if (gbias || rounds) sum_and_round(tape, y, gbias, rounds);
    if (gx) /* gx += gy W */
        matmul(&tape->compute,
               &(Matmul){.kind = MATMUL_NN, .m = y->rows, .n = w->cols, .k = w->rows, .a = y->grad, .a_stride = y->stride,
                         .b = w->value, .b_stride = w->stride, .c = gx, .c_stride = x->stride, .add = add,
                         .precision = tape->precision, .a_rounded = rounds},
               &tape->arena);
    if (gw) /* gW += gy^T x */
        matmul(&tape->compute,
               &(Matmul){.kind = MATMUL_TN, .m = w->rows, .n = w->cols, .k = y->rows, .a = y->grad, .a_stride = y->stride,
                         .b = x->value, .b_stride = x->stride, .c = gw, .c_stride = w->stride, .add = true,
                         .precision = tape->precision, .a_rounded = rounds},
               &tape->arena);
}

const OpDef op_linear = {"linear", forward, backward};

Tensor *linear(Tape *tape, Tensor *x, Tensor *weight, Tensor *bias)
{
    CHECK(x->cols == weight->cols && (!bias || bias->cols == weight->rows), "x [%d, %d], weight [%d, %d], bias [%d]",
          x->rows, x->cols, weight->rows, weight->cols, bias ? bias->cols : 0);
    LinearNode *n = tape_node(tape, sizeof *n);
    n->x = x;
    n->weight = weight;
    n->bias = bias;
    n->y = tape_tensor(tape, x->rows, weight->rows);
    tape_run(tape, &op_linear, &n->node);
    return n->y;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

Footprint linear_footprint(int n, int in, int out)
{
    const Matmul y = {.kind = MATMUL_NT, .m = n, .n = out, .k = in, .b_stride = (size_t)in};
    const Matmul gx = {.kind = MATMUL_NN, .m = n, .n = in, .k = out, .b_stride = (size_t)in};
    const Matmul gw = {.kind = MATMUL_TN, .m = out, .n = in, .k = n, .b_stride = (size_t)in};
    const size_t products = larger(matmul_scratch(&y), larger(matmul_scratch(&gx), matmul_scratch(&gw)));
    return (Footprint){.kept = (size_t)n * (size_t)out * sizeof(real), .scratch = larger(products, partials_size(n, out))};
}
