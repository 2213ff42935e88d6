/* Embedding with positions and dropout. */
#include <math.h>

#include "autograd/ops.h"
#include "autograd/rows.h"
#include "core/error.h"
#include "core/threads.h"

enum { COLUMN_TILE = 16 };

typedef struct EmbeddingNode {
    Node node;
    Tensor *table, *y;
    const Ragged *tokens;
    const real *positions; /* row of the first token's position; for forward alone, since the next op may move them */
    const int32_t *place;  /* [N] position of each token, counted from `first` */
    Dropout dropout;
    real scale;
} EmbeddingNode;

static void forward(Tape *tape, Node *node)
{
    EmbeddingNode *n = (EmbeddingNode *)node;
    const Kernels *kernels = tape->compute.kernels;
    const int cols = n->y->cols, rows = n->y->rows, n_tiles = rows_tiles(rows);
    ArenaMark mark = arena_mark(&tape->arena);
    ThreadScratch scratch = threads_scratch(&tape->arena, rows_mask_size(cols));
#pragma omp parallel for schedule(static) if (n_tiles > 1)
    for (int tile = 0; tile < n_tiles; tile++) {
        const real *mask = rows_mask(kernels, &n->dropout, tile, rows, cols, threads_scratch_self(&scratch));
        for (int i = tile * ROW_TILE; i < rows_end(tile, rows); i++)
            kernels->embed_row(cols, n->table->value + (size_t)n->tokens->token[i] * n->table->stride, n->scale,
                             n->positions + (size_t)n->place[i] * (size_t)cols,
                             mask ? mask + (size_t)(i - tile * ROW_TILE) * (size_t)cols : NULL,
                             n->y->value + (size_t)i * n->y->stride);
    }
    arena_release(&tape->arena, mark);
}

static void backward(Tape *tape, Node *node)
{
    EmbeddingNode *n = (EmbeddingNode *)node;
    const Kernels *kernels = tape->compute.kernels;
    const int cols = n->y->cols, rows = n->y->rows, n_tiles = rows_tiles(rows);
    ArenaMark mark = arena_mark(&tape->arena);
    ThreadScratch scratch = threads_scratch(&tape->arena, rows_mask_size(cols));
    real *masked = n->y->grad, *gtable = tape_grad(tape, n->table);
    if (n->dropout.threshold) {
        masked = arena_alloc(&tape->arena, (size_t)rows * (size_t)cols * sizeof(real));
#pragma omp parallel for schedule(static)
        for (int tile = 0; tile < n_tiles; tile++) {
            const real *drop = rows_mask(kernels, &n->dropout, tile, rows, cols, threads_scratch_self(&scratch));
            size_t at = (size_t)tile * ROW_TILE * (size_t)cols;
            kernels->add_masked((rows_end(tile, rows) - tile * ROW_TILE) * cols, NULL, n->y->grad + at, drop, masked + at);
        }
    }
    /* Two tokens may be the same word, so threads share out columns, not rows. */
#pragma omp parallel for schedule(static)
    for (int c = 0; c < cols; c += COLUMN_TILE)
        for (int i = 0; i < rows; i++)
            kernels->add_scaled(cols - c < COLUMN_TILE ? cols - c : COLUMN_TILE, n->scale,
                              masked + (size_t)i * (size_t)cols + c,
                              gtable + (size_t)n->tokens->token[i] * n->table->stride + c);
    arena_release(&tape->arena, mark);
}

const OpDef op_embedding = {"embedding", forward, backward};

Tensor *embedding(Tape *tape, Tensor *table, const Ragged *tokens, int first, real dropout)
{
    EmbeddingNode *n = tape_node(tape, sizeof *n);
    int32_t *place = arena_alloc(&tape->arena, (size_t)tokens->n_tokens * sizeof *place);
    int longest = 0;
    for (int s = 0; s < tokens->n_seq; s++) {
        int count = tokens->start[s + 1] - tokens->start[s];
        if (count > longest) longest = count;
        for (int i = 0; i < count; i++) place[tokens->start[s] + i] = i;
    }
    for (int i = 0; i < tokens->n_tokens; i++)
        CHECK(tokens->token[i] >= 0 && tokens->token[i] < table->rows, "token %d of %d", tokens->token[i], table->rows);
    positions_extend(&tape->positions, table->cols, first + longest);
    n->table = table;
    n->tokens = tokens;
    n->place = place;
    n->positions = tape->positions.value + (size_t)first * (size_t)table->cols;
    n->scale = (real)sqrt((double)table->cols);
    n->dropout = tape_dropout(tape, dropout);
    n->y = tape_tensor(tape, tokens->n_tokens, table->cols);
    tape_run(tape, &op_embedding, &n->node);
    return n->y;
}

Footprint embedding_footprint(int n, int d_model, int n_threads)
{
    const size_t y = (size_t)n * (size_t)d_model * sizeof(real); /* and its gradient, masked */
    return (Footprint){.kept = y + (size_t)n * sizeof(int32_t),
                       .scratch = y + threads_scratch_size(n_threads, rows_mask_size(d_model))};
}
