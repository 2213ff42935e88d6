/* Cross-entropy of rows of logits, and what it is made of. Sums keep their order by explicit lanes. Bound by exp. */
#include <math.h>

#include "core/kernel_isa.h"

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
    const double log_sum = (log_sum_a + log_sum_b) / 2, mean = ((double)vec_row_sum(n, a) + (double)vec_row_sum(n, b)) / 2 / n;
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
