/* One step of Adam. Bound by memory. */
#include <math.h>

#include "core/kernel_isa.h"

void KERNEL_NAME(adam)(int n, const AdamStep *step, real *weight, const real *gradient, real *m, real *v,
                       real *ema)
{
    const AdamStep s = *step;
    for (int i = 0; i < n; i++) {
        real g = gradient[i] * s.gradient_scale;
        m[i] = s.beta1 * m[i] + s.gain1 * g;
        v[i] = s.beta2 * v[i] + s.gain2 * (g * g);
        weight[i] -= s.decay * weight[i];
#ifdef FERRY_FP64
        weight[i] -= s.rate * m[i] / (sqrt(v[i]) * s.v_scale + s.epsilon);
#else
        weight[i] -= s.rate * m[i] / (sqrtf(v[i]) * s.v_scale + s.epsilon);
#endif
        if (ema) ema[i] += s.ema_rate * (weight[i] - ema[i]);
    }
}
