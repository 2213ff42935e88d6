#include "model/distribution.h"

#include <math.h>

#include "core/batch.h"
#include "core/kernels.h"

enum { FEW_ROWS = 4 }; /* not worth waking threads for */

static void normalize(Distribution *d, double *normalizer)
{
#pragma omp parallel for schedule(static) if (d->n > FEW_ROWS)
    for (int i = 0; i < d->n; i++) normalizer[i] = kernel.log_sum_exp(d->n_tokens, d->row + (size_t)i * d->stride);
    d->normalizer = normalizer;
}

/* The log of the mean of the probabilities that the models give to one row's tokens; normal[m] are their normalizers. */
static void average(Tensor *const *logits, int n_models, int row, real *out)
{
    double normal[n_models];
    const real *x[n_models];
    const int n_tokens = logits[0]->cols;
    for (int m = 0; m < n_models; m++) {
        x[m] = logits[m]->value + (size_t)row * logits[m]->stride;
        normal[m] = kernel.log_sum_exp(n_tokens, x[m]);
    }
    for (int t = 0; t < n_tokens; t++) {
        double largest = (double)x[0][t] - normal[0], sum = 0;
        for (int m = 1; m < n_models; m++) largest = fmax(largest, (double)x[m][t] - normal[m]);
        for (int m = 0; m < n_models; m++) sum += exp((double)x[m][t] - normal[m] - largest);
        out[t] = (real)(largest + log(sum / n_models));
    }
}

Distribution distribution_of(Arena *arena, Tensor *const *logits, int n_models)
{
    const int n = logits[0]->rows, n_tokens = logits[0]->cols;
    double *normalizer = arena_zalloc(arena, (size_t)n * sizeof *normalizer);
    Distribution d = {.n = n, .n_tokens = n_tokens, .row = logits[0]->value, .stride = logits[0]->stride,
                      .normalizer = normalizer};
    if (n_models == 1) {
        normalize(&d, normalizer);
        return d;
    }
    real *mean = arena_alloc(arena, (size_t)n * (size_t)n_tokens * sizeof *mean);
#pragma omp parallel for schedule(static) if (n > 1)
    for (int i = 0; i < n; i++) average(logits, n_models, i, mean + (size_t)i * (size_t)n_tokens);
    d.row = mean;
    d.stride = (size_t)n_tokens;
    return d;
}

double distribution_log(const Distribution *d, int row, int32_t token)
{
    const double value = (double)d->row[(size_t)row * d->stride + (size_t)token] - d->normalizer[row];
    return value > 0 ? 0 : value;
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
    const real *row;
    int32_t *token;
    int n;
} Heap;

static bool worse(const Heap *heap, int32_t a, int32_t b)
{
    const real x = heap->row[a], y = heap->row[b];
    return x != y ? x < y : a > b;
}

/* Let `token` sink from place i of the heap. */
static void sink(Heap *heap, int i, int32_t token)
{
    for (int child = 2 * i + 1; child < heap->n; child = 2 * i + 1) {
        if (child + 1 < heap->n && worse(heap, heap->token[child + 1], heap->token[child])) child++;
        if (!worse(heap, heap->token[child], token)) break;
        heap->token[i] = heap->token[child];
        i = child;
    }
    heap->token[i] = token;
}

static void rise(Heap *heap, int32_t token)
{
    int i = heap->n++;
    for (; i > 0 && worse(heap, token, heap->token[(i - 1) / 2]); i = (i - 1) / 2) heap->token[i] = heap->token[(i - 1) / 2];
    heap->token[i] = token;
}

/* Is one of the n numbers above x? Without a branch a number, so that compilers use vectors. */
static bool any_above(const real *number, int n, real x)
{
    int any = 0;
    for (int i = 0; i < n; i++) any |= number[i] > x;
    return any;
}

int distribution_top(const real *row, int n_tokens, const Constraint *constraint, int k, int32_t *token)
{
    enum { BLOCK = 64 };
    Heap heap = {.row = row, .token = token};
    for (int32_t first = 0; first < n_tokens; first += BLOCK) {
        const int32_t end = first + BLOCK < n_tokens ? first + BLOCK : n_tokens;
        if (heap.n == k && !any_above(row + first, end - first, row[token[0]])) continue;
        for (int32_t t = first; t < end; t++) {
            if (heap.n == k ? !(row[t] > row[token[0]]) : isnan(row[t])) continue;
            if (!constraint_allows(constraint, t)) continue;
            if (heap.n == k) sink(&heap, 0, t);
            else rise(&heap, t);
        }
    }
    const int n = heap.n;
    while (heap.n > 1) {
        const int32_t last = token[--heap.n];
        const int32_t worst = token[0];
        sink(&heap, 0, last);
        token[heap.n] = worst;
    }
    return n;
}
