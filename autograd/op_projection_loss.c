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
    int n_tokens, n_passes; /* rows of x: one a token, or those of a second pass (R-Drop) behind those of the first */
    real smoothing, divergence, scale;
    LossSums sums;
    real *gx, *gweight;  /* for d loss = 1 */
    const MatmulWeights *packed; /* the weights, packed once for all chunks; NULL if OpenBLAS multiplies */
} LossNode;

/* Tokens whose logits exist at a time */
static int chunk_tokens(int classes, int n_passes)
{
    const int size = CHUNK_ELEMENTS / classes / n_passes;
    return size < MIN_CHUNK ? MIN_CHUNK : size > MAX_CHUNK ? MAX_CHUNK : size;
}

static size_t logits_size(int tokens, int n_passes, int classes)
{
    return (size_t)tokens * (size_t)n_passes * (size_t)classes * sizeof(real);
}

static size_t sums_size(int tokens)
{
    return 2 * (size_t)tokens * sizeof(double);
}

static void logits_of(Tape *tape, const LossNode *n, const real *x, int rows, real *logits)
{
    const Tensor *w = n->weight;
    Matmul product = {.kind = MATMUL_NT, .m = rows, .n = w->rows, .k = w->cols, .a = x, .a_stride = n->x->stride,
                      .b = w->value, .b_stride = w->stride, .c = logits, .c_stride = (size_t)w->rows};
    if (!n->packed) {
        matmul(&tape->compute, &product, &tape->arena);
        return;
    }
    matmul_packed(&product, n->packed, &tape->arena);
}

/* Use up the gradient of the logits of some rows of x (rounded, in bf16). */
static void gradients_of(Tape *tape, LossNode *n, int first, int rows, const real *logits, bool add)
{
    const Tensor *x = n->x, *w = n->weight;
    const int classes = w->rows, d_model = w->cols;
    const bool rounded = tape->precision == PRECISION_BF16;
    matmul(&tape->compute,
           &(Matmul){.kind = MATMUL_NN,
                     .m = rows,
                     .n = d_model,
                     .k = classes,
                     .a = logits,
                     .a_stride = (size_t)classes,
                     .b = w->value,
                     .b_stride = w->stride,
                     .c = n->gx + (size_t)first * (size_t)d_model,
                     .c_stride = (size_t)d_model,
                     .precision = tape->precision,
                     .a_rounded = rounded},
           &tape->arena);
    matmul(&tape->compute,
           &(Matmul){.kind = MATMUL_TN,
                     .m = classes,
                     .n = d_model,
                     .k = rows,
                     .a = logits,
                     .a_stride = (size_t)classes,
                     .b = x->value + (size_t)first * x->stride,
                     .b_stride = x->stride,
                     .c = n->gweight,
                     .c_stride = (size_t)d_model,
                     .add = add,
                     .precision = tape->precision,
                     .a_rounded = rounded},
           &tape->arena);
}

static double loss_of_token(const Tape *tape, const LossNode *n, int token, real *logits, size_t to_second, double *nll)
{
    const int classes = n->weight->rows, label = n->label[token];
    if (n->n_passes == 1)
        return tape->compute.kernels->cross_entropy_row(classes, logits, label, n->smoothing, tape->recording, n->scale, nll);
    return tape->compute.kernels->cross_entropy_pair(classes, logits, logits + to_second, label, n->smoothing, n->divergence, tape->recording,
                                     n->scale, nll);
}

/* The logits of these tokens in one pass lie behind those in the other. */
static void chunk(Tape *tape, LossNode *n, int first, int tokens, real *logits, double *token_sums)
{
    const bool rounds = tape->recording && tape->precision == PRECISION_BF16;
    const size_t classes = (size_t)n->weight->rows, to_second = (size_t)tokens * classes;
    for (int pass = 0; pass < n->n_passes; pass++)
        logits_of(tape, n, n->x->value + (size_t)(pass * n->n_tokens + first) * n->x->stride, tokens,
                  logits + (size_t)pass * to_second);
#pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < tokens; i++) {
        real *row = logits + (size_t)i * classes;
        double *loss = token_sums + 2 * (size_t)i;
        loss[0] = loss_of_token(tape, n, first + i, row, to_second, &loss[1]);
        for (int pass = 0; rounds && pass < n->n_passes; pass++) /* while they are in the cache */
            matmul_round_rows(&tape->compute, 1, (int)classes, row + (size_t)pass * to_second, classes);
    }
    for (int i = 0; i < tokens; i++) {
        n->sums.loss += token_sums[2 * (size_t)i];
        n->sums.nll += token_sums[2 * (size_t)i + 1];
    }
    for (int pass = 0; tape->recording && pass < n->n_passes; pass++)
        gradients_of(tape, n, pass * n->n_tokens + first, tokens, logits + (size_t)pass * to_second, first + pass > 0);
}

static void forward(Tape *tape, Node *node)
{
    LossNode *n = (LossNode *)node;
    const int classes = n->weight->rows;
    const int size = chunk_tokens(classes, n->n_passes);
    ArenaMark mark = arena_mark(&tape->arena);
    real *logits = arena_alloc(&tape->arena, logits_size(size, n->n_passes, classes));
    double *token_sums = arena_alloc(&tape->arena, sums_size(size));
    n->packed = n->weight->packed;
    MatmulWeights here;
    if (!n->packed && (!tape->compute.blas || tape->precision != PRECISION_FP32)) {
        here = tape_pack(tape, n->weight);
        n->packed = &here;
    }
    for (int first = 0; first < n->n_tokens; first += size)
        chunk(tape, n, first, n->n_tokens - first < size ? n->n_tokens - first : size, logits, token_sums);
    arena_release(&tape->arena, mark);
    n->y->value[0] = (real)(n->sums.loss * (double)n->scale);
}

static void add_scaled(const Tape *tape, real scale, const real *from, int rows, int cols, real *to, size_t to_stride)
{
    const int per_tile = FLAT_TILE / cols > 0 ? FLAT_TILE / cols : 1;
#pragma omp parallel for schedule(static)
    for (int first = 0; first < rows; first += per_tile)
        for (int i = first; i < rows && i < first + per_tile; i++)
            tape->compute.kernels->add_scaled(cols, scale, from + (size_t)i * (size_t)cols, to + (size_t)i * to_stride);
}

static void backward(Tape *tape, Node *node)
{
    LossNode *n = (LossNode *)node;
    const real g = n->y->grad[0];
    add_scaled(tape, g, n->gx, n->x->rows, n->x->cols, tape_grad(tape, n->x), n->x->stride);
    add_scaled(tape, g, n->gweight, n->weight->rows, n->weight->cols, tape_grad(tape, n->weight), n->weight->stride);
}

const OpDef op_projection_loss = {"projection_loss", forward, backward};

static Tensor *build(Tape *tape, int n_passes, Tensor *x, Tensor *weight, const int32_t *label, real smoothing,
                     real divergence, real scale, LossSums *sums)
{
    CHECK(x->cols == weight->cols && x->rows > 0 && x->rows % n_passes == 0, "x [%d, %d], weight [%d, %d], %d passes", x->rows,
          x->cols, weight->rows, weight->cols, n_passes);
    LossNode *n = tape_node(tape, sizeof *n);
    n->n_tokens = x->rows / n_passes;
    n->n_passes = n_passes;
    for (int i = 0; i < n->n_tokens; i++)
        CHECK(label[i] >= 0 && label[i] < weight->rows, "label %d of %d", label[i], weight->rows);
    n->x = x;
    n->weight = weight;
    n->label = label;
    n->smoothing = smoothing;
    n->divergence = divergence;
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

Tensor *projection_loss(Tape *tape, Tensor *x, Tensor *weight, const int32_t *label, real smoothing, real scale,
                        LossSums *sums)
{
    return build(tape, 1, x, weight, label, smoothing, 0, scale, sums);
}

Tensor *projection_loss_pairs(Tape *tape, Tensor *x, Tensor *weight, const int32_t *label, real smoothing, real divergence,
                              real scale, LossSums *sums)
{
    return build(tape, 2, x, weight, label, smoothing, divergence, scale, sums);
}

Footprint projection_loss_footprint(int n, int n_passes, int d_model, int vocab_size)
{
    const Compute best = compute_best();
    const int tokens = chunk_tokens(vocab_size, n_passes);
    const Matmul gx = {.kind = MATMUL_NN, .m = tokens, .n = d_model, .k = vocab_size, .b_stride = (size_t)d_model};
    const Matmul gw = {.kind = MATMUL_TN, .m = vocab_size, .n = d_model, .k = tokens, .b_stride = (size_t)d_model};
    const size_t for_gx = matmul_scratch(&gx), for_gw = matmul_scratch(&gw);
    return (Footprint){
        .kept = ((size_t)n + (size_t)vocab_size) * (size_t)d_model * sizeof(real), /* their gradients */
        .scratch = logits_size(tokens, n_passes, vocab_size) + sums_size(tokens) +
                   matmul_weights_size(&best, PRECISION_FP32, vocab_size, d_model) + (for_gx > for_gw ? for_gx : for_gw),
    };
}
