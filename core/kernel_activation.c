/* Activations and their gradients. ReLU is bound by memory, GELU by exp. */
#include <math.h>

#include "core/kernel_isa.h"

/* Written so that NaN stays NaN. */
void KERNEL_NAME(relu)(int n, const real *x, const real *mask, real *y)
{
    if (!mask)
        for (int i = 0; i < n; i++) y[i] = 0 > x[i] ? 0 : x[i];
    else
        for (int i = 0; i < n; i++) y[i] = (0 > x[i] ? 0 : x[i]) * mask[i];
}

void KERNEL_NAME(relu_backward)(int n, const real *x, const real *mask, const real *gy, const real *before, real *gx)
{
    if (!mask && !before)
        for (int i = 0; i < n; i++) gx[i] = x[i] > 0 ? gy[i] : 0;
    else if (!mask)
        for (int i = 0; i < n; i++) gx[i] = before[i] + (x[i] > 0 ? gy[i] : 0);
    else if (!before)
        for (int i = 0; i < n; i++) gx[i] = x[i] > 0 ? gy[i] * mask[i] : 0;
    else
        for (int i = 0; i < n; i++) gx[i] = before[i] + (x[i] > 0 ? gy[i] * mask[i] : 0);
}

/* The normal distribution's density and cumulative function at x. In fp32 the tail by Abramowitz and Stegun 7.1.26 (error below
 * 1e-7), which needs no more than the density's exp; in fp64 by libm. */
VEC_INLINE Vec normal(Vec x, Vec *cumulative)
{
    const Vec bell = vec_exp(x * x * (real)-0.5);
#ifdef FERRY_FP64
    for (int i = 0; i < LANES; i++) (*cumulative)[i] = erfc(-x[i] * 0.70710678118654752440) / 2;
#else
    const Vec t = 1 / (1 + vec_max(x, -x) * (0.3275911f * 0.70710678f));
    const Vec tail = ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t + 0.254829592f) * t * bell / 2;
    *cumulative = vec_select(x < 0, tail, 1 - tail);
#endif
    return bell * (real)0.39894228040143267794; /* 1 / sqrt(2 pi) */
}

void KERNEL_NAME(gelu)(int n, const real *x, const real *mask, real *y)
{
    for (int i = 0; i < n; i += LANES) {
        const Vec v = vec_load_next(x + i, n - i);
        Vec cumulative;
        normal(v, &cumulative);
        Vec out = v * cumulative;
        if (mask) out *= vec_load_next(mask + i, n - i);
        vec_store_next(y + i, n - i, out);
    }
}

void KERNEL_NAME(gelu_backward)(int n, const real *x, const real *mask, const real *gy, const real *before, real *gx)
{
    /* d/dx x F(x) = F(x) + x f(x), F and f the normal distribution's cumulative and density functions */
    for (int i = 0; i < n; i += LANES) {
        const Vec v = vec_load_next(x + i, n - i);
        Vec g = vec_load_next(gy + i, n - i), cumulative;
        const Vec density = normal(v, &cumulative);
        if (mask) g *= vec_load_next(mask + i, n - i);
        Vec sum = g * (cumulative + v * density);
        if (before) sum += vec_load_next(before + i, n - i);
        vec_store_next(gx + i, n - i, sum);
    }
}
