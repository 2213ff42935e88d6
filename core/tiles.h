/* How the packed products deal out their work (internal to core/matmul*.c): C in tiles of up to TILE_ROWS rows and
 * some panels, each computed by one thread. The cut may depend on the number of threads, since no element's bits depend on it. */
#ifndef FERRY_CORE_TILES_H
#define FERRY_CORE_TILES_H

#include "core/matmul.h"

enum { TILE_ROWS = 96 };

/* Compute rows i0 .. i1 - 1, panels panel0 .. panel1 - 1 of C. `operands` is the caller's. */
typedef void TileFunction(const Matmul *product, const void *operands, int i0, int i1, int panel0, int panel1);

void tiles_run(const Matmul *product, int panel_width, TileFunction *tile, const void *operands);

/* The products of core/matmul_bf16.c and core/matmul_int8.c; see matmul, matmul_pack_weights and matmul_packed. */
void matmul_bf16(const Matmul *product, Arena *arena);
void matmul_bf16_round_rows(int m, int k, real *rows, size_t stride);
void matmul_bf16_pack(int n, int k, const real *b, size_t b_stride, int32_t *cells);
void matmul_bf16_packed(const Matmul *product, const MatmulWeights *weights);
void matmul_int8_pack(int n, int k, const real *b, size_t b_stride, MatmulWeights *weights);
void matmul_int8_packed(const Matmul *product, const MatmulWeights *weights, Arena *arena);

#endif
