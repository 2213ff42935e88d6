#include "model/sample.h"

#include <math.h>

/* The allowed tokens that stay, in any order, and their ranks. Returns their number. */
static int support(const Distribution *d, int row, const Constraint *constraint, int top_k, const SampleScratch *s)
{
    if (top_k > 0 && top_k < d->n_tokens) return distribution_top(d, row, constraint, top_k, s->token, s->rank);
    int n = 0;
    for (int32_t t = 0; t < d->n_tokens; t++) {
        if (!constraint_allows(constraint, t)) continue;
        const real rank = distribution_rank(d, row, t);
        if (isnan(rank)) continue;
        s->token[n] = t;
        s->rank[n++] = rank;
    }
    return n;
}

/* weight[i] = what token[i] would have to be multiplied by, were the sum 1; returns the sum. */
static double weigh(double temperature, int n, const SampleScratch *s)
{
    double largest = -INFINITY, sum = 0;
    for (int i = 0; i < n; i++) largest = fmax(largest, (double)s->rank[i]);
    for (int i = 0; i < n; i++) sum += s->weight[i] = exp(((double)s->rank[i] - largest) / temperature);
    return sum;
}

/* Keep the fewest most probable of the n tokens that have top_p of the weights' sum. Most often few are needed, so look for
 * ever more of the highest. Returns their number, *sum their weights'. */
static int nucleus(const Distribution *d, int row, const Constraint *constraint, const SearchOptions *options, int n,
                   double *sum, const SampleScratch *s)
{
    const double wanted = options->top_p * *sum;
    for (int k = 16;; k *= 8) {
        if (k > n) k = n;
        distribution_top(d, row, constraint, k, s->token, s->rank);
        weigh(options->temperature, k, s);
        *sum = 0;
        for (int i = 0; i < k; i++)
            if ((*sum += s->weight[i]) >= wanted) return i + 1;
        if (k == n) return n;
    }
}

int32_t sample_token(const Distribution *d, int row, const Constraint *constraint, const SearchOptions *options,
                     double uniform, const SampleScratch *s)
{
    int n = support(d, row, constraint, options->top_k, s);
    double sum = weigh(options->temperature, n, s);
    if (n && options->top_p < 1) n = nucleus(d, row, constraint, options, n, &sum, s);
    double below = uniform * sum;
    int32_t drawn = -1;
    for (int i = 0; i < n && below >= 0; i++) {
        if (s->weight[i] > 0) drawn = s->token[i]; /* rounding may leave `below` at 0 or more behind the last one */
        below -= s->weight[i];
    }
    return drawn;
}
