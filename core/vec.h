/* Vectors for the kernels (core/kernel_*.c), as wide as the instruction set that the file is compiled for. Written with the
 * compiler's vector extension: plain C operators, every lane spelled out, so sums have one fixed order without -ffast-math.
 */
#ifndef FERRY_CORE_VEC_H
#define FERRY_CORE_VEC_H

#include <stdint.h>
#include <string.h>

#include "core/real.h"

#if defined __SSE2__ && !defined FERRY_FP64
#include <immintrin.h>
#endif

#if defined __AVX512F__
#define VEC_BYTES 64
#elif defined __AVX__
#define VEC_BYTES 32
#else
#define VEC_BYTES 16
#endif

#define VEC_INLINE static inline __attribute__((always_inline, unused))

typedef real Vec __attribute__((vector_size(VEC_BYTES)));
typedef real VecUnaligned __attribute__((vector_size(VEC_BYTES), aligned(sizeof(real)), may_alias));
#ifdef FERRY_FP64
typedef int64_t VecInt __attribute__((vector_size(VEC_BYTES)));
#else
typedef int32_t VecInt __attribute__((vector_size(VEC_BYTES)));
#endif

enum { LANES = VEC_BYTES / sizeof(real) };

VEC_INLINE Vec vec_load(const real *p)
{
    return *(const VecUnaligned *)p;
}

VEC_INLINE void vec_store(real *p, Vec x)
{
    *(VecUnaligned *)p = x;
}

/* The first n lanes (0 <= n <= LANES) from memory, `rest` in the others. */
VEC_INLINE Vec vec_load_part(const real *p, int n, real rest)
{
    real lanes[LANES];
    for (int i = 0; i < LANES; i++) lanes[i] = rest;
    memcpy(lanes, p, (size_t)n * sizeof(real));
    return vec_load(lanes);
}

VEC_INLINE void vec_store_part(real *p, int n, Vec x)
{
    memcpy(p, &x, (size_t)n * sizeof(real));
}

/* The next LANES of n elements (n > 0), or what is left of them and zeros. */
VEC_INLINE Vec vec_load_next(const real *p, int n)
{
    return n >= LANES ? vec_load(p) : vec_load_part(p, n, 0);
}

VEC_INLINE void vec_store_next(real *p, int n, Vec x)
{
    if (n >= LANES) vec_store(p, x);
    else vec_store_part(p, n, x);
}

VEC_INLINE Vec vec_set(real x)
{
    return x - (Vec){0};
}

/* Lanes of a where the mask (all ones or all zeros a lane, as comparisons make it) is set, else of b. */
VEC_INLINE Vec vec_select(VecInt mask, Vec a, Vec b)
{
    return (Vec)(((VecInt)a & mask) | ((VecInt)b & ~mask));
}

/* The greater, the lesser; b where one is NaN. vec_max(limit, x) thus keeps the NaN of x. In fp32 by the instructions that do
 * just that: compilers make three of the comparison. */
#if defined FERRY_FP64 || !defined __SSE2__
VEC_INLINE Vec vec_max(Vec a, Vec b)
{
    return vec_select(a > b, a, b);
}

VEC_INLINE Vec vec_min(Vec a, Vec b)
{
    return vec_select(a < b, a, b);
}
#else
#if VEC_BYTES == 64
#define VEC_FP32(op, a, b) (Vec)_mm512_##op##_ps((__m512)(a), (__m512)(b))
#elif VEC_BYTES == 32
#define VEC_FP32(op, a, b) (Vec)_mm256_##op##_ps((__m256)(a), (__m256)(b))
#else
#define VEC_FP32(op, a, b) (Vec)_mm_##op##_ps((__m128)(a), (__m128)(b))
#endif
VEC_INLINE Vec vec_max(Vec a, Vec b)
{
    return VEC_FP32(max, a, b);
}

VEC_INLINE Vec vec_min(Vec a, Vec b)
{
    return VEC_FP32(min, a, b);
}
#endif

/* x with its halves exchanged, its quarters within halves, .. : what log2(LANES) steps of a reduction add */
#if VEC_BYTES / 4 == 16 && !defined FERRY_FP64
#define VEC_REDUCE(STEP)                                                                                                    \
    STEP(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7) STEP(4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)   \
    STEP(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13) STEP(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
#elif (VEC_BYTES == 32 && !defined FERRY_FP64) || VEC_BYTES == 64
#define VEC_REDUCE(STEP) STEP(4, 5, 6, 7, 0, 1, 2, 3) STEP(2, 3, 0, 1, 6, 7, 4, 5) STEP(1, 0, 3, 2, 5, 4, 7, 6)
#elif (VEC_BYTES == 16 && !defined FERRY_FP64) || VEC_BYTES == 32
#define VEC_REDUCE(STEP) STEP(2, 3, 0, 1) STEP(1, 0, 3, 2)
#else
#define VEC_REDUCE(STEP) STEP(1, 0)
#endif

/* Sum of the lanes by halving: one fixed order. */
VEC_INLINE real vec_sum(Vec x)
{
#define VEC_STEP(...) x += __builtin_shufflevector(x, x, __VA_ARGS__);
    VEC_REDUCE(VEC_STEP)
#undef VEC_STEP
    return x[0];
}

/* Sum of n elements, in lanes first. */
VEC_INLINE real vec_row_sum(int n, const real *x)
{
    Vec sum = {0};
    int i = 0;
    for (; i + LANES <= n; i += LANES) sum += vec_load(x + i);
    if (i < n) sum += vec_load_part(x + i, n - i, 0);
    return vec_sum(sum);
}

VEC_INLINE real vec_largest(Vec x)
{
#define VEC_STEP(...) x = vec_max(__builtin_shufflevector(x, x, __VA_ARGS__), x);
    VEC_REDUCE(VEC_STEP)
#undef VEC_STEP
    return x[0];
}

/* Lane by lane in turn from the lower (upper) halves of a and b: a0 b0 a1 b1 .. */
#if VEC_BYTES / 4 == 16 && !defined FERRY_FP64
#define VEC_LOW_HALVES 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define VEC_HIGH_HALVES 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif (VEC_BYTES == 32 && !defined FERRY_FP64) || VEC_BYTES == 64
#define VEC_LOW_HALVES 0, 8, 1, 9, 2, 10, 3, 11
#define VEC_HIGH_HALVES 4, 12, 5, 13, 6, 14, 7, 15
#elif (VEC_BYTES == 16 && !defined FERRY_FP64) || VEC_BYTES == 32
#define VEC_LOW_HALVES 0, 4, 1, 5
#define VEC_HIGH_HALVES 2, 6, 3, 7
#else
#define VEC_LOW_HALVES 0, 2
#define VEC_HIGH_HALVES 1, 3
#endif

/* Transpose LANES x LANES elements. Interleaving row i with row i + LANES / 2 moves each element's place, written in bits, one bit
 * to the left; log2(LANES) times exchange row and column. */
VEC_INLINE void vec_transpose(Vec row[LANES])
{
#pragma GCC unroll 4
    for (int stage = 1; stage < LANES; stage *= 2) {
        Vec from[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) from[i] = row[i];
#pragma GCC unroll 8
        for (int i = 0; i < LANES / 2; i++) {
            row[2 * i] = __builtin_shufflevector(from[i], from[i + LANES / 2], VEC_LOW_HALVES);
            row[2 * i + 1] = __builtin_shufflevector(from[i], from[i + LANES / 2], VEC_HIGH_HALVES);
        }
    }
}

/* exp(x): x = n ln 2 + r with |r| <= ln 2 / 2, exp(r) by its Taylor series to the type's precision, 2^n by the exponent
 * bits. Arguments are clamped to the range in which the result is a normal number; NaN stays NaN. Within 2 units of the last
 * place. */
VEC_INLINE Vec vec_exp(Vec x)
{
#ifdef FERRY_FP64
    const real low = -708, high = 709, round = 0x1.8p52, ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
    enum { TERMS = 13, EXPONENT_SHIFT = 52 };
#else
    const real low = -87, high = 88, round = 0x1.8p23f, ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
    enum { TERMS = 7, EXPONENT_SHIFT = 23 };
#endif
    static const real inverse_factorial[] = {1, 1, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
                                             1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    x = vec_min(vec_set(high), vec_max(vec_set(low), x));
    Vec shifted = x * (real)1.44269504088896340736 + round; /* n sits in the low bits of the mantissa */
    Vec n = shifted - round;
    Vec r = x - n * ln2_high;
    r = r - n * ln2_low;
    Vec sum = vec_set(inverse_factorial[TERMS]);
#pragma GCC unroll 16
    for (int i = TERMS - 1; i >= 0; i--) sum = sum * r + inverse_factorial[i];
    VecInt bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits <<= EXPONENT_SHIFT;
    VecInt sum_bits;
    memcpy(&sum_bits, &sum, sizeof sum_bits);
    sum_bits += bits;
    memcpy(&sum, &sum_bits, sizeof sum);
    return sum;
}

#endif
