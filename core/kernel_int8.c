/* The int8 product without instructions for it, and the rounding of activations to bytes. */
#include <math.h>

#include "core/kernel_isa.h"
#include "core/units.h"

#ifndef FERRY_FP64
typedef int16_t VecShort __attribute__((vector_size(VEC_BYTES)));

/* Four products a lane. 255 * 127 fits in 16 bits, so even and odd bytes are multiplied as 16-bit lanes, then widened. */
VEC_INLINE VecInt dot(VecInt sum, VecInt a, VecInt b)
{
    const VecInt even_bytes = (VecInt){0} + 0x00ff00ff;
    VecShort a_even = (VecShort)(a & even_bytes), a_odd = (VecShort)((a >> 8) & even_bytes);
    VecShort b_even = (VecShort)b << 8 >> 8, b_odd = (VecShort)b >> 8;
    VecInt even = (VecInt)(a_even * b_even), odd = (VecInt)(a_odd * b_odd);
    return sum + (even << 16 >> 16) + (even >> 16) + (odd << 16 >> 16) + (odd >> 16);
}

#define BLOCK_NAME(name) plain_##name
#define BLOCK_CELL int32_t
#define BLOCK_SUM VecInt
#define BLOCK_SCALAR int32_t
#define BLOCK_DOT dot
#include "core/block.h"

void KERNEL_NAME(int8_block)(int m, int n, int cells, const int32_t *a, size_t a_row, size_t a_k, const int32_t *b,
                             int32_t *c, size_t c_stride, bool add)
{
    plain_block(m, n, cells, a, a_row, a_k, b, UNIT_PANEL, c, c_stride, NULL, add);
}

/* The largest magnitude, by explicit lanes; NaN if an element isn't finite. */
static float largest_magnitude(int n, const float *x)
{
    Vec largest = {0}, not_finite = {0};
    for (int i = 0; i < n; i += LANES) {
        Vec v = vec_load_next(x + i, n - i);
        largest = vec_max(vec_max(v, -v), largest);
        not_finite += v * 0;
    }
    return vec_largest(largest) + vec_sum(not_finite);
}

void KERNEL_NAME(int8_row)(int n, const float *x, int offset, uint8_t *bytes, float *scale)
{
    const float largest = largest_magnitude(n, x), inverse = largest > 0 ? 127 / largest : 0;
    *scale = largest / 127;
    if (!(inverse > 0) || inverse > 3e38f) { /* zeros, numbers too small to scale, or not finite, which the scale passes on */
        memset(bytes, offset, (size_t)n);
        return;
    }
    /* rintf, not the addition of 1.5 * 2^23: a fused multiply-add would round once where other processors round twice. */
    for (int i = 0; i < n; i++) bytes[i] = (uint8_t)((int32_t)rintf(x[i] * inverse) + offset);
}

void KERNEL_NAME(int8_scale)(int n, const int32_t *sum, int offset, const int32_t *column_sum, float row_scale,
                             const float *column_scale, const float *start, float *c)
{
    if (start)
        for (int j = 0; j < n; j++) c[j] = (float)(sum[j] - offset * column_sum[j]) * (row_scale * column_scale[j]) + start[j];
    else
        for (int j = 0; j < n; j++) c[j] = (float)(sum[j] - offset * column_sum[j]) * (row_scale * column_scale[j]);
}
#else
typedef int kernel_int8_is_fp32_only;
#endif
