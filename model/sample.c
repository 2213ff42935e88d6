#include "model/sample.h"

#include <math.h>

/* The allowed tokens that stay, in any order, to token[]. */
static int support(const real *row, int n_tokens, const Constraint *constraint, int top_k, int32_t *token)
{
    if (top_k > 0 && top_k < n_tokens) return distribution_top(row, n_tokens, constraint, top_k, token);
    int n = 0;
    for (int32_t t = 0; t < n_tokens; t++)
        if (!isnan(row[t]) && constraint_allows(constraint, t)) token[n++] = t;
    return n;
}

/* weight[i] = what token[i] would have to be multiplied by, were the sum 1; returns the sum. */
static double weigh(const real *row, double temperature, const int32_t *token, int n, double *weight)
{
    double largest = -INFINITY, sum = 0;
    for (int i = 0; i < n; i++) largest = fmax(largest, (double)row[token[i]]);
    for (int i = 0; i < n; i++) sum += weight[i] = exp(((double)row[token[i]] - largest) / temperature);
    return sum;
}

/* Keep the fewest most probable of the n tokens that have top_p of the weights' sum. Most often few are needed, so look for
 * ever more of the highest. Returns their number, *sum their weights'. */
static int nucleus(const real *row, int n_tokens, const Constraint *constraint, const SearchOptions *options, int n,
                   double *sum, double *weight, int32_t *token)
{
    const double wanted = options->top_p * *sum;
    for (int k = 16;; k *= 8) {
        if (k > n) k = n;
        distribution_top(row, n_tokens, constraint, k, token);
        weigh(row, options->temperature, token, k, weight);
        *sum = 0;
        for (int i = 0; i < k; i++)
            if ((*sum += weight[i]) >= wanted) return i + 1;
        if (k == n) return n;
    }
}

int32_t sample_token(const real *row, int n_tokens, const Constraint *constraint, const SearchOptions *options,
                     double uniform, double *weight, int32_t *token)
{
    int n = support(row, n_tokens, constraint, options->top_k, token);
    double sum = weigh(row, options->temperature, token, n, weight);
    if (n && options->top_p < 1) n = nucleus(row, n_tokens, constraint, options, n, &sum, weight, token);
    double below = uniform * sum;
    int32_t drawn = -1;
    for (int i = 0; i < n && below >= 0; i++) {
        if (weight[i] > 0) drawn = token[i]; /* rounding may leave `below` at 0 or more behind the last one */
        below -= weight[i];
    }
    return drawn;
}
