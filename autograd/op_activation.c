/* ReLU or GELU, then dropout, in one pass. */
#include "autograd/ops.h"
#include "autograd/rows.h"
#include "core/error.h"
#include "core/threads.h"

typedef struct ActivationNode {
    Node node;
    Tensor *x, *y;
    Activation kind;
    Dropout dropout;
} ActivationNode;

typedef void Forward(int n, const real *x, const real *mask, real *y);
typedef void Backward(int n, const real *x, const real *mask, const real *gy, real *gx);

static void forward(Tape *tape, Node *node)
{
    ActivationNode *n = (ActivationNode *)node;
    Forward *function = n->kind == ACTIVATE_RELU ? kernel.relu : kernel.gelu;
    const int rows = n->y->rows, cols = n->y->cols, n_tiles = rows_tiles(rows);
    ArenaMark mark = arena_mark(&tape->arena);
    ThreadScratch scratch = threads_scratch(&tape->arena, (size_t)ROW_TILE * (size_t)cols);
#pragma omp parallel for schedule(static) if (n_tiles > 1)
    for (int tile = 0; tile < n_tiles; tile++) {
        const real *drop = rows_mask(&n->dropout, tile, rows, cols, threads_scratch_self(&scratch));
        size_t at = (size_t)tile * ROW_TILE * (size_t)cols;
        function((rows_end(tile, rows) - tile * ROW_TILE) * cols, n->x->value + at, drop, n->y->value + at);
    }
    arena_release(&tape->arena, mark);
}

static void backward(Tape *tape, Node *node)
{
    ActivationNode *n = (ActivationNode *)node;
    Backward *function = n->kind == ACTIVATE_RELU ? kernel.relu_backward : kernel.gelu_backward;
    const int rows = n->y->rows, cols = n->y->cols, n_tiles = rows_tiles(rows);
    ArenaMark mark = arena_mark(&tape->arena);
    ThreadScratch scratch = threads_scratch(&tape->arena, (size_t)ROW_TILE * (size_t)cols);
#pragma omp parallel for schedule(static) if (n_tiles > 1)
    for (int tile = 0; tile < n_tiles; tile++) {
        const real *drop = rows_mask(&n->dropout, tile, rows, cols, threads_scratch_self(&scratch));
        size_t at = (size_t)tile * ROW_TILE * (size_t)cols;
        function((rows_end(tile, rows) - tile * ROW_TILE) * cols, n->x->value + at, drop, n->y->grad + at, n->x->grad + at);
    }
    arena_release(&tape->arena, mark);
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
