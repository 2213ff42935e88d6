/* How the row-wise ops cut their work: ROW_TILE rows a piece, whatever the number of threads, so that sums over rows
 * (gradients of gains and biases) are partial sums of fixed pieces, added in order. ROW_TILE rows of any width start at a
 * multiple of RANDOM_GROUP elements. */
#ifndef FERRY_AUTOGRAD_ROWS_H
#define FERRY_AUTOGRAD_ROWS_H

#include "autograd/tape.h"

enum { ROW_TILE = 128 };

static inline int rows_tiles(int rows)
{
    return (rows + ROW_TILE - 1) / ROW_TILE;
}

/* Elements of a thread's scratch for the masks of a tile's rows */
static inline size_t rows_mask_size(int cols)
{
    return (size_t)ROW_TILE * (size_t)cols;
}

static inline int rows_end(int tile, int rows)
{
    return (tile + 1) * ROW_TILE < rows ? (tile + 1) * ROW_TILE : rows;
}

/* The masks of a tile's rows, [rows, cols], in `mask`; NULL if the dropout drops nothing. */
const real *rows_mask(const Kernels *kernels, const Dropout *dropout, int tile, int rows, int cols, real *mask);

/* total[c] += sum over tiles of partial[tile * stride + c], in order of tiles */
void rows_add_partials(const Kernels *kernels, const real *partial, size_t stride, int n_tiles, int cols, real *total);

#endif
