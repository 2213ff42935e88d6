#include "autograd/tape.h"

#include <math.h>

#include "core/error.h"

void tape_begin(Tape *tape, bool recording)
{
    arena_reset(&tape->arena);
    tape->recording = recording;
    tape->last = NULL;
    tape->n_dropouts = 0;
}

void tape_free(Tape *tape)
{
    arena_free(&tape->arena);
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
    for (Node *node = tape->last; node; node = node->previous) run(tape, node, true);
}

Tensor *tape_tensor(Tape *tape, int rows, int cols)
{
    Tensor *t = arena_zalloc(&tape->arena, sizeof *t);
    size_t bytes = (size_t)rows * (size_t)cols * sizeof(real);
    *t = (Tensor){.rows = rows, .cols = cols, .stride = (size_t)cols, .value = arena_alloc(&tape->arena, bytes)};
    if (tape->recording) t->grad = arena_zalloc(&tape->arena, bytes);
    return t;
}

Tensor *tape_columns(Tape *tape, const Tensor *t, int first, int cols)
{
    CHECK(first >= 0 && first + cols <= t->cols, "columns %d + %d of %d", first, cols, t->cols);
    Tensor *part = arena_alloc(&tape->arena, sizeof *part);
    *part = *t;
    part->cols = cols;
    part->value += first;
    if (part->grad) part->grad += first;
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
    tape->last = node;
}

Dropout tape_dropout(Tape *tape, real probability)
{
    if (!tape->dropout || probability <= 0) return (Dropout){.keep_scale = 1};
    Dropout dropout = {.threshold = (uint32_t)lround((double)probability * 65536)};
    CHECK(dropout.threshold < 65536, "dropout of %g", (double)probability);
    CHECK(tape->n_dropouts < 65536 && tape->pass < 65536, "dropout %u of pass %u", tape->n_dropouts, tape->pass);
    dropout.keep_scale = (real)(1 / (1 - dropout.threshold / 65536.0));
    dropout.stream = random_stream(tape->seed, RANDOM_DROPOUT, tape->step, tape->pass << 16 | tape->n_dropouts++);
    return dropout;
}
