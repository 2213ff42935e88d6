#include "autograd/tape.h"

#include <math.h>
#include <string.h>

#include "core/error.h"

/* Memory for gradients, used again within a backward pass: few gradients are alive at a time, so they stay in the cache and
 * take a fraction of what all of them together would. */
typedef struct Gradient {
    real *memory;
    size_t bytes;
    bool taken;
} Gradient;

typedef struct GradientPool {
    Gradient *gradient; /* [n] in the order of their release, the last released last */
    int n, capacity;
} GradientPool;

enum { ZERO_PIECE = 1 << 16 };

static void pool_free(GradientPool *pool)
{
    if (!pool) return;
    for (int i = 0; i < pool->n; i++) mem_free(pool->gradient[i].memory);
    mem_free(pool->gradient);
    mem_free(pool);
}

/* An eighth more: the next batch may be a little larger. */
size_t tape_gradient_size(size_t bytes)
{
    return bytes + bytes / 8;
}

/* The one released last among the smallest that are large enough; else the largest is made larger; else a new one. So there are
 * never more than were alive at a time. */
static real *pool_take(GradientPool *pool, size_t bytes)
{
    Gradient *best = NULL, *largest = NULL;
    for (int i = pool->n; i-- > 0;) {
        Gradient *g = &pool->gradient[i];
        if (g->taken) continue;
        if (g->bytes >= bytes && (!best || g->bytes < best->bytes)) best = g;
        if (!largest || g->bytes > largest->bytes) largest = g;
    }
    if (!best) {
        best = largest;
        if (!best) {
            ARRAY_RESERVE(pool->gradient, pool->n, pool->capacity);
            best = &pool->gradient[pool->n++];
            *best = (Gradient){0};
        }
        mem_free(best->memory);
        best->bytes = tape_gradient_size(bytes);
        best->memory = mem_alloc(best->bytes);
    }
    best->taken = true;
    return best->memory;
}

static void pool_release(GradientPool *pool, const real *memory)
{
    int i = 0;
    while (pool->gradient[i].memory != memory) i++;
    Gradient released = pool->gradient[i];
    for (; i + 1 < pool->n; i++) pool->gradient[i] = pool->gradient[i + 1];
    released.taken = false;
    pool->gradient[i] = released;
}

void tape_begin(Tape *tape, bool recording)
{
    arena_reset(&tape->arena);
    if (!tape->gradients) tape->gradients = mem_zalloc(sizeof *tape->gradients);
    for (int i = 0; i < tape->gradients->n; i++) tape->gradients->gradient[i].taken = false;
    if (!tape->compute.kernels) tape->compute = compute_best();
    tape->made = NULL;
    tape->recording = recording;
    tape->last = NULL;
    tape->n_dropouts = 0;
}

void tape_free(Tape *tape)
{
    arena_free(&tape->arena);
    positions_free(&tape->positions);
    pool_free(tape->gradients);
    tape->gradients = NULL;
    tape->last = NULL;
}

/* Run one of the node's two functions, under the observer's eyes. */
static void run(Tape *tape, Node *node, bool backward)
{
    const OpDef *op = node->op;
    TapeObserver *observer = tape->observer;
    if (observer) observer->before(observer, op, backward);
    (backward ? op->backward : op->forward)(tape, node);
    if (observer) observer->after(observer, op, backward);
}

void tape_backward(Tape *tape)
{
    for (Node *node = tape->last; node; node = node->previous) {
        bool matters = false; /* whether what is differentiated depends on it */
        for (Tensor *t = node->made; t; t = t->next) matters = matters || t->grad;
        if (matters) run(tape, node, true);
        for (Tensor *t = node->made; t; t = t->next) {
            if (t->grad) pool_release(tape->gradients, t->grad);
            t->grad = NULL;
            t->requires_grad = false;
        }
    }
}

real *tape_grad_first(Tape *tape, Tensor *t, bool *add)
{
    *add = true;
    if (t->whole) { /* others may hold other columns: the whole must be zero before any is written */
        real *whole = tape_grad(tape, t->whole);
        return whole ? whole + (t->value - t->whole->value) : NULL;
    }
    if (t->grad || !t->requires_grad) return t->grad;
    *add = false;
    return t->grad = pool_take(tape->gradients, (size_t)t->rows * (size_t)t->cols * sizeof(real));
}

real *tape_grad(Tape *tape, Tensor *t)
{
    bool add;
    real *grad = tape_grad_first(tape, t, &add);
    if (add) return grad;
    const size_t bytes = (size_t)t->rows * (size_t)t->cols * sizeof(real);
#pragma omp parallel for schedule(static) if (bytes > ZERO_PIECE)
    for (size_t at = 0; at < bytes; at += ZERO_PIECE)
        memset((char *)grad + at, 0, bytes - at < ZERO_PIECE ? bytes - at : ZERO_PIECE);
    return grad;
}

size_t tape_gradient_bytes(const Tape *tape)
{
    size_t bytes = 0;
    for (int i = 0; tape->gradients && i < tape->gradients->n; i++) bytes += tape->gradients->gradient[i].bytes;
    return bytes;
}

Tensor *tape_tensor(Tape *tape, int rows, int cols)
{
    Tensor *t = arena_zalloc(&tape->arena, sizeof *t);
    size_t bytes = (size_t)rows * (size_t)cols * sizeof(real);
    *t = (Tensor){.rows = rows, .cols = cols, .stride = (size_t)cols, .value = arena_alloc(&tape->arena, bytes)};
    if (tape->recording) {
        t->requires_grad = true;
        t->next = tape->made;
        tape->made = t;
    }
    return t;
}

Tensor *tape_columns(Tape *tape, Tensor *t, int first, int cols)
{
    CHECK(first >= 0 && first + cols <= t->cols, "columns %d + %d of %d", first, cols, t->cols);
    Tensor *part = arena_alloc(&tape->arena, sizeof *part);
    *part = *t;
    part->cols = cols;
    part->value += first;
    part->whole = t->whole ? t->whole : t;
    part->next = NULL;
    part->grad = NULL;
    return part;
}

void *tape_node(Tape *tape, size_t bytes)
{
    return arena_zalloc(&tape->arena, bytes);
}

void tape_run(Tape *tape, const OpDef *op, Node *node)
{
    node->op = op;
    run(tape, node, false);
    if (!tape->recording) return;
    node->previous = tape->last;
    node->made = tape->made;
    tape->made = NULL;
    tape->last = node;
}

MatmulWeights tape_pack(Tape *tape, const Tensor *weight)
{
    void *memory = arena_alloc(&tape->arena, matmul_weights_size(&tape->compute, tape->precision, weight->rows, weight->cols));
    return matmul_pack_weights(&tape->compute, tape->precision, weight->rows, weight->cols, weight->value, weight->stride,
                               memory);
}

Dropout tape_dropout(Tape *tape, real probability)
{
    enum { OP_BITS = 16 }; /* of the place in the random bits; so there may be 2^(RANDOM_PLACE_BITS - OP_BITS) passes */
    if (!tape->dropout || probability <= 0) return (Dropout){.keep_scale = 1};
    Dropout dropout = {.threshold = (uint32_t)lround((double)probability * 65536)};
    CHECK(dropout.threshold < 65536, "dropout of %g", (double)probability);
    CHECK(tape->n_dropouts >> OP_BITS == 0, "dropout %u", tape->n_dropouts);
    dropout.keep_scale = (real)(1 / (1 - dropout.threshold / 65536.0));
    dropout.stream = random_stream(tape->seed, RANDOM_DROPOUT, tape->step, (uint64_t)tape->pass << OP_BITS | tape->n_dropouts++);
    return dropout;
}
