/* Layer norm of one row and its gradient. Sums over the row keep their order by explicit lanes. Bound by memory. */
#include <math.h>

#include "core/kernel_isa.h"

void KERNEL_NAME(layer_norm_row)(int n, const real *x, const real *z, const real *mask, const real *gain, const real *bias,
                                 real *s, real *y, real statistics[2])
{
    if (z) {
        if (mask)
            for (int i = 0; i < n; i++) s[i] = x[i] + z[i] * mask[i];
        else
            for (int i = 0; i < n; i++) s[i] = x[i] + z[i];
        x = s;
    }
    real mean = vec_row_sum(n, x) / (real)n;
    Vec squares = {0};
    int i = 0;
    for (; i + LANES <= n; i += LANES) {
        Vec d = vec_load(x + i) - mean;
        squares += d * d;
    }
    if (i < n) {
        Vec d = vec_load_part(x + i, n - i, mean) - mean;
        squares += d * d;
    }
    real variance = vec_sum(squares) / (real)n;
    real inverse = 1 / (real)sqrt((double)(variance + LAYER_NORM_EPSILON));
    for (i = 0; i < n; i++) y[i] = (x[i] - mean) * inverse * gain[i] + bias[i];
    statistics[0] = mean;
    statistics[1] = inverse;
}

void KERNEL_NAME(layer_norm_row_backward)(int n, const real *s, const real *gain, const real statistics[2], const real *gy,
                                          const real *before, real *gs, real *ggain, real *gbias)
{
    const real mean = statistics[0], inverse = statistics[1];
    /* With h = (s - mean) * inverse and g = gy * gain: gs = inverse * (g - average(g) - h * average(g h)). */
    Vec sum_g = {0}, sum_gh = {0};
    int i = 0;
    for (; i + LANES <= n; i += LANES) {
        Vec h = (vec_load(s + i) - mean) * inverse, out = vec_load(gy + i), g = out * vec_load(gain + i);
        sum_g += g;
        sum_gh += g * h;
        vec_store(ggain + i, vec_load(ggain + i) + out * h);
        vec_store(gbias + i, vec_load(gbias + i) + out);
    }
    for (int lane = 0; i + lane < n; lane++) {
        real h = (s[i + lane] - mean) * inverse, out = gy[i + lane], g = out * gain[i + lane];
        sum_g[lane] += g;
        sum_gh[lane] += g * h;
        ggain[i + lane] += out * h;
        gbias[i + lane] += out;
    }
    const real average_g = vec_sum(sum_g) / (real)n, average_gh = vec_sum(sum_gh) / (real)n;
    if (before)
        for (i = 0; i < n; i++)
            gs[i] = before[i] + inverse * (gy[i] * gain[i] - average_g - (s[i] - mean) * inverse * average_gh);
    else
        for (i = 0; i < n; i++) gs[i] = inverse * (gy[i] * gain[i] - average_g - (s[i] - mean) * inverse * average_gh);
}
