/* Sinusoidal positions (Vaswani et al. 2017, 3.5): PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i + 1) = cos(p / 10000^(2i/D)).
 */
#ifndef FERRY_AUTOGRAD_POSITIONS_H
#define FERRY_AUTOGRAD_POSITIONS_H

#include "core/real.h"

/* The rows computed so far; grows as longer sentences come, so there is no longest. Starts as zeros. */
typedef struct Positions {
    int d_model; /* D */
    int n, capacity;
    real *value; /* [n, D] */
} Positions;

/* Make sure that rows 0 .. n-1 are there, of D = d_model columns (those of another D are forgotten). Each thread has its own. */
void positions_extend(Positions *positions, int d_model, int n);
void positions_free(Positions *positions);

#endif
