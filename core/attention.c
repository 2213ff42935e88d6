#include "core/attention.h"

#include "core/kernels.h"

size_t attention_scratch(int n_q, int n_k, int width)
{
    size_t tile = ATTENTION_TILE, full = (size_t)(width + kernel.lanes - 1) / (size_t)kernel.lanes * (size_t)kernel.lanes;
    size_t q = ((size_t)n_q + tile - 1) / tile * tile, k = ((size_t)n_k + tile - 1) / tile * tile;
    return (2 * q + 4 * k) * full + 3 * tile * tile + 3 * q;
}
