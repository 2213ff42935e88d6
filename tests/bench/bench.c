/* make bench: how fast training is, beside what this machine can do at best.
 *   sgemm peak   single-threaded OpenBLAS on a square product, on all cores at once (our kernel where OpenBLAS is missing)
 *   steps        whole training steps (forward, backward, clipping, Adam) on random sentences of about Multi30k's lengths,
 * so no data is needed; their operations are those of the matrix products, nothing padded Each figure is the median of
 * several runs, with the lowest and the highest: machines are noisy. Standard output is a table separated by tabs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/blas.h"
#include "core/kernels.h"
#include "core/matmul.h"
#include "core/threads.h"
#include "model/transformer.h"
#include "train/adam.h"
#include "train/progress.h"

enum { N_RUNS = 7, PEAK_SIZE = 2048 };

typedef struct Figure {
    double low, median, high;
} Figure;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static Figure figure(double *runs, int n)
{
    qsort(runs, (size_t)n, sizeof *runs, ascending);
    return (Figure){.low = runs[0], .median = runs[n / 2], .high = runs[n - 1]};
}

/* GFLOP/s of all threads together, each at its own product */
static double peak_run(bool openblas)
{
    const size_t size = (size_t)PEAK_SIZE * PEAK_SIZE;
    const int n_threads = threads_count();
    real *memory = mem_zalloc(3 * size * (size_t)n_threads * sizeof(real));
    Arena arena = {0};
    double started = progress_clock();
    if (openblas) {
#pragma omp parallel for schedule(static)
        for (int t = 0; t < n_threads; t++) {
            real *a = memory + 3 * size * (size_t)t;
            blas_gemm(&(Matmul){.kind = MATMUL_NN,
                                .m = PEAK_SIZE,
                                .n = PEAK_SIZE,
                                .k = PEAK_SIZE,
                                .a = a,
                                .b = a + size,
                                .c = a + 2 * size,
                                .a_stride = PEAK_SIZE,
                                .b_stride = PEAK_SIZE,
                                .c_stride = PEAK_SIZE});
        }
    } else {
        for (int t = 0; t < n_threads; t++) {
            real *a = memory + 3 * size * (size_t)t;
            matmul(&(Matmul){.kind = MATMUL_NN,
                             .m = PEAK_SIZE,
                             .n = PEAK_SIZE,
                             .k = PEAK_SIZE,
                             .a = a,
                             .b = a + size,
                             .c = a + 2 * size,
                             .a_stride = PEAK_SIZE,
                             .b_stride = PEAK_SIZE,
                             .c_stride = PEAK_SIZE},
                   &arena);
        }
    }
    double seconds = progress_clock() - started;
    arena_free(&arena);
    mem_free(memory);
    return 2.0 * (double)size * PEAK_SIZE * n_threads / seconds / 1e9;
}

typedef struct Shape {
    const char *name;
    ModelConfig config;
    int batch_tokens, n_steps;
} Shape;

#define SHAPE(title, vocab, width, ff, n_heads, layers, drop, tokens, steps)                                           \
    {                                                                                                                \
        .name = title, .batch_tokens = tokens, .n_steps = steps,                                                     \
        .config = {.vocab_size = vocab, .d_model = width, .d_ff = ff, .heads = n_heads, .encoder_layers = layers,    \
                   .decoder_layers = layers, .tie = MODEL_TIE_ALL, .dropout = (real)(drop),                          \
                   .label_smoothing = (real)0.1},                                                                    \
    }
static const Shape shapes[] = {
    SHAPE("toy", 1500, 128, 512, 4, 2, 0.1, 2048, 20),
    SHAPE("multi30k", 10000, 128, 256, 4, 4, 0.3, 4096, 8),
    SHAPE("base", 10000, 512, 2048, 8, 6, 0.1, 4096, 1),
};

/* A batch of random sentences: the lengths of both sides are spread as Multi30k's are (13.5 +- 4 tokens with the end token).
 */
typedef struct Sentences {
    Batch batch;
    int32_t *start[2], *token[2], *label;
} Sentences;

static void make_sentences(Sentences *s, int batch_tokens, int vocab_size, uint32_t place)
{
    const RandomStream stream = random_stream(1, RANDOM_TEST, place, 0);
    int n = 0, n_tokens[2] = {0, 0};
    for (int side = 0; side < 2; side++) {
        s->start[side] = mem_zalloc((size_t)(batch_tokens + 1) * sizeof(int32_t));
        s->token[side] = mem_alloc((size_t)batch_tokens * sizeof(int32_t));
    }
    s->label = mem_alloc((size_t)batch_tokens * sizeof(int32_t));
    for (;; n++) {
        int length[2];
        for (int side = 0; side < 2; side++) {
            double l = 13.5 + 4 * random_normal(&stream, (uint64_t)(2 * n + side));
            length[side] = l < 3 ? 3 : (int)l;
        }
        if (n_tokens[0] + length[0] > batch_tokens || n_tokens[1] + length[1] > batch_tokens) break;
        for (int side = 0; side < 2; side++) s->start[side][n + 1] = n_tokens[side] += length[side];
    }
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < n_tokens[side]; i++)
            s->token[side][i] = (int32_t)(N_SPECIAL + random_below(&stream, (uint64_t)(1 << 20) + (uint64_t)(2 * i + side),
                                                                   (uint32_t)vocab_size - N_SPECIAL));
    memcpy(s->label, s->token[1], (size_t)n_tokens[1] * sizeof(int32_t));
    s->batch = (Batch){.source = {n, n_tokens[0], s->start[0], s->token[0]},
                       .target = {n, n_tokens[1], s->start[1], s->token[1]},
                       .label = s->label};
}

static void free_sentences(Sentences *s)
{
    for (int side = 0; side < 2; side++) {
        mem_free(s->start[side]);
        mem_free(s->token[side]);
    }
    mem_free(s->label);
}

/* Operations of a training step in the matrix products and attention: forward 2 a multiply-add, backward twice that. */
static double operations(const ModelConfig *c, const Batch *b)
{
    const double d = c->d_model, f = c->d_ff, source = b->source.n_tokens, target = b->target.n_tokens;
    double products = c->encoder_layers * source * (4 * d * d + 2 * d * f);
    products += c->decoder_layers * (target * (6 * d * d + 2 * d * f) + source * 2 * d * d) + target * d * c->vocab_size;
    double pairs = 0;
    for (int s = 0; s < b->source.n_seq; s++) {
        double n = b->source.start[s + 1] - b->source.start[s], m = b->target.start[s + 1] - b->target.start[s];
        pairs += c->encoder_layers * n * n + c->decoder_layers * (m * (m + 1) / 2 + m * n);
    }
    return 3 * 2 * (products + 2 * d * pairs);
}

static void bench_shape(const Shape *shape, double peak)
{
    Model *model = model_new(&shape->config, true);
    model_init(model, 1);
    Adam adam;
    adam_init(&adam, model->params.size, 0.9, 0.98, 1e-9);
    Tape tape = {.dropout = true, .seed = 1};
    Sentences sentences;
    make_sentences(&sentences, shape->batch_tokens, shape->config.vocab_size, 0);
    const Batch *batch = &sentences.batch;
    double seconds[N_RUNS];
    for (int run = -1; run < N_RUNS; run++) { /* the first one warms up */
        double started = progress_clock();
        for (int i = 0; i < shape->n_steps; i++) {
            memset(model->params.grad, 0, model->params.size * sizeof(real));
            tape.step++;
            tape_begin(&tape, true);
            Tensor *y = model_loss(model, &tape, batch, (real)(1.0 / batch->target.n_tokens), NULL);
            *tape_grad(&tape, y) = 1;
            tape_backward(&tape);
            double norm = adam_gradient_norm(&model->params);
            adam_update(&adam, &model->params, 1e-4, norm > 1 ? 1 / norm : 1);
        }
        if (run >= 0) seconds[run] = (progress_clock() - started) / shape->n_steps;
    }
    const double work = operations(&shape->config, batch);
    const Figure s = figure(seconds, N_RUNS);
    printf("%s\t%.2fM\t%d\t%.4f\t%.4f\t%.4f\t%.0f\t%.1f\t%.1f\t%.0f\n", shape->name, (double)model->params.size / 1e6,
           batch->target.n_tokens, s.median, s.low, s.high, batch->target.n_tokens / s.median, work / s.median / 1e9,
           100 * work / s.median / 1e9 / peak, (double)arena_size(&tape.arena) / 1e6);
    fflush(stdout);
    free_sentences(&sentences);
    tape_free(&tape);
    adam_free(&adam);
    model_free(model);
}

int main(void)
{
    kernels_init();
    Error missing = {0};
    const bool openblas = blas_load(&missing);
    threads_set(0);
    double runs[N_RUNS];
    for (int run = -1; run < N_RUNS; run++) {
        double gflops = peak_run(openblas);
        if (run >= 0) runs[run] = gflops;
    }
    const Figure peak = figure(runs, N_RUNS);
    fprintf(stderr, "%d threads, products by %s; sgemm peak by %s %s: %.0f GFLOP/s (%.0f to %.0f)\n", threads_count(),
            matmul_name(), openblas ? "OpenBLAS" : "our kernel", openblas ? blas_name() : kernel.name, peak.median, peak.low,
            peak.high);
    printf("shape\tparameters\ttarget tokens\ts/step\tlowest\thighest\ttarget tokens/s\tGFLOP/s\t%% of peak\tarena MB\n");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) bench_shape(&shapes[i], peak.median);
    return 0;
}
