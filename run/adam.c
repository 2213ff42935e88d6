#include "run/adam.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"

enum { TILE = 1 << 14 };

void adam_init(Adam *adam, size_t size, double beta1, double beta2, double epsilon)
{
    *adam = (Adam){.kernels = compute_best().kernels, .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon, .size = size};
    adam->m = mem_zalloc(size * sizeof(real));
    adam->v = mem_zalloc(size * sizeof(real));
}

void adam_free(Adam *adam)
{
    mem_free(adam->m);
    mem_free(adam->v);
    mem_free(adam->ema);
    *adam = (Adam){0};
}

static int tile_size(size_t first, size_t size)
{
    return (int)(size - first < TILE ? size - first : TILE);
}

void adam_start_ema(Adam *adam, const Params *params, double decay)
{
    CHECK(adam->size == params->size && !adam->ema, "%zu moments, %zu parameters", adam->size, params->size);
    adam->ema_decay = decay;
    adam->ema = mem_alloc(adam->size * sizeof(real));
    memcpy(adam->ema, params->value, adam->size * sizeof(real));
}

void adam_swap_ema(Adam *adam, Params *params)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < adam->size; i++) {
        const real weight = params->value[i];
        params->value[i] = adam->ema[i];
        adam->ema[i] = weight;
    }
}

/* 1 - beta. That of the rounded beta, while rounding changes it by less than a thousandth: such is Adam as it is usually computed.
 * Beyond, as for 0.999999999, whose float is 1, the true one. */
static real gain(double beta)
{
    const double rounded = 1 - (double)(real)beta, gain = 1 - beta;
    return (real)(fabs(rounded - gain) < 1e-3 * gain ? rounded : gain);
}

/* Of a gradient so small that its square vanishes among the reals, v knows nothing: what divides then must not be smaller than
 * the gradient may be. Far below any usual epsilon. */
static real epsilon(const Adam *adam)
{
    const double least = sizeof(real) == 4 ? (double)FLT_TRUE_MIN : DBL_TRUE_MIN;
    return (real)fmax(adam->epsilon, sqrt(least / (1 - adam->beta2)));
}

void adam_update(Adam *adam, Params *params, double learning_rate, double gradient_scale)
{
    CHECK(adam->size == params->size, "%zu moments, %zu parameters", adam->size, params->size);
    adam->step++;
    const double t = (double)adam->step;
    const AdamStep step = {
        .gradient_scale = (real)gradient_scale,
        .beta1 = (real)adam->beta1,
        .beta2 = (real)adam->beta2,
        .gain1 = gain(adam->beta1),
        .gain2 = gain(adam->beta2),
        .rate = (real)(learning_rate / (1 - pow(adam->beta1, t))),
        .v_scale = (real)(1 / sqrt(1 - pow(adam->beta2, t))),
        .epsilon = epsilon(adam),
        .decay = (real)(learning_rate * adam->weight_decay),
        .ema_rate = (real)(1 - fmin(adam->ema_decay, (1 + t) / (10 + t))),
    };
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < params->size; i += TILE)
        adam->kernels->adam(tile_size(i, params->size), &step, params->value + i, params->grad + i, adam->m + i, adam->v + i,
                    adam->ema ? adam->ema + i : NULL);
}

double adam_gradient_norm(const Adam *adam, const Params *params)
{
    const size_t n_tiles = (params->size + TILE - 1) / TILE;
    double *sum = mem_alloc(n_tiles * sizeof *sum), total = 0;
#pragma omp parallel for schedule(static)
    for (size_t tile = 0; tile < n_tiles; tile++)
        sum[tile] = adam->kernels->sum_of_squares(tile_size(tile * TILE, params->size), params->grad + tile * TILE);
    for (size_t tile = 0; tile < n_tiles; tile++) total += sum[tile];
    mem_free(sum);
    return sqrt(total);
}
