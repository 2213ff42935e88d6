#include "model/distribution.h"

#include <math.h>

#include "core/batch.h"

enum { FEW_ROWS = 4 }; /* not worth waking threads for */

static const real *logits_of(const Distribution *d, int model, int row)
{
    return d->logits[model]->value + (size_t)row * d->logits[model]->stride;
}

static void normalize(const Kernels *kernels, const Distribution *d, double *normalizer)
{
#pragma omp parallel for schedule(static) if (d->n * d->n_models > FEW_ROWS)
    for (int i = 0; i < d->n * d->n_models; i++)
        normalizer[i] = kernels->log_sum_exp(d->n_tokens, logits_of(d, i / d->n, i % d->n));
}

/* The largest of the log-probabilities that the models give to each token: their mean probability is at most that. So only
 * tokens that may be among the best need the mean. */
static void set_bound(const Distribution *d, int row, real *bound)
{
    for (int m = 0; m < d->n_models; m++) {
        const real *x = logits_of(d, m, row);
        const double normalizer = d->normalizer[m * d->n + row];
        for (int t = 0; t < d->n_tokens; t++) {
            const real value = (real)((double)x[t] - normalizer);
            bound[t] = m && bound[t] > value ? bound[t] : value;
        }
    }
}

Distribution distribution_of(Tape *tape, Tensor *const *logits, int n_models)
{
    Arena *arena = &tape->arena;
    const int n = logits[0]->rows, n_tokens = logits[0]->cols;
    double *normalizer = arena_alloc(arena, (size_t)n_models * (size_t)n * sizeof *normalizer);
    Distribution d = {.n = n, .n_tokens = n_tokens, .n_models = n_models, .normalizer = normalizer,
                      .bound = logits[0]->value, .stride = logits[0]->stride,
                      .logits = arena_alloc(arena, (size_t)n_models * sizeof *d.logits)};
    for (int m = 0; m < n_models; m++) d.logits[m] = logits[m];
    normalize(tape->compute.kernels, &d, normalizer);
    if (n_models == 1) return d;
    real *bound = arena_alloc(arena, (size_t)n * (size_t)n_tokens * sizeof *bound);
    d.bound = bound;
    d.stride = (size_t)n_tokens;
#pragma omp parallel for schedule(static) if (n > FEW_ROWS)
    for (int i = 0; i < n; i++) set_bound(&d, i, bound + (size_t)i * d.stride);
    return d;
}

double distribution_log(const Distribution *d, int row, int32_t token)
{
    double value[d->n_models], largest = -INFINITY, sum = 0;
    for (int m = 0; m < d->n_models; m++) {
        value[m] = (double)logits_of(d, m, row)[token] - d->normalizer[m * d->n + row];
        largest = fmax(largest, value[m]);
    }
    if (d->n_models == 1) return value[0] > 0 ? 0 : value[0];
    for (int m = 0; m < d->n_models; m++) sum += exp(value[m] - largest);
    const double mean = largest + log(sum / d->n_models);
    return mean > 0 ? 0 : mean;
}

/* Rounded to the type of `bound`, it is at most that: a mean is at most the largest, and rounding keeps the order. */
real distribution_rank(const Distribution *d, int row, int32_t token)
{
    return d->n_models == 1 ? d->bound[(size_t)row * d->stride + (size_t)token] : (real)distribution_log(d, row, token);
}

Utf8State constraint_next(const Constraint *c, int32_t token)
{
    return c->utf8_bytes ? utf8_next(c->state, c->utf8_bytes[token]) : UTF8_START;
}

bool constraint_allows(const Constraint *c, int32_t token)
{
    if (token == TOKEN_PAD || token == TOKEN_BOS) return false;
    const Utf8State next = constraint_next(c, token);
    if (next == UTF8_BAD) return false;
    return token == TOKEN_EOS || 1 + utf8_missing(next) <= c->room;
}

/* A heap of tokens, the worst on top. */
typedef struct Heap {
    int32_t *token;
    real *rank;
    int n;
} Heap;

static bool worse(real x, int32_t a, real y, int32_t b)
{
    return x != y ? x < y : a > b;
}

static void put(Heap *heap, int i, int32_t token, real rank)
{
    heap->token[i] = token;
    heap->rank[i] = rank;
}

/* The token takes place i of the heap, or one below it. */
static void sink(Heap *heap, int i, int32_t token, real rank)
{
    for (int child = 2 * i + 1; child < heap->n; child = 2 * i + 1) {
        const int other = child + 1;
        if (other < heap->n && worse(heap->rank[other], heap->token[other], heap->rank[child], heap->token[child])) child = other;
        if (!worse(heap->rank[child], heap->token[child], rank, token)) break;
        put(heap, i, heap->token[child], heap->rank[child]);
        i = child;
    }
    put(heap, i, token, rank);
}

static void rise(Heap *heap, int32_t token, real rank)
{
    int i = heap->n++;
    for (int parent; i > 0; i = parent) {
        parent = (i - 1) / 2;
        if (!worse(rank, token, heap->rank[parent], heap->token[parent])) break;
        put(heap, i, heap->token[parent], heap->rank[parent]);
    }
    put(heap, i, token, rank);
}

/* Take the worst off the top, again and again, and put it behind. */
static void sort(Heap *heap)
{
    while (heap->n > 1) {
        const int last = --heap->n;
        const int32_t token = heap->token[last], worst = heap->token[0];
        const real rank = heap->rank[last], lowest = heap->rank[0];
        sink(heap, 0, token, rank);
        put(heap, last, worst, lowest);
    }
}

/* Is one of the n numbers above x? Without a branch a number, so that compilers use vectors. */
static bool any_above(const real *number, int n, real x)
{
    int any = 0;
    for (int i = 0; i < n; i++) any |= number[i] > x;
    return any;
}

int distribution_top(const Distribution *d, int row, const Constraint *constraint, int k, int32_t *token, real *rank)
{
    enum { BLOCK = 64 };
    const real *bound = d->bound + (size_t)row * d->stride;
    Heap heap = {.token = token, .rank = rank};
    for (int32_t first = 0; first < d->n_tokens; first += BLOCK) {
        const int32_t end = first + BLOCK < d->n_tokens ? first + BLOCK : d->n_tokens;
        if (heap.n == k && !any_above(bound + first, end - first, rank[0])) continue;
        for (int32_t t = first; t < end; t++) {
            if (heap.n == k && !(bound[t] > rank[0])) continue;
            if (!constraint_allows(constraint, t)) continue;
            const real value = distribution_rank(d, row, t);
            if (heap.n < k && !isnan(value)) rise(&heap, t, value);
            else if (heap.n == k && value > rank[0]) sink(&heap, 0, t, value);
        }
    }
    const int n = heap.n;
    sort(&heap);
    return n;
}
