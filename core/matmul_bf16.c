/* The product with operands rounded to bf16. B is packed first, by all threads; A by each tile for itself, where it stays in
 * the cache until it is multiplied: that costs a conversion an element and column tile, and no memory. */
#ifndef FERRY_FP64
#include "core/error.h"
#include "core/tiles.h"
#include "core/units.h"

enum {
    CELL_CHUNK = 256,              /* cells along k at a time: as many bytes as fp32's chunk has */
    ROW_STRIDE = CELL_CHUNK + 16,  /* of A's rows in scratch: no power of two, which would meet in few cache sets */
};

typedef struct Operands {
    const Unit *unit;
    const int32_t *panels;
    bool transposed; /* A is [k, m] */
} Operands;

static void tile(const Matmul *p, const void *operands, int i0, int i1, int panel0, int panel1)
{
    const Operands *o = operands;
    const int cells = (p->k + 1) / 2;
    const size_t panel_stride = (size_t)cells * UNIT_PANEL;
    int32_t a[TILE_ROWS * ROW_STRIDE] __attribute__((aligned(64)));
    for (int l0 = 0; l0 < cells || l0 == 0; l0 += CELL_CHUNK) {
        const int count = cells - l0 < CELL_CHUNK ? cells - l0 : CELL_CHUNK;
        const int k = p->k - 2 * l0 < 2 * count ? p->k - 2 * l0 : 2 * count;
        if (o->transposed)
            o->unit->pairs(k, i1 - i0, TILE_ROWS, p->a + (size_t)(2 * l0) * p->a_stride + i0, p->a_stride, a);
        else o->unit->rows(i1 - i0, k, p->a + (size_t)i0 * p->a_stride + 2 * l0, p->a_stride, a, ROW_STRIDE);
        for (int panel = panel0; panel < panel1; panel++) {
            const int j = panel * UNIT_PANEL, columns = p->n - j < UNIT_PANEL ? p->n - j : UNIT_PANEL;
            o->unit->bf16(i1 - i0, columns, count, a, o->transposed ? 1 : ROW_STRIDE, o->transposed ? TILE_ROWS : 1,
                          o->panels + (size_t)panel * panel_stride + (size_t)l0 * UNIT_PANEL,
                          p->c + (size_t)i0 * p->c_stride + j, p->c_stride, l0 == 0 && p->bias ? p->bias + j : NULL,
                          l0 > 0 || p->add);
        }
    }
}

static void pack(const Unit *unit, int n, int k, const real *b, size_t b_stride, bool transposed, int32_t *panels)
{
    const int n_panels = (n + UNIT_PANEL - 1) / UNIT_PANEL;
    const size_t panel_stride = (size_t)((k + 1) / 2) * UNIT_PANEL;
#pragma omp parallel for schedule(static) if ((long)n * k > 8192)
    for (int panel = 0; panel < n_panels; panel++) {
        const int j = panel * UNIT_PANEL, columns = n - j < UNIT_PANEL ? n - j : UNIT_PANEL;
        int32_t *cells = panels + (size_t)panel * panel_stride;
        if (transposed) unit->transposed(k, columns, UNIT_PANEL, b + (size_t)j * b_stride, b_stride, cells);
        else unit->pairs(k, columns, UNIT_PANEL, b + j, b_stride, cells);
    }
}

static const Unit *unit_in_use(void)
{
    const Unit *unit = unit_for(PRECISION_BF16);
    CHECK(unit, "no bf16 here");
    return unit;
}

void matmul_bf16(const Matmul *p, Arena *arena)
{
    ArenaMark mark = arena_mark(arena);
    const Unit *unit = unit_in_use();
    int32_t *panels = arena_alloc(arena, matmul_weights_size(PRECISION_BF16, p->n, p->k));
    pack(unit, p->n, p->k, p->b, p->b_stride, p->kind == MATMUL_NT, panels);
    tiles_run(p, UNIT_PANEL, tile, &(Operands){.unit = unit, .panels = panels, .transposed = p->kind == MATMUL_TN});
    arena_release(arena, mark);
}

void matmul_bf16_pack(int n, int k, const real *b, size_t b_stride, int32_t *cells)
{
    pack(unit_in_use(), n, k, b, b_stride, true, cells);
}

void matmul_bf16_packed(const Matmul *p, const MatmulWeights *weights)
{
    tiles_run(p, UNIT_PANEL, tile, &(Operands){.unit = unit_in_use(), .panels = weights->panels});
}
#endif
