/* Embedding of one token. Bound by memory. */
#include "core/kernel_isa.h"

void KERNEL_NAME(embed_row)(int n, const real *table, real scale, const real *position, const real *mask, real *y)
{
    if (!mask)
        for (int i = 0; i < n; i++) y[i] = scale * table[i] + position[i];
    else
        for (int i = 0; i < n; i++) y[i] = (scale * table[i] + position[i]) * mask[i];
}
