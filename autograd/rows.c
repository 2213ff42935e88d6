#include "autograd/rows.h"

const real *rows_mask(const Kernels *kernels, const Dropout *dropout, int tile, int rows, int cols, real *mask)
{
    if (!dropout->threshold) return NULL;
    kernels->dropout_mask(dropout, (uint64_t)tile * ROW_TILE * (uint64_t)cols,
                          (rows_end(tile, rows) - tile * ROW_TILE) * cols, mask);
    return mask;
}

void rows_add_partials(const Kernels *kernels, const real *partial, size_t stride, int n_tiles, int cols, real *total)
{
    for (int tile = 0; tile < n_tiles; tile++) kernels->add_masked(cols, total, partial + (size_t)tile * stride, NULL, total);
}
