/* Output projection, softmax and label-smoothed cross-entropy with their gradients, over chunks of rows.
 *
 * The loss ends the graph, so its gradient with respect to the logits is known as soon as they are: forward (while
 * recording) computes the gradients for d loss = 1 at once and keeps them, [N, D] and [V, D]; backward only scales and adds
 * them. Computing the logits again in backward would cost half as much again. */
#include "autograd/ops.h"
#include "core/error.h"
#include "core/matmul.h"

enum {
    CHUNK_ELEMENTS = 4 << 20, /* logits at a time: 16 MB, within a last-level cache */
    MIN_CHUNK = 64,           /* but rows enough for the products to be efficient, */
    MAX_CHUNK = 1024,         /* and no more than they gain from */
    FLAT_TILE = 1 << 14,
};

typedef struct LossNode {
    Node node;
    Tensor *x, *weight, *y;
    const int32_t *label;
    real smoothing, scale;
    LossSums sums;
    real *gx, *gweight;  /* for d loss = 1 */
    const real *packed;  /* the weights, packed once for all chunks; NULL if OpenBLAS multiplies */
} LossNode;

static void logits_of(Tape *tape, const LossNode *n, const real *x, int rows, real *logits)
{
    const Tensor *w = n->weight;
    Matmul product = {.kind = MATMUL_NT, .m = rows, .n = w->rows, .k = w->cols, .a = x, .a_stride = n->x->stride,
                      .b = w->value, .b_stride = w->stride, .c = logits, .c_stride = (size_t)w->rows};
    if (!n->packed) {
        matmul(&product, &tape->arena);
        return;
    }
    product.b = n->packed;
    matmul_packed(&product);
}

static void chunk(Tape *tape, LossNode *n, int first, int rows, real *logits, double *row_sums)
{
    const Tensor *x = n->x, *w = n->weight;
    const int classes = w->rows, width = w->cols;
    real *x_rows = x->value + (size_t)first * x->stride;
    logits_of(tape, n, x_rows, rows, logits);
#pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < rows; i++) {
        double *sums = row_sums + 2 * (size_t)i;
        sums[0] = kernel.cross_entropy_row(classes, logits + (size_t)i * (size_t)classes, n->label[first + i], n->smoothing,
                                           tape->recording, n->scale, &sums[1]);
    }
    for (const double *sums = row_sums, *end = row_sums + 2 * (size_t)rows; sums < end; sums += 2) {
        n->sums.loss += sums[0];
        n->sums.nll += sums[1];
    }
    if (!tape->recording) return;
    matmul(&(Matmul){.kind = MATMUL_NN,
                     .m = rows,
                     .n = width,
                     .k = classes,
                     .a = logits,
                     .a_stride = (size_t)classes,
                     .b = w->value,
                     .b_stride = w->stride,
                     .c = n->gx + (size_t)first * (size_t)width,
                     .c_stride = (size_t)width},
           &tape->arena);
    matmul(&(Matmul){.kind = MATMUL_TN,
                     .m = classes,
                     .n = width,
                     .k = rows,
                     .a = logits,
                     .a_stride = (size_t)classes,
                     .b = x_rows,
                     .b_stride = x->stride,
                     .c = n->gweight,
                     .c_stride = (size_t)width,
                     .add = first > 0},
           &tape->arena);
}

static void forward(Tape *tape, Node *node)
{
    LossNode *n = (LossNode *)node;
    const int classes = n->weight->rows, rows = n->x->rows;
    int size = CHUNK_ELEMENTS / classes;
    size = size < MIN_CHUNK ? MIN_CHUNK : size > MAX_CHUNK ? MAX_CHUNK : size;
    ArenaMark mark = arena_mark(&tape->arena);
    real *logits = arena_alloc(&tape->arena, (size_t)size * (size_t)classes * sizeof(real));
    double *row_sums = arena_alloc(&tape->arena, 2 * (size_t)size * sizeof(double));
    n->packed = n->weight->packed;
    if (!n->packed && matmul_backend() == MATMUL_PACKED) {
        real *packed = arena_alloc(&tape->arena, matmul_packed_size(classes, n->weight->cols) * sizeof(real));
        matmul_pack_weights(classes, n->weight->cols, n->weight->value, n->weight->stride, packed);
        n->packed = packed;
    }
    for (int first = 0; first < rows; first += size)
        chunk(tape, n, first, rows - first < size ? rows - first : size, logits, row_sums);
    arena_release(&tape->arena, mark);
    n->y->value[0] = (real)(n->sums.loss * (double)n->scale);
}

static void add_scaled(real scale, const real *from, int rows, int cols, real *to, size_t to_stride)
{
    const int per_tile = FLAT_TILE / cols > 0 ? FLAT_TILE / cols : 1;
#pragma omp parallel for schedule(static)
    for (int first = 0; first < rows; first += per_tile)
        for (int i = first; i < rows && i < first + per_tile; i++)
            kernel.add_scaled(cols, scale, from + (size_t)i * (size_t)cols, to + (size_t)i * to_stride);
}

static void backward(Tape *tape, Node *node)
{
    (void)tape;
    LossNode *n = (LossNode *)node;
    const real g = n->y->grad[0];
    add_scaled(g, n->gx, n->x->rows, n->x->cols, n->x->grad, n->x->stride);
    add_scaled(g, n->gweight, n->weight->rows, n->weight->cols, n->weight->grad, n->weight->stride);
}

const OpDef op_projection_loss = {"projection_loss", forward, backward};

Tensor *projection_loss(Tape *tape, Tensor *x, Tensor *weight, const int32_t *label, real smoothing, real scale,
                        LossSums *sums)
{
    CHECK(x->cols == weight->cols && x->rows > 0, "x [%d, %d], weight [%d, %d]", x->rows, x->cols, weight->rows,
          weight->cols);
    for (int i = 0; i < x->rows; i++)
        CHECK(label[i] >= 0 && label[i] < weight->rows, "label %d of %d", label[i], weight->rows);
    LossNode *n = tape_node(tape, sizeof *n);
    n->x = x;
    n->weight = weight;
    n->label = label;
    n->smoothing = smoothing;
    n->scale = scale;
    n->y = tape_tensor(tape, 1, 1);
    if (tape->recording) {
        n->gx = arena_alloc(&tape->arena, (size_t)x->rows * (size_t)x->cols * sizeof(real));
        n->gweight = arena_alloc(&tape->arena, (size_t)weight->rows * (size_t)weight->cols * sizeof(real));
    }
    tape_run(tape, &op_projection_loss, &n->node);
    if (sums) *sums = n->sums;
    return n->y;
}
