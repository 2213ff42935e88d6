/* The matrix product's inner loops. What bounds it: two fused multiply-adds a cycle; each needs its operands in registers,
 * so a block of BLOCK_ROWS x 2 vectors of C stays there while k runs, for BLOCK_ROWS broadcasts and 2 loads a step. */
#include "core/kernel.h"

#if VEC_BYTES == 64
enum { BLOCK_ROWS = 12 }; /* 24 sums + 2 of B + 1 broadcast of 32 registers */
#elif VEC_BYTES == 32
enum { BLOCK_ROWS = 6 }; /* 12 + 2 + 1 of 16 */
#else
enum { BLOCK_ROWS = 4 }; /* 8 + 2 + 1 of 16 */
#endif

/* One block: `rows` rows, `vectors` vectors of columns, of which the last holds `last` columns of C. Constants after
 * inlining. */
VEC_INLINE void block(const int rows, const int vectors, int last, int k, const real *a, size_t a_row, size_t a_k,
                      const real *b, size_t b_stride, real *c, size_t c_stride, const real *bias, bool add)
{
    Vec sum[BLOCK_ROWS][2];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            const real *start = bias ? bias + v * LANES : c + (size_t)i * c_stride + v * LANES;
            int n = v == vectors - 1 ? last : LANES;
            if (!bias && !add) sum[i][v] = (Vec){0};
            else sum[i][v] = n == LANES ? vec_load(start) : vec_load_part(start, n, 0);
        }
    for (int l = 0; l < k; l++) {
        Vec row[2];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) row[v] = vec_load(b + v * LANES);
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            Vec x = vec_set(a[(size_t)i * a_row]);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++) sum[i][v] += x * row[v];
        }
        a += a_k;
        b += b_stride;
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            real *end = c + (size_t)i * c_stride + v * LANES;
            int n = v == vectors - 1 ? last : LANES;
            if (n == LANES) vec_store(end, sum[i][v]);
            else vec_store_part(end, n, sum[i][v]);
        }
}

typedef void Block(int last, int k, const real *a, size_t a_row, size_t a_k, const real *b, size_t b_stride, real *c,
                   size_t c_stride, const real *bias, bool add);

#define BLOCK(rows, vectors)                                                                                                \
    static void block_##rows##_##vectors(int last, int k, const real *a, size_t a_row, size_t a_k, const real *b,           \
                                         size_t b_stride, real *c, size_t c_stride, const real *bias, bool add)             \
    {                                                                                                                       \
        block(rows, vectors, last, k, a, a_row, a_k, b, b_stride, c, c_stride, bias, add);                                  \
    }
#define BLOCKS(rows) BLOCK(rows, 1) BLOCK(rows, 2)
#define ENTRY(rows) {block_##rows##_1, block_##rows##_2}
BLOCKS(1) BLOCKS(2) BLOCKS(3) BLOCKS(4)
#if VEC_BYTES >= 32
BLOCKS(5) BLOCKS(6)
#endif
#if VEC_BYTES == 64
BLOCKS(7) BLOCKS(8) BLOCKS(9) BLOCKS(10) BLOCKS(11) BLOCKS(12)
#endif

static Block *const blocks[BLOCK_ROWS][2] = {
    ENTRY(1), ENTRY(2), ENTRY(3), ENTRY(4),
#if VEC_BYTES >= 32
    ENTRY(5), ENTRY(6),
#endif
#if VEC_BYTES == 64
    ENTRY(7), ENTRY(8), ENTRY(9), ENTRY(10), ENTRY(11), ENTRY(12),
#endif
};

void KERNEL_NAME(matmul_block)(int m, int n, int k, const real *a, size_t a_row, size_t a_k, const real *b, size_t b_stride,
                               real *c, size_t c_stride, const real *bias, bool add)
{
    for (int j = 0; j < n; j += 2 * LANES) {
        int columns = n - j < 2 * LANES ? n - j : 2 * LANES;
        int vectors = (columns + LANES - 1) / LANES, last = columns - (vectors - 1) * LANES;
        for (int i = 0; i < m; i += BLOCK_ROWS) {
            int rows = m - i < BLOCK_ROWS ? m - i : BLOCK_ROWS;
            blocks[rows - 1][vectors - 1](last, k, a + (size_t)i * a_row, a_row, a_k, b + j, b_stride,
                                          c + (size_t)i * c_stride + j, c_stride, bias ? bias + j : NULL, add);
        }
    }
}

void KERNEL_NAME(matmul_pack)(int k, int n, int width, const real *b, size_t b_stride, bool transposed, real *packed)
{
    if (!transposed) {
        for (int l = 0; l < k; l++) {
            real *row = packed + (size_t)l * width;
            memcpy(row, b + (size_t)l * b_stride, (size_t)n * sizeof(real));
            memset(row + n, 0, (size_t)(width - n) * sizeof(real));
        }
        return;
    }
    for (int j0 = 0; j0 < width; j0 += LANES) {
        const int columns = n - j0 < 0 ? 0 : n - j0 < LANES ? n - j0 : LANES;
        int l = 0;
        for (; j0 + LANES <= width && l + LANES <= k; l += LANES) {
            Vec tile[LANES];
            for (int j = 0; j < LANES; j++) tile[j] = j < columns ? vec_load(b + (size_t)(j0 + j) * b_stride + l) : (Vec){0};
            vec_transpose(tile);
            for (int i = 0; i < LANES; i++) vec_store(packed + (size_t)(l + i) * (size_t)width + j0, tile[i]);
        }
        for (; l < k; l++) {
            real *row = packed + (size_t)l * (size_t)width + j0;
            for (int j = 0; j < LANES && j0 + j < width; j++) row[j] = j < columns ? b[(size_t)(j0 + j) * b_stride + l] : 0;
        }
    }
}
