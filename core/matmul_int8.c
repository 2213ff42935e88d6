/* The product with operands rounded to bytes, for inference (weights are packed once):
 *     C[i, j] = scale of row i * scale of column j * sum over k of a[i, k] w[k, j] + bias[j].
 * Units multiply unsigned by signed bytes, so activations carry an OFFSET of 128, which the columns' sums take off again. The
 * sum is exact, so every unit gives the same integers. */
#ifndef FERRY_FP64
#include <string.h>

#include "core/error.h"
#include "core/products.h"
#include "core/tiles.h"

enum { OFFSET = 128, UNIT_ROWS = 32 /* units may read A to the end of so many rows */ };

typedef struct Operands {
    const MatmulWeights *weights;
    const int32_t *a; /* [m][row_cells] */
    size_t row_cells;
    const float *scale; /* [m] */
} Operands;

static int cells_of(int k)
{
    return (k + 3) / 4;
}

/* with the zeros that units may read */
static int padded(int k)
{
    return (cells_of(k) + 15) / 16 * 16;
}

static size_t aligned(size_t bytes)
{
    return (bytes + MEM_ALIGN - 1) / MEM_ALIGN * MEM_ALIGN;
}

/* The panels, then the columns' scales, then their sums. */
static size_t panels_bytes(int n, int k)
{
    return (size_t)((n + UNIT_PANEL - 1) / UNIT_PANEL) * UNIT_PANEL * (size_t)padded(k) * sizeof(int32_t);
}

static size_t size(const Compute *compute, int n, int k)
{
    (void)compute;
    return panels_bytes(n, k) + aligned((size_t)n * sizeof(float)) + aligned((size_t)n * sizeof(int32_t));
}

static void pack(int n, int k, const real *b, size_t b_stride, MatmulWeights *weights)
{
    CHECK(k <= MATMUL_INT8_MAX_K, "k = %d", k);
    const Kernels *kernels = weights->kernels;
    weights->scale = (real *)((char *)weights->panels + panels_bytes(n, k));
    weights->column_sum = (int32_t *)((char *)weights->scale + aligned((size_t)n * sizeof(real)));
    const int cells = cells_of(k), n_panels = (n + UNIT_PANEL - 1) / UNIT_PANEL;
#pragma omp parallel for schedule(static) if ((long)n * k > 8192)
    for (int panel = 0; panel < n_panels; panel++) {
        int32_t *out = (int32_t *)weights->panels + (size_t)panel * (size_t)padded(k) * UNIT_PANEL;
        int32_t row[MATMUL_INT8_MAX_K / 4];
        for (int column = 0; column < UNIT_PANEL; column++) {
            const int j = panel * UNIT_PANEL + column;
            row[cells - 1] = 0;
            if (j < n) {
                kernels->int8_row(k, b + (size_t)j * b_stride, 0, (uint8_t *)row, &weights->scale[j]);
                int32_t sum = 0;
                for (int l = 0; l < k; l++) sum += ((const int8_t *)row)[l];
                weights->column_sum[j] = sum;
            } else {
                memset(row, 0, (size_t)cells * sizeof *row);
            }
            for (int l = 0; l < cells; l++) out[(size_t)l * UNIT_PANEL + column] = row[l];
        }
        memset(out + (size_t)cells * UNIT_PANEL, 0, (size_t)(padded(k) - cells) * UNIT_PANEL * sizeof *out);
    }
}

static void tile(const Matmul *p, const void *operands, int i0, int i1, int panel0, int panel1)
{
    const Operands *o = operands;
    const MatmulWeights *w = o->weights;
    const int cells = w->unit->rows_only ? padded(p->k) : cells_of(p->k);
    int32_t sum[TILE_ROWS * UNIT_PANEL];
    for (int panel = panel0; panel < panel1; panel++) {
        const int j0 = panel * UNIT_PANEL, columns = p->n - j0 < UNIT_PANEL ? p->n - j0 : UNIT_PANEL;
        w->unit->int8(i1 - i0, columns, cells, o->a + (size_t)i0 * o->row_cells, o->row_cells, 1,
                      (const int32_t *)w->panels + (size_t)panel * (size_t)padded(p->k) * UNIT_PANEL, sum, UNIT_PANEL, false);
        for (int i = i0; i < i1; i++) {
            float *c = p->c + (size_t)i * p->c_stride + j0;
            w->kernels->int8_scale(columns, sum + (size_t)(i - i0) * UNIT_PANEL, OFFSET, w->column_sum + j0, o->scale[i], w->scale + j0,
                              p->bias ? p->bias + j0 : p->add ? c : NULL, c);
        }
    }
}

static void packed(const Matmul *p, const MatmulWeights *weights, Arena *arena)
{
    const Kernels *kernels = weights->kernels;
    const size_t row_cells = (size_t)padded(p->k), rows = (size_t)(p->m + UNIT_ROWS - 1) / UNIT_ROWS * UNIT_ROWS;
    ArenaMark mark = arena_mark(arena);
    int32_t *a = arena_alloc(arena, rows * row_cells * sizeof *a);
    float *scale = arena_alloc(arena, (size_t)p->m * sizeof *scale);
#pragma omp parallel for schedule(static) if ((long)p->m * p->k > 8192)
    for (int i = 0; i < p->m; i++) {
        int32_t *row = a + (size_t)i * row_cells;
        memset(row + p->k / 4, 0, (row_cells - (size_t)(p->k / 4)) * sizeof *row);
        kernels->int8_row(p->k, p->a + (size_t)i * p->a_stride, OFFSET, (uint8_t *)row, &scale[i]);
    }
    tiles_run(p, UNIT_PANEL, tile, &(Operands){.weights = weights, .a = a, .row_cells = row_cells, .scale = scale});
    arena_release(arena, mark);
}

const Product product_int8 = {.size = size, .pack = pack, .packed = packed};
#endif
