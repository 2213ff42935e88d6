/* Kernels over one row or one flat block: random masks, embedding, layer norm, activations, cross-entropy, Adam. Those that
 * a row's sum runs through keep its order by explicit lanes; the rest is left to the compiler's vectorizer. All are bound by
 * memory, or by exp. */
#include <math.h>

#include "core/kernel_isa.h"

/* ---- random masks ---- */

/* SIDE Philox 4x32-10 blocks side by side: the compiler vectorizes the rounds, and two vectors of each word hide the latency of
 * the multiplications. */
enum { SIDE = 32 };

static void philox(const RandomStream *stream, uint64_t counter, uint32_t out[4][SIDE])
{
    uint32_t c0[SIDE], c1[SIDE], c2[SIDE], c3[SIDE], k0 = stream->key[0], k1 = stream->key[1];
    for (int i = 0; i < SIDE; i++) {
        c0[i] = (uint32_t)(counter + (uint64_t)i);
        c1[i] = (uint32_t)((counter + (uint64_t)i) >> 32);
        c2[i] = stream->place[0];
        c3[i] = stream->place[1];
    }
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < SIDE; i++) {
            uint64_t p0 = (uint64_t)0xD2511F53u * c0[i], p1 = (uint64_t)0xCD9E8D57u * c2[i];
            uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
            c1[i] = (uint32_t)p1;
            c3[i] = (uint32_t)p0;
            c0[i] = n0;
            c2[i] = n2;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    memcpy(out[0], c0, sizeof c0);
    memcpy(out[1], c1, sizeof c1);
    memcpy(out[2], c2, sizeof c2);
    memcpy(out[3], c3, sizeof c3);
}

void KERNEL_NAME(random_group)(const RandomStream *stream, uint64_t first_group, int n_groups, uint16_t *out)
{
    uint32_t words[4][SIDE];
    for (int g = 0; g < n_groups; g++) {
        const int half = g % (SIDE / 16) * 16;
        if (!half) philox(stream, (first_group + (uint64_t)g) * 16, words);
        uint16_t *group = out + (size_t)g * RANDOM_GROUP;
        for (int w = 0; w < 4; w++)
            for (int i = 0; i < 16; i++) {
                group[32 * w + i] = (uint16_t)words[w][half + i];
                group[32 * w + 16 + i] = (uint16_t)(words[w][half + i] >> 16);
            }
    }
}

void KERNEL_NAME(dropout_mask)(const Dropout *dropout, uint64_t first, int n, real *mask)
{
    enum { PIECE = 4 * RANDOM_GROUP };
    const uint32_t threshold = dropout->threshold;
    const real keep = dropout->keep_scale;
    for (int i = 0; i < n; i += PIECE) {
        uint16_t bits[PIECE];
        const int count = n - i < PIECE ? n - i : PIECE;
        KERNEL_NAME(random_group)(&dropout->stream, (first + (uint64_t)i) / RANDOM_GROUP,
                                  (count + RANDOM_GROUP - 1) / RANDOM_GROUP, bits);
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): random_group has filled them */
        for (int j = 0; j < count; j++) mask[i + j] = bits[j] < threshold ? 0 : keep;
    }
}

/* ---- flat blocks ---- */

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

/* ---- embedding ---- */

void KERNEL_NAME(embed_row)(int n, const real *table, real scale, const real *position, const real *mask, real *y)
{
    if (!mask)
        for (int i = 0; i < n; i++) y[i] = scale * table[i] + position[i];
    else
        for (int i = 0; i < n; i++) y[i] = (scale * table[i] + position[i]) * mask[i];
}

/* ---- layer norm ---- */

VEC_INLINE real row_sum(int n, const real *x)
{
    Vec sum = {0};
    int i = 0;
    for (; i + LANES <= n; i += LANES) sum += vec_load(x + i);
    if (i < n) sum += vec_load_part(x + i, n - i, 0);
    return vec_sum(sum);
}

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
    real mean = row_sum(n, x) / (real)n;
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

/* ---- activations ---- */

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

/* ---- cross-entropy ---- */

typedef struct Scan {
    real largest, sum;
} Scan;

/* The largest element and the sum, in one pass; several chains of each hide the latency of an operation. */
VEC_INLINE Scan scan(int n, const real *x)
{
    enum { CHAINS = 4 };
    Vec largest[CHAINS], sum[CHAINS];
    for (int c = 0; c < CHAINS; c++) largest[c] = vec_set(x[0]), sum[c] = (Vec){0};
    int i = 0;
    for (; i + CHAINS * LANES <= n; i += CHAINS * LANES)
#pragma GCC unroll 4
        for (int c = 0; c < CHAINS; c++) {
            const Vec v = vec_load(x + i + c * LANES);
            largest[c] = vec_max(v, largest[c]);
            sum[c] += v;
        }
    for (; i < n; i += LANES) {
        const int count = n - i < LANES ? n - i : LANES;
        largest[0] = vec_max(vec_load_part(x + i, count, x[0]), largest[0]);
        sum[0] += vec_load_part(x + i, count, 0);
    }
    for (int half = CHAINS / 2; half >= 1; half /= 2)
        for (int c = 0; c < half; c++) {
            largest[c] = vec_max(largest[c], largest[c + half]);
            sum[c] += sum[c + half];
        }
    return (Scan){vec_largest(largest[0]), vec_sum(sum[0])};
}

/* The sum of exp(x - largest) over the row, which becomes the exps if `keep`. */
VEC_INLINE double exp_sum(int n, real *x, real largest, const bool keep)
{
    Vec sum = {0};
    int i = 0;
    for (; i + LANES <= n; i += LANES) {
        Vec e = vec_exp(vec_load(x + i) - largest);
        sum += e;
        if (keep) vec_store(x + i, e);
    }
    double rest = 0;
    if (i < n) {
        Vec e = vec_exp(vec_load_part(x + i, n - i, largest) - largest);
        for (int lane = 0; lane < n - i; lane++) rest += (double)e[lane];
        if (keep) vec_store_part(x + i, n - i, e);
    }
    return rest + (double)vec_sum(sum);
}

double KERNEL_NAME(log_sum_exp)(int n, const real *logits)
{
    const real largest = scan(n, logits).largest;
    return (double)largest + log(exp_sum(n, (real *)logits, largest, false));
}

double KERNEL_NAME(cross_entropy_row)(int n, real *logits, int label, real smoothing, bool gradient, real scale, double *nll)
{
    const Scan row = scan(n, logits);
    const real largest = row.largest, at_label = logits[label];
    const double sum = (double)row.sum;
    const double exps = gradient ? exp_sum(n, logits, largest, true) : exp_sum(n, logits, largest, false);
    const double log_sum = (double)largest + log(exps);
    *nll = log_sum - (double)at_label;
    if (gradient) {
        const real normal = (real)((double)scale / exps), uniform = smoothing / (real)n * scale;
        for (int i = 0; i < n; i++) logits[i] = logits[i] * normal - uniform;
        logits[label] -= (1 - smoothing) * scale;
    }
    /* The mean over classes of -log p is log_sum - mean(logits). */
    return (1 - (double)smoothing) * *nll + (double)smoothing * (log_sum - sum / n);
}

/* Lanes of two rows' softmaxes p and q, and of log p - log q. */
typedef struct Pair {
    Vec p, q, log_ratio;
} Pair;

VEC_INLINE Pair pair_of(Vec a, Vec b, real log_sum_a, real log_sum_b)
{
    const Vec log_p = a - log_sum_a, log_q = b - log_sum_b;
    return (Pair){vec_exp(log_p), vec_exp(log_q), log_p - log_q};
}

/* The pair at element i; beyond n, p = q, and log_ratio = 0. */
VEC_INLINE Pair pair_load(int n, int i, const real *a, const real *b, real log_sum_a, real log_sum_b)
{
    if (i + LANES <= n) return pair_of(vec_load(a + i), vec_load(b + i), log_sum_a, log_sum_b);
    return pair_of(vec_load_part(a + i, n - i, log_sum_a), vec_load_part(b + i, n - i, log_sum_b), log_sum_a, log_sum_b);
}

double KERNEL_NAME(cross_entropy_pair)(int n, real *a, real *b, int label, real smoothing, real divergence, bool gradient,
                                       real scale, double *nll)
{
    const double log_sum_a = KERNEL_NAME(log_sum_exp)(n, a), log_sum_b = KERNEL_NAME(log_sum_exp)(n, b);
    const real la = (real)log_sum_a, lb = (real)log_sum_b;
    const double log_sum = (log_sum_a + log_sum_b) / 2, mean = ((double)row_sum(n, a) + (double)row_sum(n, b)) / 2 / n;
    *nll = log_sum - ((double)a[label] + (double)b[label]) / 2;
    Vec sum_pq = {0}, sum_qp = {0};
    for (int i = 0; i < n; i += LANES) {
        const Pair v = pair_load(n, i, a, b, la, lb);
        sum_pq += v.p * v.log_ratio;
        sum_qp -= v.q * v.log_ratio;
    }
    const real kl_pq = vec_sum(sum_pq), kl_qp = vec_sum(sum_qp);
    /* With l = log p - log q, d KL(p || q) / d a = p (l - KL(p || q)) and d KL(q || p) / d a = p - q. */
    const real half = scale / 2, weight = scale * divergence / 4, uniform = smoothing / (real)n * half;
    for (int i = 0; gradient && i < n; i += LANES) {
        const Pair v = pair_load(n, i, a, b, la, lb);
        const Vec difference = v.p - v.q;
        const Vec ga = half * v.p - uniform + weight * (v.p * (v.log_ratio - kl_pq) + difference);
        const Vec gb = half * v.q - uniform + weight * (v.q * (-v.log_ratio - kl_qp) - difference);
        const int count = n - i < LANES ? n - i : LANES;
        vec_store_part(a + i, count, ga);
        vec_store_part(b + i, count, gb);
    }
    if (gradient) {
        a[label] -= (1 - smoothing) * half;
        b[label] -= (1 - smoothing) * half;
    }
    return (1 - (double)smoothing) * *nll + (double)smoothing * (log_sum - mean) +
           (double)divergence / 4 * ((double)kl_pq + (double)kl_qp);
}

/* ---- Adam ---- */

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
