/* autograd: every op of ops.def against central differences, then whole models.
 *
 * A check builds outputs from leaves; the function that is differentiated is the sum of the outputs times random numbers, so
 * no term of a gradient can hide behind a sum of equal ones. Gradients begin as random numbers: ops must add to them. An op
 * that reads what nothing wrote reads NaN. Derivatives are taken along each element (a random sample of big leaves) and along
 * one random direction of all elements of the leaf. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/threads.h"
#include "tests/sample.h"
#include "tests/suites.h"

/* The error of a derivative, relative to the largest of the leaf's (along a direction: to that times the root of the number of
 * elements, its typical size). A leaf whose derivatives all vanish, as a key's bias, counts as LEAST of the largest of all. */
#define TOLERANCE 1e-7
#define LEAST 1e-3

enum { MAX_LEAVES = 8, MAX_OUTPUTS = 2, MAX_ELEMENTS = 100 };

typedef struct Check Check;
struct Check {
    char name[96];
    const void *args; /* the case */
    void (*build)(Check *check);
    Tape tape;
    Arena arena; /* the leaves */
    int n_leaves, n_outputs;
    Tensor leaf[MAX_LEAVES], *output[MAX_OUTPUTS];
    uint64_t seed;
    int n_samples;  /* of a leaf's elements */
    double largest; /* of all derivatives */
};

static void check_begin(Check *check, const char *op, int number, void (*build)(Check *), const void *args)
{
    *check = (Check){.args = args, .build = build, .seed = (uint64_t)number + 1, .n_samples = MAX_ELEMENTS};
    snprintf(check->name, sizeof check->name, "%s, case %d", op, number);
    check->tape.dropout = true;
    check->tape.seed = 5;
    check->tape.step = 7;
    check->tape.pass = 1;
    tape_begin(&check->tape, false);
    memset(arena_alloc(&check->tape.arena, 1 << 19), 0xFF, 1 << 19); /* NaN; the first block of the arena holds 1 << 20 */
}

static void add_leaf(Check *check, int rows, int cols)
{
    const size_t n = (size_t)rows * (size_t)cols;
    Tensor t = {.rows = rows, .cols = cols, .stride = (size_t)cols};
    t.value = arena_alloc(&check->arena, n * sizeof(real));
    t.grad = arena_alloc(&check->arena, n * sizeof(real));
    sample_normal(check->seed * 100 + (uint64_t)check->n_leaves, 1, n, t.value);
    check->leaf[check->n_leaves++] = t;
}

static size_t n_elements(const Tensor *t)
{
    return (size_t)t->rows * (size_t)t->cols;
}

/* Differences are taken on one thread: there are many, and all are small. */
static void run(Check *check, bool recording)
{
    threads_set(recording ? 3 : 1);
    tape_begin(&check->tape, recording);
    check->build(check);
}

/* The random numbers that output o is multiplied by. */
static real *cotangent(Check *check, int o)
{
    const size_t n = n_elements(check->output[o]);
    real *out = arena_alloc(&check->tape.arena, n * sizeof *out);
    sample_normal(check->seed * 1000 + (uint64_t)o, 1, n, out);
    return out;
}

static double function_value(Check *check)
{
    run(check, false);
    double sum = 0;
    for (int o = 0; o < check->n_outputs; o++) {
        const real *factor = cotangent(check, o);
        for (size_t i = 0; i < n_elements(check->output[o]); i++) sum += (double)(check->output[o]->value[i] * factor[i]);
    }
    return sum;
}

/* d/ds of the function at leaf + s * direction; fourth-order central differences. The leaf is as it was afterwards. */
static double difference(Check *check, Tensor *leaf, const real *direction, double step)
{
    const size_t n = n_elements(leaf);
    real *saved = mem_alloc(n * sizeof *saved);
    memcpy(saved, leaf->value, n * sizeof *saved);
    double f[4];
    static const double at[4] = {-2, -1, 1, 2};
    for (int k = 0; k < 4; k++) {
        for (size_t i = 0; i < n; i++) leaf->value[i] = saved[i] + (real)(at[k] * step) * direction[i];
        f[k] = function_value(check);
    }
    memcpy(leaf->value, saved, n * sizeof *saved);
    mem_free(saved);
    return (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * step);
}

/* A kink of ReLU within a step spoils that difference, but not those of much shorter steps. */
static void compare(Check *check, Tensor *leaf, const real *direction, double expected, double scale, const char *what)
{
    double found = 0;
    for (double step = 1e-3; step > 1e-7; step /= 10) {
        found = difference(check, leaf, direction, step);
        if (fabs(found - expected) <= TOLERANCE * scale) return;
    }
    ck_abort_msg("%s: leaf %d, %s: %.12g by the tape, %.12g by differences", check->name, (int)(leaf - check->leaf), what,
                 expected, found);
}

static double largest_of(size_t n, const real *x)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        ck_assert_msg(isfinite(x[i]), "element %zu is %g", i, (double)x[i]);
        largest = fmax(largest, fabs((double)x[i]));
    }
    return largest;
}

/* Compare `gradient` of the leaf along its elements and along a direction. */
static void check_leaf(Check *check, int l, const real *gradient)
{
    Tensor *leaf = &check->leaf[l];
    const size_t n = n_elements(leaf);
    real *direction = mem_zalloc(n * sizeof *direction);
    const double largest = fmax(largest_of(n, gradient), LEAST * check->largest);
    const RandomStream stream = random_stream(check->seed, RANDOM_TEST, 3, (uint32_t)l);
    const size_t n_samples = n < (size_t)check->n_samples ? n : (size_t)check->n_samples;
    for (size_t k = 0; k < n_samples; k++) {
        const size_t i = n_samples == n ? k : random_below(&stream, k, (uint32_t)n);
        char what[32];
        snprintf(what, sizeof what, "element %zu", i);
        direction[i] = 1;
        compare(check, leaf, direction, (double)gradient[i], largest, what);
        direction[i] = 0;
    }
    sample_normal(check->seed * 10 + (uint64_t)l, 1, n, direction);
    double expected = 0;
    for (size_t i = 0; i < n; i++) expected += (double)(gradient[i] * direction[i]);
    compare(check, leaf, direction, expected, largest * sqrt((double)n), "all");
    mem_free(direction);
}

static void check_end(Check *check)
{
    real *before[MAX_LEAVES];
    for (int l = 0; l < check->n_leaves; l++) {
        const size_t n = n_elements(&check->leaf[l]);
        before[l] = arena_alloc(&check->arena, n * sizeof(real));
        sample_normal(check->seed * 10000 + (uint64_t)l, 1, n, before[l]);
        memcpy(check->leaf[l].grad, before[l], n * sizeof(real));
    }
    run(check, true);
    for (int o = 0; o < check->n_outputs; o++)
        memcpy(tape_grad(&check->tape, check->output[o]), cotangent(check, o), n_elements(check->output[o]) * sizeof(real));
    tape_backward(&check->tape);
    check->largest = 0;
    for (int l = 0; l < check->n_leaves; l++) {
        const size_t n = n_elements(&check->leaf[l]);
        for (size_t i = 0; i < n; i++) before[l][i] = check->leaf[l].grad[i] - before[l][i];
        check->largest = fmax(check->largest, largest_of(n, before[l]));
    }
    for (int l = 0; l < check->n_leaves; l++) check_leaf(check, l, before[l]);
    tape_free(&check->tape);
    arena_free(&check->arena);
}

#define EACH_CASE(i, cases) for (int i = 0; i < (int)(sizeof(cases) / sizeof *(cases)); i++)

/* ---- embedding ---- */

typedef struct EmbeddingCase {
    int vocab_size, width, n_seq, shortest, longest, first;
    real dropout;
    bool twice;
} EmbeddingCase;

static void build_embedding(Check *check)
{
    const EmbeddingCase *c = check->args;
    Batch batch = sample_batch(&check->tape.arena, 3, c->n_seq, c->shortest, c->longest, c->vocab_size);
    Ragged *source = arena_alloc(&check->tape.arena, sizeof *source);
    Ragged *target = arena_alloc(&check->tape.arena, sizeof *target);
    *source = batch.source;
    *target = batch.target;
    check->output[0] = embedding(&check->tape, &check->leaf[0], source, c->first, c->dropout);
    check->n_outputs = 1;
    if (!c->twice) return;
    check->output[1] = embedding(&check->tape, &check->leaf[0], target, 0, c->dropout);
    check->n_outputs = 2;
}

static void check_embedding(void)
{
    static const EmbeddingCase cases[] = {
        {7, 6, 3, 1, 6, 0, 0, false},        /* words occur again and again */
        {50, 20, 1, 1, 1, 0, 0, false},      /* most words don't occur */
        {9, 33, 4, 1, 5, 4, (real)0.4, true}, /* tied: source and target; later positions */
        {20, 4, 60, 1, 5, 0, (real)0.25, false}, /* several tiles */
        {5, 1, 2, 1, 2, 0, 0, false},
    };
    EACH_CASE(i, cases) {
        Check check;
        check_begin(&check, "embedding", i, build_embedding, &cases[i]);
        add_leaf(&check, cases[i].vocab_size, cases[i].width);
        check_end(&check);
    }
}

/* ---- linear ---- */

typedef struct LinearCase {
    int rows, in, out;
    bool bias;
    int first, all; /* the columns of a wider leaf that x is */
} LinearCase;

static void build_linear(Check *check)
{
    const LinearCase *c = check->args;
    Tensor *x = tape_columns(&check->tape, &check->leaf[0], c->first, c->in);
    check->output[0] = linear(&check->tape, x, &check->leaf[1], c->bias ? &check->leaf[2] : NULL);
    check->n_outputs = 1;
}

/* One matrix as input, weight, and weight of the next. */
static void build_linear_twice(Check *check)
{
    Tensor *w = &check->leaf[1];
    check->output[0] = linear(&check->tape, linear(&check->tape, w, w, &check->leaf[2]), w, &check->leaf[2]);
    check->n_outputs = 1;
}

static void check_linear(void)
{
    static const LinearCase cases[] = {
        {1, 1, 1, true, 0, 1},      {5, 7, 3, true, 0, 7},     {13, 16, 32, false, 0, 16}, {8, 5, 11, true, 3, 9},
        {300, 9, 4, true, 0, 9},    {6, 40, 65, false, 8, 48}, {270, 3, 17, false, 1, 5},  {20, 300, 2, true, 0, 300},
    };
    EACH_CASE(i, cases) {
        const LinearCase *c = &cases[i];
        Check check;
        check_begin(&check, "linear", i, build_linear, c);
        add_leaf(&check, c->rows, c->all);
        add_leaf(&check, c->out, c->in);
        if (c->bias) add_leaf(&check, 1, c->out);
        check_end(&check);
    }
    Check check;
    check_begin(&check, "linear, one matrix three times", 0, build_linear_twice, NULL);
    add_leaf(&check, 1, 1); /* not used: its gradient stays as it was */
    add_leaf(&check, 6, 6);
    add_leaf(&check, 1, 6);
    check_end(&check);
}

/* ---- activation ---- */

typedef struct ActivationCase {
    int rows, cols;
    Activation kind;
    real dropout;
} ActivationCase;

static void build_activation(Check *check)
{
    const ActivationCase *c = check->args;
    check->output[0] = activation(&check->tape, &check->leaf[0], c->kind, c->dropout);
    check->n_outputs = 1;
}

static void check_activation(void)
{
    static const ActivationCase cases[] = {
        {1, 1, ACTIVATE_RELU, 0},          {1, 1, ACTIVATE_GELU, 0},
        {5, 37, ACTIVATE_RELU, 0},         {5, 37, ACTIVATE_GELU, 0},
        {9, 16, ACTIVATE_RELU, (real)0.3}, {9, 16, ACTIVATE_GELU, (real)0.3},
        {280, 3, ACTIVATE_RELU, (real)0.1}, {280, 3, ACTIVATE_GELU, (real)0.1},
    };
    EACH_CASE(i, cases) {
        Check check;
        check_begin(&check, "activation", i, build_activation, &cases[i]);
        add_leaf(&check, cases[i].rows, cases[i].cols);
        check_end(&check);
    }
}

/* ---- layer norm, alone and of a residual sum ---- */

typedef struct NormCase {
    int rows, cols, first, all; /* x and z are columns of wider leaves */
    real dropout;
    bool use_sum, same; /* the sum is an output, too; x is z */
} NormCase;

static void build_layer_norm(Check *check)
{
    const NormCase *c = check->args;
    Tensor *x = tape_columns(&check->tape, &check->leaf[0], c->first, c->cols);
    check->output[0] = layer_norm(&check->tape, x, &check->leaf[1], &check->leaf[2]);
    check->n_outputs = 1;
}

static void check_layer_norm(void)
{
    static const NormCase cases[] = {
        {1, 2, 0, 2, 0, false, false},
        {5, 7, 0, 7, 0, false, false},
        {4, 32, 3, 40, 0, false, false},
        {290, 3, 1, 5, 0, false, false},
    };
    EACH_CASE(i, cases) {
        const NormCase *c = &cases[i];
        Check check;
        check_begin(&check, "layer_norm", i, build_layer_norm, c);
        add_leaf(&check, c->rows, c->all);
        add_leaf(&check, 1, c->cols);
        add_leaf(&check, 1, c->cols);
        check_end(&check);
    }
}

static void build_residual_norm(Check *check)
{
    const NormCase *c = check->args;
    Tensor *x = tape_columns(&check->tape, &check->leaf[0], c->first, c->cols);
    Tensor *z = c->same ? x : tape_columns(&check->tape, &check->leaf[3], c->all - c->cols - c->first, c->cols);
    check->output[0] = residual_norm(&check->tape, x, z, &check->leaf[1], &check->leaf[2], c->dropout, &check->output[1]);
    check->n_outputs = c->use_sum ? 2 : 1;
}

static void check_residual_norm(void)
{
    static const NormCase cases[] = {
        {1, 2, 0, 2, 0, false, false},
        {5, 7, 0, 7, 0, true, false},
        {6, 20, 3, 30, (real)0.4, false, false},
        {290, 4, 0, 4, (real)0.2, true, false},
        {3, 33, 1, 35, (real)0.1, true, true},
        {3, 16, 0, 16, 0, false, true},
    };
    EACH_CASE(i, cases) {
        const NormCase *c = &cases[i];
        Check check;
        check_begin(&check, "residual_norm", i, build_residual_norm, c);
        add_leaf(&check, c->rows, c->all);
        add_leaf(&check, 1, c->cols);
        add_leaf(&check, 1, c->cols);
        add_leaf(&check, c->rows, c->all);
        check_end(&check);
    }
}

/* ---- attention ---- */

enum AttentionKind { SELF, CAUSAL, CROSS, SAME };

typedef struct AttentionCase {
    enum AttentionKind kind; /* SAME: query, key and value are one matrix; else columns of a wider one */
    int n_seq, shortest, longest, heads, width;
    real dropout;
} AttentionCase;

static void build_attention(Check *check)
{
    const AttentionCase *c = check->args;
    Tape *tape = &check->tape;
    Batch batch = sample_batch(&tape->arena, check->seed, c->n_seq, c->shortest - 1, c->longest - 1, 10);
    const bool cross = c->kind == CROSS;
    const int d = c->heads * c->width;
    Spans queries = spans_of(tape, cross ? &batch.target : &batch.source), keys = spans_of(tape, &batch.source);
    Tensor *x = &check->leaf[0], *memory = cross ? &check->leaf[1] : x, *same = tape_columns(tape, x, 0, d);
    Tensor *q = c->kind == SAME ? same : tape_columns(tape, x, d, d);
    Tensor *k = c->kind == SAME ? same : tape_columns(tape, memory, 0, d);
    Tensor *v = c->kind == SAME ? same : tape_columns(tape, memory, 2 * d, d);
    check->output[0] = attention(tape, q, k, v, &queries, &keys, c->heads, c->kind == CAUSAL, c->dropout);
    check->n_outputs = 1;
}

static void check_attention(void)
{
    static const AttentionCase cases[] = {
        {SELF, 3, 1, 6, 1, 5, 0},           {SELF, 2, 1, 1, 4, 1, 0},           {SELF, 4, 1, 9, 2, 8, (real)0.3},
        {SELF, 1, 70, 70, 1, 3, (real)0.2}, {CAUSAL, 3, 1, 6, 3, 4, 0},         {CAUSAL, 2, 1, 1, 1, 7, 0},
        {CAUSAL, 4, 1, 9, 4, 16, (real)0.3}, {CAUSAL, 2, 60, 140, 2, 3, (real)0.1}, {CROSS, 3, 1, 6, 1, 5, 0},
        {CROSS, 4, 1, 20, 2, 17, (real)0.2}, {CROSS, 2, 60, 135, 2, 2, (real)0.2}, {SAME, 3, 1, 7, 2, 4, (real)0.2},
    };
    EACH_CASE(i, cases) {
        const AttentionCase *c = &cases[i];
        Check check;
        check_begin(&check, "attention", i, build_attention, c);
        Batch batch = sample_batch(&check.arena, check.seed, c->n_seq, c->shortest - 1, c->longest - 1, 10);
        const int wide = 3 * c->heads * c->width + 1; /* one column more than is used */
        add_leaf(&check, c->kind == CROSS ? batch.target.n_tokens : batch.source.n_tokens, wide);
        if (c->kind == CROSS) add_leaf(&check, batch.source.n_tokens, wide);
        if (c->longest > 20) check.n_samples = 20;
        check_end(&check);
    }
}

/* ---- projection_loss ---- */

typedef struct LossCase {
    int rows, classes, width, first, all; /* x is columns of a wider leaf */
    real smoothing, scale;
    bool same; /* x is the weight */
    bool pairs;
    real divergence;
} LossCase;

static void build_projection_loss(Check *check)
{
    const LossCase *c = check->args;
    int32_t *label = arena_alloc(&check->tape.arena, (size_t)c->rows * sizeof *label);
    for (int i = 0; i < c->rows; i++) label[i] = i * 7 % c->classes;
    Tensor *w = &check->leaf[1], *x = c->same ? w : tape_columns(&check->tape, &check->leaf[0], c->first, c->width);
    LossSums sums;
    check->output[0] =
        c->pairs ? projection_loss_pairs(&check->tape, x, w, label, c->smoothing, c->divergence, c->scale, &sums)
                 : projection_loss(&check->tape, x, w, label, c->smoothing, c->scale, &sums);
    check->n_outputs = 1;
    ck_assert_double_eq_tol((double)check->output[0]->value[0], sums.loss * (double)c->scale, 1e-12 * (1 + fabs(sums.loss)));
    if (c->smoothing == 0 && c->divergence == 0) ck_assert_double_eq_tol(sums.loss, sums.nll, 1e-12 * (1 + fabs(sums.nll)));
}

static void check_projection_loss(void)
{
    static const LossCase cases[] = {
        {1, 1, 1, 0, 1, 0, 1, false, false, 0},
        {5, 7, 4, 0, 4, 0, 1, false, false, 0},
        {6, 33, 9, 2, 12, (real)0.1, (real)0.25, false, false, 0},
        {5, 16, 16, 0, 16, (real)0.3, -2, false, false, 0},
        {12, 12, 5, 0, 5, (real)0.1, 1, true, false, 0},
        {1030, 3, 2, 0, 2, (real)0.1, (real)0.01, false, false, 0}, /* two chunks */
        {2, 7, 4, 0, 4, 0, 1, false, true, 0},
        {10, 33, 9, 2, 12, (real)0.1, (real)0.25, false, true, 5},
        {12, 12, 5, 0, 5, (real)0.1, -2, true, true, (real)0.7},
        {2 * 1030, 3, 2, 0, 2, (real)0.1, (real)0.01, false, true, 3}, /* two chunks */
    };
    EACH_CASE(i, cases) {
        const LossCase *c = &cases[i];
        Check check;
        check_begin(&check, "projection_loss", i, build_projection_loss, c);
        add_leaf(&check, c->rows, c->all);
        add_leaf(&check, c->classes, c->width);
        check_end(&check);
    }
}

/* ---- every op has a check ---- */

typedef struct OpCheck {
    const OpDef *op;
    void (*check)(void);
} OpCheck;

static const OpCheck op_checks[] = {
#define OP(name) {&op_##name, check_##name},
#include "autograd/ops.def"
#undef OP
};

START_TEST(op_gradient)
{
    op_checks[_i].check();
}
END_TEST

/* ---- models ---- */

typedef struct ModelCase {
    ModelNorm norm;
    Activation activation;
    ModelTie tie;
    real rdrop;
} ModelCase;

static const ModelCase model_cases[] = {
    {MODEL_POST_NORM, ACTIVATE_RELU, MODEL_TIE_ALL, 0},     {MODEL_POST_NORM, ACTIVATE_GELU, MODEL_TIE_NONE, 0},
    {MODEL_PRE_NORM, ACTIVATE_RELU, MODEL_TIE_NONE, 0},     {MODEL_PRE_NORM, ACTIVATE_GELU, MODEL_TIE_DECODER, 0},
    {MODEL_POST_NORM, ACTIVATE_RELU, MODEL_TIE_DECODER, 0}, {MODEL_PRE_NORM, ACTIVATE_GELU, MODEL_TIE_ALL, 0},
    {MODEL_POST_NORM, ACTIVATE_RELU, MODEL_TIE_ALL, 5},
};

typedef struct ModelArgs {
    Model *model;
    Batch batch;
} ModelArgs;

static void build_model(Check *check)
{
    const ModelArgs *args = check->args;
    check->output[0] = transformer_loss(args->model, &check->tape, &args->batch, (real)0.5, NULL);
    check->n_outputs = 1;
}

/* Everything drops out, several steps' gradients would add up, every named parameter is looked at. */
START_TEST(model_gradient)
{
    const ModelCase *c = &model_cases[_i];
    const ModelConfig config = {
        .vocab_size = 17, .d_model = 12, .d_ff = 20, .heads = 3, .encoder_layers = 2, .decoder_layers = 2,
        .norm = c->norm, .activation = c->activation, .tie = c->tie,
        .dropout = (real)0.1, .attention_dropout = (real)0.2, .activation_dropout = (real)0.15, .label_smoothing = (real)0.1,
        .rdrop = c->rdrop,
    };
    Check check;
    ModelArgs args;
    check_begin(&check, "model", _i, build_model, &args);
    args.model = sample_model(&config, 3, true);
    args.batch = sample_batch(&check.arena, 4, 4, 0, 6, config.vocab_size);
    Params *params = &args.model->params;
    real *before = arena_alloc(&check.arena, params->size * sizeof *before);
    sample_normal(8, 1, params->size, before);
    memcpy(params->grad, before, params->size * sizeof *before);
    run(&check, true);
    memcpy(tape_grad(&check.tape, check.output[0]), cotangent(&check, 0), sizeof(real));
    tape_backward(&check.tape);
    for (size_t i = 0; i < params->size; i++) before[i] = params->grad[i] - before[i];
    check.n_samples = 2;
    check.largest = largest_of(params->size, before);
    for (int p = 0; p < params->n; p++) {
        const Param *param = &params->param[p];
        snprintf(check.name, sizeof check.name, "model %d, %s", _i, param->name);
        check.leaf[0] = (Tensor){.rows = param->rows, .cols = param->cols, .value = params->value + param->offset};
        check_leaf(&check, 0, before + param->offset);
    }
    model_free(args.model);
    tape_free(&check.tape);
    arena_free(&check.arena);
}
END_TEST

Suite *suite_gradients(void)
{
    Suite *suite = suite_create("gradients");
    TCase *ops = tcase_create("ops"), *models = tcase_create("models");
    tcase_add_loop_test(ops, op_gradient, 0, sizeof op_checks / sizeof *op_checks);
    tcase_add_loop_test(models, model_gradient, 0, sizeof model_cases / sizeof *model_cases);
    tcase_set_timeout(models, 60);
    suite_add_tcase(suite, ops);
    suite_add_tcase(suite, models);
    return suite;
}
