#include "core/attention.h"

/* Elements of the widest vectors of all instruction sets (core/vec.h): what needs no more with narrower ones. */
enum { MOST_LANES = 64 / sizeof(real) };

size_t attention_scratch(int n_q, int n_k, int d_head)
{
    const size_t tile = ATTENTION_TILE, full = ((size_t)d_head + MOST_LANES - 1) / MOST_LANES * MOST_LANES;
    const size_t q = ((size_t)n_q + tile - 1) / tile * tile, k = ((size_t)n_k + tile - 1) / tile * tile;
    return (2 * q + 4 * k) * full + 3 * tile * tile + 3 * q;
}
