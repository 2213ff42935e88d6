/* The register block of a matrix product: up to BLOCK_ROWS x 2 vectors of sums stay in registers while k runs, so that one
 * multiply-add costs half a load of A and a twelfth of B. What bounds it: two multiply-adds a cycle. One text for every
 * element type; the file that includes it defines
 *   BLOCK_NAME(name)        the names of its functions
 *   BLOCK_CELL              what A and B are made of: a `real`, or 32 bits that hold 2 bf16 or 4 bytes, neighbours along k
 *   BLOCK_SUM, BLOCK_SCALAR a vector of sums, and its element, which C is made of
 *   BLOCK_DOT(sum, a, b)    sum + a b, each lane's cell times cell
 * and gets `static void BLOCK_NAME(block)(...)`, the product of any m and n; see matmul_block in core/kernels.def. */
#include "core/vec.h"

#ifndef FERRY_CORE_BLOCK_H
#define FERRY_CORE_BLOCK_H
#if VEC_BYTES == 64
enum { BLOCK_ROWS = 12 }; /* 24 sums + 2 of B + 1 broadcast of 32 registers */
#elif VEC_BYTES == 32
enum { BLOCK_ROWS = 6 }; /* 12 + 2 + 1 of 16 */
#else
enum { BLOCK_ROWS = 4 }; /* 8 + 2 + 1 of 16 */
#endif
#endif

typedef BLOCK_SUM BLOCK_NAME(SumUnaligned) __attribute__((aligned(sizeof(BLOCK_SCALAR)), may_alias));
typedef BLOCK_CELL BLOCK_NAME(Cells) __attribute__((vector_size(VEC_BYTES)));
typedef BLOCK_CELL BLOCK_NAME(CellsUnaligned) __attribute__((vector_size(VEC_BYTES), aligned(sizeof(BLOCK_CELL)), may_alias));

/* One block: `rows` rows, `vectors` vectors of columns, of which the last holds `last` columns of C. rows and vectors are
 * constants after inlining. */
VEC_INLINE void BLOCK_NAME(rows_by_vectors)(const int rows, const int vectors, int last, int k, const BLOCK_CELL *a,
                                            size_t a_row, size_t a_k, const BLOCK_CELL *b, size_t b_stride, BLOCK_SCALAR *c,
                                            size_t c_stride, const BLOCK_SCALAR *bias, bool add)
{
    BLOCK_SUM sum[BLOCK_ROWS][2], part;
    const BLOCK_SCALAR *start = bias ? bias : c;
    const size_t start_stride = bias ? 0 : c_stride;
    if (!bias && !add) {
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++) sum[i][v] = (BLOCK_SUM){0};
    } else if (last == LANES) {
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                sum[i][v] = *(const BLOCK_NAME(SumUnaligned) *)(start + (size_t)i * start_stride + v * LANES);
    } else {
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            const BLOCK_SCALAR *from = start + (size_t)i * start_stride;
            if (vectors == 2) sum[i][0] = *(const BLOCK_NAME(SumUnaligned) *)from;
            part = (BLOCK_SUM){0};
            memcpy(&part, from + (vectors - 1) * LANES, (size_t)last * sizeof *from);
            sum[i][vectors - 1] = part;
        }
    }
    for (int l = 0; l < k; l++) {
        BLOCK_NAME(Cells) row[2];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) row[v] = *(const BLOCK_NAME(CellsUnaligned) *)(b + v * LANES);
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            const BLOCK_NAME(Cells) x = a[(size_t)i * a_row] - (BLOCK_NAME(Cells)){0};
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++) sum[i][v] = BLOCK_DOT(sum[i][v], x, row[v]);
        }
        a += a_k;
        b += b_stride;
    }
    if (last == LANES) {
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                *(BLOCK_NAME(SumUnaligned) *)(c + (size_t)i * c_stride + v * LANES) = sum[i][v];
    } else {
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            BLOCK_SCALAR *to = c + (size_t)i * c_stride;
            if (vectors == 2) *(BLOCK_NAME(SumUnaligned) *)to = sum[i][0];
            part = sum[i][vectors - 1];
            memcpy(to + (vectors - 1) * LANES, &part, (size_t)last * sizeof *to);
        }
    }
}

typedef void BLOCK_NAME(Block)(int last, int k, const BLOCK_CELL *a, size_t a_row, size_t a_k, const BLOCK_CELL *b,
                               size_t b_stride, BLOCK_SCALAR *c, size_t c_stride, const BLOCK_SCALAR *bias, bool add);

#define BLOCK_FIXED(rows, vectors)                                                                                          \
    static void BLOCK_NAME(block_##rows##_##vectors)(int last, int k, const BLOCK_CELL *a, size_t a_row, size_t a_k,        \
                                                     const BLOCK_CELL *b, size_t b_stride, BLOCK_SCALAR *c,                 \
                                                     size_t c_stride, const BLOCK_SCALAR *bias, bool add)                   \
    {                                                                                                                       \
        BLOCK_NAME(rows_by_vectors)(rows, vectors, last, k, a, a_row, a_k, b, b_stride, c, c_stride, bias, add);            \
    }
#define BLOCKS(rows) BLOCK_FIXED(rows, 1) BLOCK_FIXED(rows, 2)
#define BLOCK_ENTRY(rows) {BLOCK_NAME(block_##rows##_1), BLOCK_NAME(block_##rows##_2)}
BLOCKS(1) BLOCKS(2) BLOCKS(3) BLOCKS(4)
#if VEC_BYTES >= 32
BLOCKS(5) BLOCKS(6)
#endif
#if VEC_BYTES == 64
BLOCKS(7) BLOCKS(8) BLOCKS(9) BLOCKS(10) BLOCKS(11) BLOCKS(12)
#endif

static BLOCK_NAME(Block) *const BLOCK_NAME(blocks)[BLOCK_ROWS][2] = {
    BLOCK_ENTRY(1), BLOCK_ENTRY(2), BLOCK_ENTRY(3), BLOCK_ENTRY(4),
#if VEC_BYTES >= 32
    BLOCK_ENTRY(5), BLOCK_ENTRY(6),
#endif
#if VEC_BYTES == 64
    BLOCK_ENTRY(7), BLOCK_ENTRY(8), BLOCK_ENTRY(9), BLOCK_ENTRY(10), BLOCK_ENTRY(11), BLOCK_ENTRY(12),
#endif
};

static void BLOCK_NAME(block)(int m, int n, int k, const BLOCK_CELL *a, size_t a_row, size_t a_k, const BLOCK_CELL *b,
                              size_t b_stride, BLOCK_SCALAR *c, size_t c_stride, const BLOCK_SCALAR *bias, bool add)
{
    /* As few blocks as possible, of equal height: 14 rows as 7 + 7 have their sums' latency hidden, as 12 + 2 not. */
    const int n_blocks = (m + BLOCK_ROWS - 1) / BLOCK_ROWS, height = n_blocks ? (m + n_blocks - 1) / n_blocks : 1;
    for (int j = 0; j < n; j += 2 * LANES) {
        const int columns = n - j < 2 * LANES ? n - j : 2 * LANES;
        const int vectors = (columns + LANES - 1) / LANES, last = columns - (vectors - 1) * LANES;
        for (int i = 0; i < m; i += height) {
            const int rows = m - i < height ? m - i : height;
            BLOCK_NAME(blocks)[rows - 1][vectors - 1](last, k, a + (size_t)i * a_row, a_row, a_k, b + j, b_stride,
                                                      c + (size_t)i * c_stride + j, c_stride, bias ? bias + j : NULL, add);
        }
    }
}

#undef BLOCK_FIXED
#undef BLOCKS
#undef BLOCK_ENTRY
