#include "core/matmul.h"

#include <stdio.h>
#include <string.h>

#include "core/blas.h"
#include "core/error.h"
#include "core/kernels.h"
#include "core/threads.h"
#include "core/tiles.h"
#include "core/units.h"

enum {
    K_CHUNK = 256,      /* a panel of B of 32 KB, which stays in the first level of cache, and TILE_ROWS of A of 96 KB, in the second */
    WIDE_PANELS = 16,   /* columns of a tile, in panels, where that still leaves TILES_A_THREAD for each thread */
    NARROW_PANELS = 2,  /* and at the least */
    TILES_A_THREAD = 4,
    FAR_APART = 1024,   /* elements between the rows of a transposed A from which on a tile of it is copied first */
};

static MatmulBackend backend = MATMUL_PACKED;

void matmul_use(MatmulBackend wanted)
{
    CHECK(wanted == MATMUL_PACKED || blas_name(), "OpenBLAS is not loaded");
    backend = wanted;
}

MatmulBackend matmul_backend(void)
{
    return backend;
}

const char *matmul_name(void)
{
    static char name[64];
    snprintf(name, sizeof name, "%s %s", backend == MATMUL_PACKED ? "packed" : "openblas",
             backend == MATMUL_PACKED ? kernel.name : blas_name());
    return name;
}

void tiles_run(const Matmul *p, int panel_width, TileFunction *tile, const void *operands)
{
    const int n_panels = (p->n + panel_width - 1) / panel_width, enough = TILES_A_THREAD * threads_count();
    const int rows = p->m >= enough * TILE_ROWS ? TILE_ROWS : TILE_ROWS / 2, row_tiles = (p->m + rows - 1) / rows;
    /* Wide tiles convert and load A less often; more of them share out better. No element's bits depend on the cut. */
    int panels = (int)((long)row_tiles * n_panels / enough);
    panels = panels > WIDE_PANELS ? WIDE_PANELS : panels < NARROW_PANELS ? NARROW_PANELS : panels;
    const int column_tiles = (n_panels + panels - 1) / panels;
#pragma omp parallel for schedule(dynamic, 1) if (row_tiles * column_tiles > 1)
    for (int t = 0; t < row_tiles * column_tiles; t++) {
        int i0 = t % row_tiles * rows, i1 = i0 + rows < p->m ? i0 + rows : p->m;
        int p0 = t / row_tiles * panels, p1 = p0 + panels < n_panels ? p0 + panels : n_panels;
        tile(p, operands, i0, i1, p0, p1);
    }
}

/* A and B as the tiles see them. Panel p of B starts at b + p * panel_stride, its rows b_row apart. */
typedef struct Operands {
    const real *a, *b;
    size_t a_row, a_k, panel_stride, b_row;
} Operands;

static void tile(const Matmul *p, const void *operands, int i0, int i1, int panel0, int panel1)
{
    const Operands *o = operands;
    const int width = kernel.panel;
    real a_scratch[K_CHUNK * TILE_ROWS];
    for (int k0 = 0; k0 < p->k || k0 == 0; k0 += K_CHUNK) {
        int kc = p->k - k0 < K_CHUNK ? p->k - k0 : K_CHUNK;
        const real *a = o->a + (size_t)i0 * o->a_row + (size_t)k0 * o->a_k;
        size_t a_k = o->a_k;
        if (o->a_row == 1 && a_k >= FAR_APART) { /* transposed: its rows are pages apart, or fall into one cache set */
            for (int l = 0; l < kc; l++)
                memcpy(a_scratch + (size_t)l * TILE_ROWS, a + (size_t)l * a_k, (size_t)(i1 - i0) * sizeof(real));
            a = a_scratch;
            a_k = TILE_ROWS;
        }
        for (int panel = panel0; panel < panel1; panel++) {
            int j = panel * width, columns = p->n - j < width ? p->n - j : width;
            kernel.matmul_block(i1 - i0, columns, kc, a, o->a_row, a_k,
                                o->b + (size_t)panel * o->panel_stride + (size_t)k0 * o->b_row, o->b_row,
                                p->c + (size_t)i0 * p->c_stride + j, p->c_stride, k0 == 0 && p->bias ? p->bias + j : NULL,
                                k0 > 0 || p->add);
        }
    }
}

static size_t panels_size(int n, int k)
{
    return (size_t)((n + kernel.panel - 1) / kernel.panel) * (size_t)kernel.panel * (size_t)k;
}

static void pack_panels(int n, int k, const real *b, size_t b_stride, bool transposed, real *packed)
{
    const int width = kernel.panel, n_panels = (n + width - 1) / width;
#pragma omp parallel for schedule(static) if ((long)n * k > 8192)
    for (int panel = 0; panel < n_panels; panel++) {
        int j = panel * width;
        kernel.matmul_pack(k, n - j < width ? n - j : width, width, transposed ? b + (size_t)j * b_stride : b + j, b_stride,
                           transposed, packed + (size_t)panel * (size_t)width * (size_t)k);
    }
}

static Operands panels_of(const Matmul *p, const real *packed)
{
    return (Operands){.a = p->a, .a_row = p->a_stride, .a_k = 1, .b = packed,
                      .panel_stride = (size_t)kernel.panel * (size_t)p->k, .b_row = (size_t)kernel.panel};
}

#ifdef FERRY_FP64
static void low_precision(const Matmul *p, Arena *arena)
{
    (void)arena;
    CHECK(false, "precision %d in fp64", p->precision);
}

void matmul_round_rows(int m, int k, real *rows, size_t stride)
{
    CHECK(false, "%d rows of %d at %p, %zu apart, in fp64", m, k, (void *)rows, stride);
}
#else
static void low_precision(const Matmul *p, Arena *arena)
{
    CHECK(p->precision == PRECISION_BF16, "precision %d needs packed weights", p->precision);
    matmul_bf16(p, arena);
}

void matmul_round_rows(int m, int k, real *rows, size_t stride)
{
    matmul_bf16_round_rows(m, k, rows, stride);
}
#endif

void matmul(const Matmul *p, Arena *arena)
{
    if (p->m <= 0 || p->n <= 0) return;
    if (p->precision != PRECISION_FP32) {
        low_precision(p, arena);
        return;
    }
    if (backend == MATMUL_OPENBLAS) {
        blas_matmul(p, arena);
        return;
    }
    ArenaMark mark = arena_mark(arena);
    Operands o = {
        .a = p->a, .a_row = p->a_stride, .a_k = 1, .b = p->b, .panel_stride = (size_t)kernel.panel, .b_row = p->b_stride};
    /* B as it lies will do if its rows can be read to the end of the last panel and aren't pages apart. */
    if (p->kind == MATMUL_NT || p->n % kernel.panel || p->b_stride * sizeof(real) > 4096) {
        real *packed = arena_alloc(arena, panels_size(p->n, p->k) * sizeof(real));
        pack_panels(p->n, p->k, p->b, p->b_stride, p->kind == MATMUL_NT, packed);
        o = panels_of(p, packed);
    }
    if (p->kind == MATMUL_TN) {
        o.a_row = 1;
        o.a_k = p->a_stride;
    }
    tiles_run(p, kernel.panel, tile, &o);
    arena_release(arena, mark);
}

/* ---- packed weights ---- */

bool matmul_can(Precision precision)
{
    return precision == PRECISION_FP32 || unit_for(precision) != NULL;
}

static size_t aligned(size_t bytes)
{
    return (bytes + MEM_ALIGN - 1) / MEM_ALIGN * MEM_ALIGN;
}

static size_t panels_bytes(Precision precision, int n, int k)
{
    if (precision == PRECISION_FP32) return aligned(panels_size(n, k) * sizeof(real));
    const int per_cell = precision == PRECISION_BF16 ? 2 : 4;
    return (size_t)((n + UNIT_PANEL - 1) / UNIT_PANEL * UNIT_PANEL) * (size_t)(((k + per_cell - 1) / per_cell + 15) / 16 * 16) * /* units take 16 at a time */
           sizeof(int32_t);
}

size_t matmul_weights_size(Precision precision, int n, int k)
{
    size_t size = panels_bytes(precision, n, k);
    if (precision == PRECISION_INT8) size += aligned((size_t)n * sizeof(real)) + aligned((size_t)n * sizeof(int32_t));
    return size;
}

MatmulWeights matmul_pack_weights(Precision precision, int n, int k, const real *b, size_t b_stride, void *memory)
{
    CHECK(matmul_can(precision) && (precision != PRECISION_INT8 || k <= MATMUL_INT8_MAX_K), "precision %d, k = %d", precision, k);
    MatmulWeights weights = {.precision = precision, .n = n, .k = k, .panels = memory};
#ifndef FERRY_FP64
    if (precision == PRECISION_INT8) {
        weights.scale = (real *)((char *)memory + panels_bytes(precision, n, k));
        weights.column_sum = (int32_t *)((char *)weights.scale + aligned((size_t)n * sizeof(real)));
        matmul_int8_pack(n, k, b, b_stride, &weights);
    } else if (precision == PRECISION_BF16) {
        matmul_bf16_pack(n, k, b, b_stride, weights.panels);
    } else
#endif
        pack_panels(n, k, b, b_stride, true, weights.panels);
    return weights;
}

void matmul_packed(const Matmul *product, const MatmulWeights *weights, Arena *arena)
{
    if (product->m <= 0 || product->n <= 0) return;
    CHECK(product->n == weights->n && product->k == weights->k, "[%d, %d] by weights of [%d, %d]", product->n, product->k,
          weights->n, weights->k);
#ifndef FERRY_FP64
    if (weights->precision == PRECISION_BF16) {
        matmul_bf16_packed(product, weights);
        return;
    }
    if (weights->precision == PRECISION_INT8) {
        matmul_int8_packed(product, weights, arena);
        return;
    }
#endif
    (void)arena;
    const Operands o = panels_of(product, weights->panels);
    tiles_run(product, kernel.panel, tile, &o);
}
