#include "autograd/norm.h"

#include <string.h>

#include "autograd/rows.h"
#include "core/error.h"
#include "core/threads.h"

static size_t statistics_size(int rows)
{
    return 2 * (size_t)rows * sizeof(real);
}

/* Each tile's share of the gradients of gain and bias */
static size_t partials_size(int rows, int cols)
{
    return 2 * (size_t)rows_tiles(rows) * (size_t)cols * sizeof(real);
}

/* Elements of a thread: a row of gradients, then the masks */
static size_t backward_scratch(int cols)
{
    return (size_t)cols + rows_mask_size(cols);
}

Footprint norm_footprint(int n, int d_model, int n_threads)
{
    return (Footprint){.kept = (size_t)n * (size_t)d_model * sizeof(real) + statistics_size(n),
                       .scratch = threads_scratch_size(n_threads, backward_scratch(d_model)) + partials_size(n, d_model)};
}

NormNode *norm_node(Tape *tape, Tensor *x, Tensor *gain, Tensor *bias)
{
    CHECK(gain->cols == x->cols && bias->cols == x->cols, "norm of %d on [%d, %d]", gain->cols, x->rows, x->cols);
    NormNode *n = tape_node(tape, sizeof *n);
    n->x = x;
    n->gain = gain;
    n->bias = bias;
    n->statistics = arena_alloc(&tape->arena, statistics_size(x->rows));
    n->y = tape_tensor(tape, x->rows, x->cols);
    return n;
}

void norm_forward(Tape *tape, Node *node)
{
    NormNode *n = (NormNode *)node;
    const Kernels *kernels = tape->compute.kernels;
    const int rows = n->y->rows, cols = n->y->cols, n_tiles = rows_tiles(rows);
    ArenaMark mark = arena_mark(&tape->arena);
    ThreadScratch scratch = threads_scratch(&tape->arena, rows_mask_size(cols));
#pragma omp parallel for schedule(static) if (n_tiles > 1)
    for (int tile = 0; tile < n_tiles; tile++) {
        const real *drop = rows_mask(kernels, &n->dropout, tile, rows, cols, threads_scratch_self(&scratch));
        for (int i = tile * ROW_TILE; i < rows_end(tile, rows); i++)
            kernels->layer_norm_row(cols, n->x->value + (size_t)i * n->x->stride,
                                  n->z ? n->z->value + (size_t)i * n->z->stride : NULL,
                                  drop ? drop + (size_t)(i - tile * ROW_TILE) * (size_t)cols : NULL, n->gain->value,
                                  n->bias->value, n->sum->value + (size_t)i * n->sum->stride,
                                  n->y->value + (size_t)i * n->y->stride, n->statistics + 2 * (size_t)i);
    }
    arena_release(&tape->arena, mark);
}

/* Where one of the gradients of the inputs goes, row by row */
typedef struct Destination {
    real *grad;
    size_t stride;
    bool add; /* to what is there; else write */
} Destination;

static Destination destination(Tape *tape, Tensor *t)
{
    Destination d = {.stride = t->stride};
    d.grad = tape_grad_first(tape, t, &d.add);
    return d;
}

static void give(const Kernels *kernels, const Destination *d, int i, int cols, const real *gradient, const real *mask)
{
    real *row = d->grad + (size_t)i * d->stride;
    kernels->add_masked(cols, d->add ? row : NULL, gradient, mask, row);
}

void norm_backward(Tape *tape, Node *node)
{
    NormNode *n = (NormNode *)node;
    const Kernels *kernels = tape->compute.kernels;
    const int rows = n->y->rows, cols = n->y->cols, n_tiles = rows_tiles(rows);
    const real *gy = tape_grad(tape, n->y), *gsum = n->z ? n->sum->grad : NULL; /* NULL: nothing else depends on the sum */
    const Destination gx = destination(tape, n->x), gz = n->z ? destination(tape, n->z) : gx;
    ArenaMark mark = arena_mark(&tape->arena);
    ThreadScratch scratch = threads_scratch(&tape->arena, backward_scratch(cols));
    real *partial = arena_zalloc(&tape->arena, partials_size(rows, cols));
#pragma omp parallel for schedule(static) if (n_tiles > 1)
    for (int tile = 0; tile < n_tiles; tile++) {
        real *own = threads_scratch_self(&scratch), *ggain = partial + 2 * (size_t)tile * (size_t)cols;
        const real *drop = rows_mask(kernels, &n->dropout, tile, rows, cols, own + cols);
        for (int i = tile * ROW_TILE; i < rows_end(tile, rows); i++) {
            /* the gradient of the sum, at once in its place if that is the first to come there */
            real *gs = gx.add ? own : gx.grad + (size_t)i * gx.stride;
            kernels->layer_norm_row_backward(cols, n->sum->value + (size_t)i * n->sum->stride, n->gain->value,
                                           n->statistics + 2 * (size_t)i, gy + (size_t)i * n->y->stride,
                                           gsum ? gsum + (size_t)i * n->sum->stride : NULL, gs, ggain, ggain + cols);
            if (n->z) give(kernels, &gz, i, cols, gs, drop ? drop + (size_t)(i - tile * ROW_TILE) * (size_t)cols : NULL);
            if (gx.add) give(kernels, &gx, i, cols, gs, NULL);
        }
    }
    rows_add_partials(kernels, partial, 2 * (size_t)cols, n_tiles, cols, tape_grad(tape, n->gain));
    rows_add_partials(kernels, partial + cols, 2 * (size_t)cols, n_tiles, cols, tape_grad(tape, n->bias));
    arena_release(&tape->arena, mark);
}
