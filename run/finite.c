#include "run/finite.h"

#include <float.h>
#include <math.h>

static const real largest = sizeof(real) == 4 ? (real)FLT_MAX : (real)DBL_MAX;

bool finite_all(const real *x, size_t n)
{
    enum { PIECE = 1 << 12 }; /* without a way out inside, so that the compiler can vectorize it */
    for (size_t first = 0; first < n; first += PIECE) {
        const size_t end = n - first < PIECE ? n : first + PIECE;
        int n_bad = 0;
        for (size_t i = first; i < end; i++) n_bad += !(x[i] >= -largest && x[i] <= largest);
        if (n_bad) return false;
    }
    return true;
}

const char *finite_first_bad(const Params *params, const real *block)
{
    for (int p = 0; p < params->n; p++) {
        const Param *param = &params->param[p];
        if (!finite_all(block + param->offset, (size_t)param->rows * (size_t)param->cols)) return param->name;
    }
    return NULL;
}

const char *finite_largest(const Kernels *kernels, const Params *params, const real *block)
{
    const char *name = "";
    double largest_sum = -1;
    for (int p = 0; p < params->n; p++) {
        const Param *param = &params->param[p];
        double sum = 0;
        for (int row = 0; row < param->rows; row++)
            sum += kernels->sum_of_squares(param->cols, block + param->offset + (size_t)row * (size_t)param->cols);
        if (sum > largest_sum) name = param->name;
        largest_sum = fmax(largest_sum, sum);
    }
    return name;
}
