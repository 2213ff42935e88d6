/* The product in fp32 (in fp64 for the tests) by our own kernel: B is packed in panels, unless it can be read as it lies. */
#include <string.h>

#include "core/products.h"
#include "core/tiles.h"

enum {
    K_CHUNK = 256,    /* a panel of B of 32 KB, which stays in the first level of cache, and TILE_ROWS of A of 96 KB, in the second */
    FAR_APART = 1024, /* elements between the rows of a transposed A from which on a tile of it is copied first */
};

/* A and B as the tiles see them. Panel p of B starts at b + p * panel_stride, its rows b_row apart. */
typedef struct Operands {
    const Kernels *kernels;
    const real *a, *b;
    size_t a_row, a_k, panel_stride, b_row;
} Operands;

static void tile(const Matmul *p, const void *operands, int i0, int i1, int panel0, int panel1)
{
    const Operands *o = operands;
    const int width = o->kernels->panel;
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
            o->kernels->matmul_block(i1 - i0, columns, kc, a, o->a_row, a_k,
                                     o->b + (size_t)panel * o->panel_stride + (size_t)k0 * o->b_row, o->b_row,
                                     p->c + (size_t)i0 * p->c_stride + j, p->c_stride,
                                     k0 == 0 && p->bias ? p->bias + j : NULL, k0 > 0 || p->add);
        }
    }
}

static size_t panels_size(const Kernels *kernels, int n, int k)
{
    return (size_t)((n + kernels->panel - 1) / kernels->panel) * (size_t)kernels->panel * (size_t)k;
}

static void pack_panels(const Kernels *kernels, int n, int k, const real *b, size_t b_stride, bool transposed, real *packed)
{
    const int width = kernels->panel, n_panels = (n + width - 1) / width;
#pragma omp parallel for schedule(static) if ((long)n * k > 8192)
    for (int panel = 0; panel < n_panels; panel++) {
        int j = panel * width;
        kernels->matmul_pack(k, n - j < width ? n - j : width, width, transposed ? b + (size_t)j * b_stride : b + j, b_stride,
                             transposed, packed + (size_t)panel * (size_t)width * (size_t)k);
    }
}

static Operands panels_of(const Kernels *kernels, const Matmul *p, const real *packed)
{
    return (Operands){.kernels = kernels, .a = p->a, .a_row = p->a_stride, .a_k = 1, .b = packed,
                      .panel_stride = (size_t)kernels->panel * (size_t)p->k, .b_row = (size_t)kernels->panel};
}

/* B as it lies will do if its rows can be read to the end of the last panel and aren't pages apart. */
static bool is_packed(const Kernels *kernels, const Matmul *p)
{
    return p->kind != MATMUL_NT && p->n % kernels->panel == 0 && p->b_stride * sizeof(real) <= 4096;
}

static size_t scratch(const Compute *compute, const Matmul *p)
{
    return is_packed(compute->kernels, p) ? 0 : panels_size(compute->kernels, p->n, p->k) * sizeof(real);
}

static void multiply(const Compute *compute, const Matmul *p, Arena *arena)
{
    const Kernels *kernels = compute->kernels;
    ArenaMark mark = arena_mark(arena);
    Operands o = {.kernels = kernels, .a = p->a, .a_row = p->a_stride, .a_k = 1, .b = p->b,
                  .panel_stride = (size_t)kernels->panel, .b_row = p->b_stride};
    if (!is_packed(kernels, p)) {
        real *packed = arena_alloc(arena, scratch(compute, p));
        pack_panels(kernels, p->n, p->k, p->b, p->b_stride, p->kind == MATMUL_NT, packed);
        o = panels_of(kernels, p, packed);
    }
    if (p->kind == MATMUL_TN) {
        o.a_row = 1;
        o.a_k = p->a_stride;
    }
    tiles_run(p, kernels->panel, tile, &o);
    arena_release(arena, mark);
}

static size_t size(const Compute *compute, int n, int k)
{
    const size_t bytes = panels_size(compute->kernels, n, k) * sizeof(real);
    return (bytes + MEM_ALIGN - 1) / MEM_ALIGN * MEM_ALIGN;
}

static void pack(int n, int k, const real *b, size_t b_stride, MatmulWeights *weights)
{
    pack_panels(weights->kernels, n, k, b, b_stride, true, weights->panels);
}

static void packed(const Matmul *product, const MatmulWeights *weights, Arena *arena)
{
    (void)arena;
    const Operands o = panels_of(weights->kernels, product, weights->panels);
    tiles_run(product, weights->kernels->panel, tile, &o);
}

const Product product_real = {.multiply = multiply, .scratch = scratch, .size = size, .pack = pack, .packed = packed};
