/* How the packed products deal out their work: C in tiles of up to TILE_ROWS rows and some panels, each computed by one thread.
 * The cut may depend on the number of threads, since no element's bits depend on it. */
#ifndef FERRY_CORE_TILES_H
#define FERRY_CORE_TILES_H

#include "core/matmul.h"

enum { TILE_ROWS = 96 };

/* Compute rows i0 .. i1 - 1, panels panel0 .. panel1 - 1 of C. `operands` is the caller's. */
typedef void TileFunction(const Matmul *product, const void *operands, int i0, int i1, int panel0, int panel1);

void tiles_run(const Matmul *product, int panel_width, TileFunction *tile, const void *operands);

#endif
