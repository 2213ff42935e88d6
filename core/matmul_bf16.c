/* The product with operands rounded to bf16. B is packed first, by all threads; A by each tile for itself, where it stays in
 * the cache until it is multiplied: that costs a conversion an element and column tile, and no memory. */
#ifndef FERRY_FP64
#include <string.h>

#include "core/products.h"
#include "core/tiles.h"

enum {
    CELL_CHUNK = 256,              /* cells along k at a time: as many bytes as fp32's chunk has */
    ROW_STRIDE = CELL_CHUNK + 16,  /* of A's rows in scratch: no power of two, which would meet in few cache sets */
};

typedef struct Operands {
    const Unit *unit;
    const Bf16Packing *packing;
    const int32_t *panels;
    bool transposed; /* A is [k, m] */
} Operands;

/* Cells of k elements, with the zeros that units may read: panels and rows in scratch have them. */
static size_t padded(int k)
{
    return ((size_t)(k + 1) / 2 + 15) / 16 * 16;
}

/* A's cells for one tile and chunk, in scratch unless they can be read as they lie */
typedef struct Cells {
    const int32_t *at;
    size_t row, k;
} Cells;

static Cells transposed_cells(const Matmul *p, const Operands *o, int i0, int m, int k0, int k, int32_t *scratch)
{
    const bool in_rows = o->unit->rows_only;
    int32_t space[TILE_ROWS * CELL_CHUNK] __attribute__((aligned(64))), *pairs = in_rows ? space : scratch;
    if (p->a_rounded)
        o->packing->pairs_of_rows(k, m, TILE_ROWS, (const int32_t *)p->a + (size_t)k0 * p->a_stride + i0 / 2, p->a_stride, pairs);
    else o->packing->pairs(k, m, TILE_ROWS, p->a + (size_t)k0 * p->a_stride + i0, p->a_stride, pairs);
    if (!in_rows) return (Cells){.at = pairs, .row = 1, .k = TILE_ROWS};
    o->packing->pairs_to_rows(k, m, TILE_ROWS, pairs, scratch, ROW_STRIDE);
    return (Cells){.at = scratch, .row = ROW_STRIDE, .k = 1};
}

static Cells cells_of(const Matmul *p, const Operands *o, int i0, int m, int k0, int k, int32_t *scratch)
{
    if (o->transposed) return transposed_cells(p, o, i0, m, k0, k, scratch);
    const size_t at = (size_t)i0 * p->a_stride;
    if (!p->a_rounded) {
        o->packing->rows(m, k, p->a + at + k0, p->a_stride, scratch, ROW_STRIDE);
    } else {
        const int32_t *rounded = (const int32_t *)p->a + at + k0 / 2;
        if (!o->unit->rows_only) return (Cells){.at = rounded, .row = p->a_stride, .k = 1};
        const size_t cells = (size_t)(k + 1) / 2, rest = padded(k) - cells;
        for (int i = 0; i < m; i++) {
            int32_t *row = scratch + (size_t)i * ROW_STRIDE;
            memcpy(row, rounded + (size_t)i * p->a_stride, cells * sizeof *row);
            memset(row + cells, 0, rest * sizeof *row);
        }
    }
    return (Cells){.at = scratch, .row = ROW_STRIDE, .k = 1};
}

static void tile(const Matmul *p, const void *operands, int i0, int i1, int panel0, int panel1)
{
    const Operands *o = operands;
    const int cells = (p->k + 1) / 2;
    const size_t panel_stride = padded(p->k) * UNIT_PANEL;
    int32_t scratch[TILE_ROWS * ROW_STRIDE] __attribute__((aligned(64)));
    for (int l0 = 0; l0 < cells || l0 == 0; l0 += CELL_CHUNK) {
        const int count = cells - l0 < CELL_CHUNK ? cells - l0 : CELL_CHUNK;
        const int k = p->k - 2 * l0 < 2 * count ? p->k - 2 * l0 : 2 * count;
        const Cells a = cells_of(p, o, i0, i1 - i0, 2 * l0, k, scratch);
        for (int panel = panel0; panel < panel1; panel++) {
            const int j = panel * UNIT_PANEL, columns = p->n - j < UNIT_PANEL ? p->n - j : UNIT_PANEL;
            o->unit->bf16(i1 - i0, columns, o->unit->rows_only ? (int)padded(k) : count, a.at, a.row, a.k,
                          o->panels + (size_t)panel * panel_stride + (size_t)l0 * UNIT_PANEL,
                          p->c + (size_t)i0 * p->c_stride + j, p->c_stride, l0 == 0 && p->bias ? p->bias + j : NULL,
                          l0 > 0 || p->add);
        }
    }
}

static void pack_panels(const Bf16Packing *packing, int n, int k, const real *b, size_t b_stride, bool transposed, int32_t *panels)
{
    const int n_panels = (n + UNIT_PANEL - 1) / UNIT_PANEL;
    const size_t cells_of_k = (size_t)(k + 1) / 2, panel_stride = padded(k) * UNIT_PANEL;
#pragma omp parallel for schedule(static) if ((long)n * k > 8192)
    for (int panel = 0; panel < n_panels; panel++) {
        const int j = panel * UNIT_PANEL, columns = n - j < UNIT_PANEL ? n - j : UNIT_PANEL;
        int32_t *cells = panels + (size_t)panel * panel_stride;
        if (transposed) packing->transposed(k, columns, UNIT_PANEL, b + (size_t)j * b_stride, b_stride, cells);
        else packing->pairs(k, columns, UNIT_PANEL, b + j, b_stride, cells);
        memset(cells + cells_of_k * UNIT_PANEL, 0, (panel_stride - cells_of_k * UNIT_PANEL) * sizeof *cells);
    }
}

static size_t size(const Compute *compute, int n, int k)
{
    (void)compute;
    return (size_t)((n + UNIT_PANEL - 1) / UNIT_PANEL) * UNIT_PANEL * padded(k) * sizeof(int32_t);
}

static size_t scratch(const Compute *compute, const Matmul *p)
{
    return size(compute, p->n, p->k);
}

static void multiply(const Compute *compute, const Matmul *p, Arena *arena)
{
    ArenaMark mark = arena_mark(arena);
    int32_t *panels = arena_alloc(arena, scratch(compute, p));
    pack_panels(compute->packing, p->n, p->k, p->b, p->b_stride, p->kind == MATMUL_NT, panels);
    const Operands o = {.unit = compute->unit[PRECISION_BF16], .packing = compute->packing, .panels = panels,
                        .transposed = p->kind == MATMUL_TN};
    tiles_run(p, UNIT_PANEL, tile, &o);
    arena_release(arena, mark);
}

static void pack(int n, int k, const real *b, size_t b_stride, MatmulWeights *weights)
{
    pack_panels(weights->packing, n, k, b, b_stride, true, weights->panels);
}

static void packed(const Matmul *p, const MatmulWeights *weights, Arena *arena)
{
    (void)arena;
    const Operands o = {.unit = weights->unit, .packing = weights->packing, .panels = weights->panels};
    tiles_run(p, UNIT_PANEL, tile, &o);
}

const Product product_bf16 = {.multiply = multiply, .scratch = scratch, .size = size, .pack = pack, .packed = packed};
#endif
