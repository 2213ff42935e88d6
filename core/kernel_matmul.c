/* The fp32 product's inner loops (fp64 in the tests' build): the register block of core/block.h with fused multiply-adds, and
 * the packing of B. */
#include "core/kernel_isa.h"

#define BLOCK_NAME(name) real_##name
#define BLOCK_CELL real
#define BLOCK_SUM Vec
#define BLOCK_SCALAR real
#define BLOCK_DOT(sum, a, b) ((sum) + (a) * (b))
#include "core/block.h"

void KERNEL_NAME(matmul_block)(int m, int n, int k, const real *a, size_t a_row, size_t a_k, const real *b, size_t b_stride,
                               real *c, size_t c_stride, const real *bias, bool add)
{
    real_block(m, n, k, a, a_row, a_k, b, b_stride, c, c_stride, bias, add);
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
