/* ReLU or GELU, then dropout, in one pass. */
#include "autograd/ops.h"
#include "autograd/rows.h"
#include "core/error.h"
#include "core/threads.h"

typedef struct ActivationNode {
    Node node;
    Tensor *x, *y;
    real *gx; /* backward: where the gradient of x goes, and what it is added to (NULL: nothing) */
    const real *before;
    Activation kind;
    Dropout dropout;
} ActivationNode;

/* One tile: `mask` may be NULL. */
static void tile_forward(const Kernels *kernels, const ActivationNode *n, size_t at, int count, const real *mask)
{
    (n->kind == ACTIVATE_RELU ? kernels->relu : kernels->gelu)(count, n->x->value + at, mask, n->y->value + at);
}

static void tile_backward(const Kernels *kernels, const ActivationNode *n, size_t at, int count, const real *mask)
{
    (n->kind == ACTIVATE_RELU ? kernels->relu_backward : kernels->gelu_backward)(
        count, n->x->value + at, mask, n->y->grad + at, n->before ? n->before + at : NULL, n->gx + at);
}

typedef void TileFunction(const Kernels *kernels, const ActivationNode *n, size_t at, int count, const real *mask);

static void run(Tape *tape, const ActivationNode *n, TileFunction *function)
{
    const Kernels *kernels = tape->compute.kernels;
    const int rows = n->y->rows, cols = n->y->cols, n_tiles = rows_tiles(rows);
    ArenaMark mark = arena_mark(&tape->arena);
    ThreadScratch scratch = threads_scratch(&tape->arena, rows_mask_size(cols));
#pragma omp parallel for schedule(static) if (n_tiles > 1)
    for (int tile = 0; tile < n_tiles; tile++)
        function(kernels, n, (size_t)tile * ROW_TILE * (size_t)cols, (rows_end(tile, rows) - tile * ROW_TILE) * cols,
                 rows_mask(kernels, &n->dropout, tile, rows, cols, threads_scratch_self(&scratch)));
    arena_release(&tape->arena, mark);
}

static void forward(Tape *tape, Node *node)
{
    run(tape, (ActivationNode *)node, tile_forward);
}

static void backward(Tape *tape, Node *node)
{
    ActivationNode *n = (ActivationNode *)node;
    bool add;
    n->gx = tape_grad_first(tape, n->x, &add);
    n->before = add ? n->gx : NULL;
    run(tape, n, tile_backward);
}

const OpDef op_activation = {"activation", forward, backward};

Tensor *activation(Tape *tape, Tensor *x, Activation kind, real dropout)
{
    CHECK(x->stride == (size_t)x->cols, "stride %zu of %d columns", x->stride, x->cols);
    ActivationNode *n = tape_node(tape, sizeof *n);
    n->x = x;
    n->kind = kind;
    n->dropout = tape_dropout(tape, dropout);
    n->y = tape_tensor(tape, x->rows, x->cols);
    tape_run(tape, &op_activation, &n->node);
    return n->y;
}

Footprint activation_footprint(int n, int cols, int n_threads)
{
    return (Footprint){.kept = (size_t)n * (size_t)cols * sizeof(real),
                       .scratch = threads_scratch_size(n_threads, rows_mask_size(cols))};
}
