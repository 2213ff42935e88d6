#include "tests/naive.h"

#include <check.h>
#include <math.h>
#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"

void sum_add(Sum *sum, double term)
{
    sum->value += term;
    sum->size += fabs(term);
}

/* ---- expectations ---- */

static void abort_with(const char *what, const char *format, va_list arguments)
{
    char where[256];
    vsnprintf(where, sizeof where, format, arguments);
    ck_abort_msg("%s: %s: %s", kernel ? kernel->name : "no kernels", where, what);
}

void expect_within(double got, double want, double limit, const char *format, ...)
{
    if (fabs(got - want) <= limit) return;
    char what[128];
    snprintf(what, sizeof what, "%.17g instead of %.17g: off by %.3g, allowed %.3g", got, want, got - want, limit);
    va_list arguments;
    va_start(arguments, format);
    abort_with(what, format, arguments);
    va_end(arguments);
}

void expect_near(double got, Sum want, const char *format, ...)
{
    const double limit = TOLERANCE * want.size;
    if (fabs(got - want.value) <= limit) return;
    char what[128];
    snprintf(what, sizeof what, "%.17g instead of %.17g: off by %.3g, allowed %.3g", got, want.value, got - want.value,
             limit);
    va_list arguments;
    va_start(arguments, format);
    abort_with(what, format, arguments);
    va_end(arguments);
}

void expect_same(const real *got, const real *want, int n, const char *format, ...)
{
    for (int i = 0; i < n; i++) {
        if (!memcmp(got + i, want + i, sizeof *got)) continue;
        char what[128];
        snprintf(what, sizeof what, "element %d of %d has other bits: %a instead of %a", i, n, (double)got[i],
                 (double)want[i]);
        va_list arguments;
        va_start(arguments, format);
        abort_with(what, format, arguments);
        va_end(arguments);
    }
}

/* ---- sets and numbers ---- */

Compute naive_compute;
const Kernels *kernel;

int naive_n_processors(void)
{
    return omp_get_num_procs();
}

int naive_n_sets(void)
{
    int n = 0;
    while (kernels_get(n)) n++;
    return n;
}

void naive_use_set(int index)
{
    ck_assert(compute_choose(&naive_compute, kernels_get(index)->name, NULL));
    ck_assert_ptr_eq(naive_compute.kernels, kernels_get(index));
    kernel = naive_compute.kernels;
}

real *naive_uniform(uint64_t seed, int n)
{
    real *x = malloc((size_t)n * sizeof *x);
    RandomStream stream = random_stream(seed, RANDOM_TEST, 0, 0);
    for (int i = 0; i < n; i++) x[i] = (real)(2 * random_uniform(&stream, (uint64_t)i) - 1);
    return x;
}

real *naive_copy(const real *x, int n)
{
    real *copy = malloc((size_t)n * sizeof *copy);
    memcpy(copy, x, (size_t)n * sizeof *copy);
    return copy;
}

int naive_draw(uint64_t seed, int n)
{
    RandomStream stream = random_stream(seed, RANDOM_TEST, 1, 0);
    return (int)random_below(&stream, 0, (uint32_t)n);
}

/* ---- the matrix product ---- */

static real a_element(const Matmul *p, int i, int l)
{
    return p->a[p->kind == MATMUL_TN ? (size_t)l * p->a_stride + (size_t)i : (size_t)i * p->a_stride + (size_t)l];
}

static real b_element(const Matmul *p, int l, int j)
{
    return p->b[p->kind == MATMUL_NT ? (size_t)j * p->b_stride + (size_t)l : (size_t)l * p->b_stride + (size_t)j];
}

Sum naive_product(const Matmul *p, int i, int j, real start)
{
    Sum sum = {0};
    sum_add(&sum, (double)start);
    for (int l = 0; l < p->k; l++) sum_add(&sum, (double)a_element(p, i, l) * (double)b_element(p, l, j));
    return sum;
}

real naive_chain(const Matmul *p, int i, int j, real start, bool fused)
{
    real sum = start;
    for (int l = 0; l < p->k; l++) {
        real x = a_element(p, i, l), y = b_element(p, l, j);
#ifdef FERRY_FP64
        sum = fused ? fma(x, y, sum) : sum + x * y;
#else
        sum = fused ? fmaf(x, y, sum) : sum + x * y;
#endif
    }
    return sum;
}

/* ---- random masks ---- */

uint32_t naive_bits(const RandomStream *stream, uint64_t element)
{
    /* A group is 16 blocks of four words; first the lower, then the upper halves of the blocks' first words, and so on. */
    uint32_t block[4], place = (uint32_t)(element % RANDOM_GROUP);
    random_block(stream, element / RANDOM_GROUP * 16 + place % 16, block);
    uint32_t word = block[place / 32];
    return place / 16 % 2 ? word >> 16 : word & 0xffff;
}

real naive_mask(const Dropout *dropout, uint64_t element)
{
    return naive_bits(&dropout->stream, element) < dropout->threshold ? 0 : dropout->keep_scale;
}

/* ---- GELU ---- */

double naive_gelu(double x)
{
    return x * 0.5 * erfc(-x / sqrt(2));
}

double naive_gelu_slope(double x)
{
    return 0.5 * erfc(-x / sqrt(2)) + x * exp(-x * x / 2) / sqrt(2 * acos(-1));
}

/* ---- attention ---- */

static double attention_mask(const AttentionHead *head, int i, int j)
{
    if (!head->dropout) return 1;
    enum { T = ATTENTION_TILE };
    uint64_t tile = (uint64_t)(i / T) * (uint64_t)((head->n_k + T - 1) / T) + (uint64_t)(j / T);
    uint64_t group = head->dropout_group + tile * ATTENTION_TILE_GROUPS;
    return (double)naive_mask(head->dropout, group * RANDOM_GROUP + (uint64_t)(i % T * T + j % T));
}

static double at(const real *rows, size_t stride, int i, int c)
{
    return (double)rows[(size_t)i * stride + (size_t)c];
}

/* A weight's size carries its score's: an error d of the score is a relative error d of the weight. */
static void forward(const AttentionHead *head, NaiveAttention *a)
{
    const int width = head->d_head, n_k = head->n_k;
    for (int i = 0; i < head->n_q; i++) {
        const int n = i + head->visible < n_k ? i + head->visible : n_k;
        Sum *weight = a->weights + (size_t)i * (size_t)n_k;
        double total = 0, largest_size = 0;
        for (int j = 0; j < n; j++) {
            Sum score = {0};
            for (int c = 0; c < width; c++)
                sum_add(&score, at(head->q.value, head->q.stride, i, c) * at(head->k.value, head->k.stride, j, c) /
                                    sqrt(width));
            weight[j] = (Sum){exp(score.value), 1 + score.size};
            total += weight[j].value;
            largest_size = fmax(largest_size, weight[j].size);
        }
        a->lse[i] = (Sum){log(total), largest_size};
        for (int j = 0; j < n; j++) {
            weight[j].value /= total;
            weight[j].size = weight[j].value * largest_size;
            for (int c = 0; c < width; c++) {
                Sum *out = a->out + (size_t)i * (size_t)width + c;
                double v = at(head->v.value, head->v.stride, j, c) * attention_mask(head, i, j);
                out->value += weight[j].value * v;
                out->size += weight[j].size * fabs(v);
            }
        }
    }
}

static void add_product(Sum *sum, Sum factor, double x)
{
    sum->value += factor.value * x;
    sum->size += factor.size * fabs(x);
}

static void backward(const AttentionHead *head, NaiveAttention *a)
{
    const int width = head->d_head, n_k = head->n_k;
    for (int i = 0; i < head->n_q; i++) {
        const Sum *weight = a->weights + (size_t)i * (size_t)n_k;
        Sum delta = {0};
        for (int c = 0; c < width; c++)
            add_product(&delta, a->out[(size_t)i * (size_t)width + c], at(head->out.grad, head->out.stride, i, c));
        for (int j = 0; j < n_k && j < i + head->visible; j++) {
            const double mask = attention_mask(head, i, j);
            Sum gweight = {0}, kept = {weight[j].value * mask, weight[j].size * mask};
            for (int c = 0; c < width; c++) {
                double gout = at(head->out.grad, head->out.stride, i, c);
                sum_add(&gweight, gout * at(head->v.value, head->v.stride, j, c) * mask);
                add_product(a->gv + (size_t)j * (size_t)width + c, kept, gout);
            }
            Sum gscore = {weight[j].value * (gweight.value - delta.value) / sqrt(width),
                          weight[j].size * (gweight.size + delta.size) / sqrt(width)};
            for (int c = 0; c < width; c++) {
                add_product(a->gq + (size_t)i * (size_t)width + c, gscore, at(head->k.value, head->k.stride, j, c));
                add_product(a->gk + (size_t)j * (size_t)width + c, gscore, at(head->q.value, head->q.stride, i, c));
            }
        }
    }
}

NaiveAttention naive_attention(const AttentionHead *head, bool with_gradients)
{
    const size_t width = (size_t)head->d_head, n_q = (size_t)head->n_q, n_k = (size_t)head->n_k;
    NaiveAttention a = {
        .weights = calloc(n_q * n_k, sizeof(Sum)),
        .out = calloc(n_q * width, sizeof(Sum)),
        .lse = calloc(n_q, sizeof(Sum)),
        .gq = calloc(n_q * width, sizeof(Sum)),
        .gk = calloc(n_k * width, sizeof(Sum)),
        .gv = calloc(n_k * width, sizeof(Sum)),
    };
    forward(head, &a);
    if (with_gradients) backward(head, &a);
    return a;
}

void naive_attention_free(NaiveAttention *a)
{
    Sum *blocks[] = {a->weights, a->out, a->lse, a->gq, a->gk, a->gv};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) free(blocks[b]);
}
