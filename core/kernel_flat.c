/* Flat blocks of numbers: scaling, adding, squares. Bound by memory; all but the sum is left to the compiler's vectorizer. */
#include "core/kernel_isa.h"

void KERNEL_NAME(scale)(int n, real a, real *x)
{
    for (int i = 0; i < n; i++) x[i] *= a;
}

void KERNEL_NAME(add_scaled)(int n, real a, const real *x, real *y)
{
    for (int i = 0; i < n; i++) y[i] += a * x[i];
}

void KERNEL_NAME(add_masked)(int n, const real *before, const real *x, const real *mask, real *y)
{
    if (!before && !mask) memcpy(y, x, (size_t)n * sizeof(real));
    else if (!before)
        for (int i = 0; i < n; i++) y[i] = x[i] * mask[i];
    else if (!mask)
        for (int i = 0; i < n; i++) y[i] = before[i] + x[i];
    else
        for (int i = 0; i < n; i++) y[i] = before[i] + x[i] * mask[i];
}

double KERNEL_NAME(sum_of_squares)(int n, const real *x)
{
    enum { CHAINS = 16 };
    double sum[CHAINS] = {0};
    int i = 0;
    for (; i + CHAINS <= n; i += CHAINS)
        for (int c = 0; c < CHAINS; c++) sum[c] += (double)x[i + c] * (double)x[i + c];
    for (; i < n; i++) sum[i % CHAINS] += (double)x[i] * (double)x[i];
    for (int c = 1; c < CHAINS; c++) sum[0] += sum[c];
    return sum[0];
}
