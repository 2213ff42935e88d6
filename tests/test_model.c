/* model: parameters, and what must hold of every forward pass, with random weights. Searches are tested in test_search.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/blas.h"
#include "core/threads.h"
#include "tests/sample.h"
#include "tests/suites.h"

static const ModelConfig small = {
    .vocab_size = 30, .d_model = 24, .d_ff = 40, .heads = 3, .encoder_layers = 2, .decoder_layers = 2,
    .dropout = (real)0.1, .attention_dropout = (real)0.2, .activation_dropout = (real)0.15, .label_smoothing = (real)0.1,
};

static bool runs_here(Precision precision)
{
    const Compute compute = compute_best();
    return matmul_can(&compute, precision);
}

/* ---- parameters ---- */

static const Param *find(const Model *model, const char *name)
{
    for (int p = 0; p < model->params.n; p++)
        if (!strcmp(model->params.param[p].name, name)) return &model->params.param[p];
    ck_abort_msg("no parameter %s", name);
    return NULL;
}

START_TEST(names_and_shapes)
{
    static const struct {
        const char *name;
        int n_dims, rows, cols;
    } wanted[] = {
        {"source_embedding.weight", 2, 11, 8},
        {"target_embedding.weight", 2, 11, 8},
        {"output_projection.weight", 2, 11, 8},
        {"encoder.0.self_attention.query.weight", 2, 8, 8},
        {"encoder.0.self_attention.key.weight", 2, 8, 8},
        {"encoder.0.self_attention.value.weight", 2, 8, 8},
        {"encoder.0.self_attention.query.bias", 1, 1, 8},
        {"encoder.0.self_attention.key.bias", 1, 1, 8},
        {"encoder.0.self_attention.value.bias", 1, 1, 8},
        {"encoder.0.self_attention.output.weight", 2, 8, 8},
        {"encoder.0.self_attention.output.bias", 1, 1, 8},
        {"encoder.0.feed_forward.input.weight", 2, 20, 8},
        {"encoder.0.feed_forward.input.bias", 1, 1, 20},
        {"encoder.0.feed_forward.output.weight", 2, 8, 20},
        {"encoder.0.feed_forward.output.bias", 1, 1, 8},
        {"encoder.0.self_attention_norm.weight", 1, 1, 8},
        {"encoder.0.self_attention_norm.bias", 1, 1, 8},
        {"encoder.0.feed_forward_norm.weight", 1, 1, 8},
        {"encoder.0.feed_forward_norm.bias", 1, 1, 8},
        {"encoder.norm.weight", 1, 1, 8},
        {"encoder.norm.bias", 1, 1, 8},
        {"decoder.0.self_attention.query.weight", 2, 8, 8},
        {"decoder.0.self_attention.key.weight", 2, 8, 8},
        {"decoder.0.self_attention.value.weight", 2, 8, 8},
        {"decoder.0.self_attention.query.bias", 1, 1, 8},
        {"decoder.0.self_attention.key.bias", 1, 1, 8},
        {"decoder.0.self_attention.value.bias", 1, 1, 8},
        {"decoder.0.self_attention.output.weight", 2, 8, 8},
        {"decoder.0.self_attention.output.bias", 1, 1, 8},
        {"decoder.0.cross_attention.query.weight", 2, 8, 8},
        {"decoder.0.cross_attention.query.bias", 1, 1, 8},
        {"decoder.0.cross_attention.key.weight", 2, 8, 8},
        {"decoder.0.cross_attention.value.weight", 2, 8, 8},
        {"decoder.0.cross_attention.key.bias", 1, 1, 8},
        {"decoder.0.cross_attention.value.bias", 1, 1, 8},
        {"decoder.0.cross_attention.output.weight", 2, 8, 8},
        {"decoder.0.cross_attention.output.bias", 1, 1, 8},
        {"decoder.0.feed_forward.input.weight", 2, 20, 8},
        {"decoder.0.feed_forward.input.bias", 1, 1, 20},
        {"decoder.0.feed_forward.output.weight", 2, 8, 20},
        {"decoder.0.feed_forward.output.bias", 1, 1, 8},
        {"decoder.0.self_attention_norm.weight", 1, 1, 8},
        {"decoder.0.self_attention_norm.bias", 1, 1, 8},
        {"decoder.0.cross_attention_norm.weight", 1, 1, 8},
        {"decoder.0.cross_attention_norm.bias", 1, 1, 8},
        {"decoder.0.feed_forward_norm.weight", 1, 1, 8},
        {"decoder.0.feed_forward_norm.bias", 1, 1, 8},
        {"decoder.norm.weight", 1, 1, 8},
        {"decoder.norm.bias", 1, 1, 8},
    };
    const ModelConfig config = {.vocab_size = 11, .d_model = 8, .d_ff = 20, .heads = 2, .encoder_layers = 1, .decoder_layers = 1,
                                .norm = MODEL_PRE_NORM, .tie = MODEL_TIE_NONE};
    Model *model = model_new(&config, false);
    ck_assert_ptr_null(model->params.grad);
    ck_assert_int_eq(model->params.n, sizeof wanted / sizeof *wanted);
    size_t offset = 0;
    for (int p = 0; p < model->params.n; p++) {
        const Param *param = &model->params.param[p];
        ck_assert_str_eq(param->name, wanted[p].name);
        ck_assert_int_eq(param->n_dims, wanted[p].n_dims);
        ck_assert_int_eq(param->rows, wanted[p].rows);
        ck_assert_int_eq(param->cols, wanted[p].cols);
        ck_assert_uint_eq(param->offset, offset); /* no gaps */
        offset += (size_t)param->rows * (size_t)param->cols;
    }
    ck_assert_uint_eq(model->params.size, offset);
    model_free(model);
}
END_TEST

static size_t count(const ModelConfig *config)
{
    Model *model = model_new(config, false);
    size_t size = model->params.size;
    model_free(model);
    return size;
}

START_TEST(how_many)
{
    /* 10,000 x 128 embeddings; an encoder layer has 4 projections of 128 x 128 + 128, 256 x 128 + 256 and 128 x 256 + 128, two
     * norms of 256: 132,480; a decoder layer 4 projections and a norm more: 198,784. */
    const ModelConfig multi30k = {.vocab_size = 10000, .d_model = 128, .d_ff = 256, .heads = 4, .encoder_layers = 4,
                                  .decoder_layers = 4, .tie = MODEL_TIE_ALL};
    ck_assert_uint_eq(count(&multi30k), 2605056);
    ModelConfig other = multi30k;
    other.norm = MODEL_PRE_NORM; /* two final norms */
    ck_assert_uint_eq(count(&other), 2605056 + 512);
    other.tie = MODEL_TIE_DECODER;
    ck_assert_uint_eq(count(&other), 2605056 + 512 + 1280000);
    other.tie = MODEL_TIE_NONE;
    ck_assert_uint_eq(count(&other), 2605056 + 512 + 2560000);
    other.encoder_layers = 3;
    other.decoder_layers = 2;
    other.heads = 1;
    ck_assert_uint_eq(count(&other), 2605056 + 512 + 2560000 - 132480 - 2 * 198784);
}
END_TEST

/* The tensor is the matrix that begins with parameter `first` and holds `n` of them, gradients too. */
static void assert_spans(const Model *model, const Tensor *tensor, const char *prefix, int n, const char *const *parts,
                         const char *suffix)
{
    int rows = 0;
    for (int i = 0; i < n; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s.%s.%s", prefix, parts[i], suffix);
        const Param *param = find(model, name);
        const size_t at = param->n_dims == 1 ? (size_t)rows : (size_t)rows * tensor->stride;
        ck_assert_ptr_eq(model->params.value + param->offset, tensor->value + at);
        ck_assert_ptr_eq(model->params.grad + param->offset, tensor->grad + at);
        rows += param->n_dims == 1 ? param->cols : param->rows;
    }
    ck_assert_int_eq(rows, strcmp(suffix, "bias") ? tensor->rows : tensor->cols);
}

START_TEST(query_key_and_value_are_one_matrix)
{
    static const char *const qkv[] = {"query", "key", "value"};
    Model *model = model_new(&small, true);
    for (int i = 0; i < 2; i++) {
        const Layer *e = &model->encoder.layer[i], *d = &model->decoder.layer[i];
        char encoder[64], decoder[64], cross[64];
        snprintf(encoder, sizeof encoder, "encoder.%d.self_attention", i);
        snprintf(decoder, sizeof decoder, "decoder.%d.self_attention", i);
        snprintf(cross, sizeof cross, "decoder.%d.cross_attention", i);
        assert_spans(model, &e->self_qkv.weight, encoder, 3, qkv, "weight");
        assert_spans(model, &e->self_qkv.bias, encoder, 3, qkv, "bias");
        assert_spans(model, &d->self_qkv.weight, decoder, 3, qkv, "weight");
        assert_spans(model, &d->self_qkv.bias, decoder, 3, qkv, "bias");
        assert_spans(model, &d->cross_query.weight, cross, 1, qkv, "weight");
        assert_spans(model, &d->cross_query.bias, cross, 1, qkv, "bias");
        assert_spans(model, &d->cross_kv.weight, cross, 2, qkv + 1, "weight");
        assert_spans(model, &d->cross_kv.bias, cross, 2, qkv + 1, "bias");
    }
    model_free(model);
}
END_TEST

START_TEST(tied_tables_share_memory)
{
    static const ModelTie ties[] = {MODEL_TIE_NONE, MODEL_TIE_DECODER, MODEL_TIE_ALL};
    for (int i = 0; i < 3; i++) {
        ModelConfig config = small;
        config.tie = ties[i];
        Model *m = model_new(&config, true);
        ck_assert_int_eq(m->target_table.value == m->output.value, ties[i] != MODEL_TIE_NONE);
        ck_assert_int_eq(m->target_table.grad == m->output.grad, ties[i] != MODEL_TIE_NONE);
        ck_assert_int_eq(m->source_table.value == m->target_table.value, ties[i] == MODEL_TIE_ALL);
        ck_assert_int_eq(m->source_table.grad == m->target_table.grad, ties[i] == MODEL_TIE_ALL);
        model_free(m);
    }
}
END_TEST

/* ---- initial weights ---- */

/* Uniform in -bound .. bound. */
static void assert_uniform(const Model *model, const char *name, double bound)
{
    const Param *param = find(model, name);
    const real *value = model->params.value + param->offset;
    const int n = param->rows * param->cols;
    double sum = 0, squares = 0, largest = 0;
    for (int i = 0; i < n; i++) {
        sum += (double)value[i];
        squares += (double)value[i] * (double)value[i];
        largest = fmax(largest, fabs((double)value[i]));
    }
    ck_assert_msg(largest <= bound * (1 + 1e-6) && largest > 0.99 * bound, "%s: %g, bound %g", name, largest, bound);
    ck_assert_msg(fabs(sum / n) < 5 * bound / sqrt(3.0 * n), "%s: mean %g", name, sum / n);
    ck_assert_msg(fabs(squares / n / (bound * bound / 3) - 1) < 5 / sqrt((double)n), "%s: %g", name, squares / n);
}

static void assert_normal(const Model *model, const char *name, double deviation)
{
    const Param *param = find(model, name);
    const real *value = model->params.value + param->offset;
    const int n = param->rows * param->cols;
    double sum = 0, squares = 0, fourths = 0;
    for (int i = 0; i < n; i++) {
        const double z = (double)value[i] / deviation;
        sum += z;
        squares += z * z;
        fourths += z * z * z * z;
    }
    ck_assert_msg(fabs(sum / n) < 5 / sqrt((double)n), "%s: mean %g", name, sum / n);
    ck_assert_msg(fabs(squares / n - 1) < 5 * sqrt(2.0 / n), "%s: variance %g", name, squares / n);
    ck_assert_msg(fabs(fourths / n - 3) < 5 * sqrt(96.0 / n), "%s: fourth moment %g", name, fourths / n);
}

START_TEST(initial_weights)
{
    const ModelConfig config = {.vocab_size = 500, .d_model = 64, .d_ff = 96, .heads = 4, .encoder_layers = 2,
                                .decoder_layers = 2};
    Model *model = model_new(&config, false), *again = model_new(&config, false), *other = model_new(&config, false);
    threads_set(1);
    model_init(model, 9);
    threads_set(3);
    model_init(again, 9);
    model_init(other, 10);
    assert_normal(model, "source_embedding.weight", 1 / sqrt(64));
    assert_normal(model, "target_embedding.weight", 1 / sqrt(64));
    assert_normal(model, "output_projection.weight", 1 / sqrt(64));
    /* query, key and value count as one matrix [3 x 64, 64] */
    assert_uniform(model, "encoder.1.self_attention.query.weight", sqrt(6.0 / (4 * 64)));
    assert_uniform(model, "decoder.0.self_attention.value.weight", sqrt(6.0 / (4 * 64)));
    assert_uniform(model, "decoder.0.cross_attention.query.weight", sqrt(6.0 / (4 * 64)));
    assert_uniform(model, "decoder.1.cross_attention.key.weight", sqrt(6.0 / (4 * 64)));
    assert_uniform(model, "decoder.1.cross_attention.output.weight", sqrt(6.0 / (2 * 64)));
    assert_uniform(model, "encoder.0.feed_forward.input.weight", sqrt(6.0 / (64 + 96)));
    assert_uniform(model, "decoder.1.feed_forward.output.weight", sqrt(6.0 / (64 + 96)));
    const Params *p = &model->params;
    for (int i = 0; i < p->n; i++) {
        const Param *param = &p->param[i];
        const bool gain = strstr(param->name, "norm.weight");
        const real *value = p->value + param->offset;
        for (int j = 0; param->n_dims == 1 && j < param->cols; j++) ck_assert((double)value[j] == (gain ? 1 : 0));
        if (param->n_dims == 2 && i > 0)
            ck_assert_msg(memcmp(value, p->value + p->param[i - 1].offset, 64 * sizeof(real)), "%s is like the one before",
                          param->name);
    }
    ck_assert_mem_eq(p->value, again->params.value, p->size * sizeof(real));
    ck_assert(memcmp(p->value, other->params.value, p->size * sizeof(real)));
    model_free(model);
    model_free(again);
    model_free(other);
}
END_TEST

/* ---- the forward pass ---- */

/* Loss and gradients of one batch, everything dropped out of; in params.grad and returned. */
static real loss_and_gradients(Model *model, Tape *tape, const Batch *batch)
{
    memset(model->params.grad, 0, model->params.size * sizeof(real));
    tape_begin(tape, true);
    Tensor *loss = transformer_loss(model, tape, batch, (real)0.01, NULL);
    *tape_grad(tape, loss) = 1;
    tape_backward(tape);
    return loss->value[0];
}

/* Big enough for several tiles in every op. */
static void assert_threads_change_nothing(Precision precision, real rdrop, const Blas *blas)
{
    const ModelConfig config = {
        .vocab_size = 150, .d_model = 48, .d_ff = 80, .heads = 4, .encoder_layers = 1, .decoder_layers = 1,
        .activation = ACTIVATE_GELU, .tie = MODEL_TIE_ALL,
        .dropout = (real)0.1, .attention_dropout = (real)0.1, .activation_dropout = (real)0.1, .label_smoothing = (real)0.1,
        .rdrop = rdrop,
    };
    Arena arena = {0};
    Tape tape = {.dropout = true, .seed = 3, .step = 4, .precision = precision, .compute = compute_best()};
    tape.compute.blas = blas;
    Model *model = sample_model(&config, 1, true);
    const Batch batch = sample_batch(&arena, 2, 60, 0, 70, config.vocab_size);
    const size_t bytes = model->params.size * sizeof(real);
    threads_set(1);
    const real loss = loss_and_gradients(model, &tape, &batch);
    real *gradient = memcpy(mem_alloc(bytes), model->params.grad, bytes);
    for (int threads = 2; threads <= 3; threads++) {
        threads_set(threads);
        const real other = loss_and_gradients(model, &tape, &batch);
        ck_assert_mem_eq(&other, &loss, sizeof loss);
        for (int p = 0; p < model->params.n; p++) {
            const Param *param = &model->params.param[p];
            ck_assert_msg(!memcmp(model->params.grad + param->offset, gradient + param->offset,
                                  (size_t)param->rows * (size_t)param->cols * sizeof(real)),
                          "%s differs on %d threads", param->name, threads);
        }
    }
    mem_free(gradient);
    model_free(model);
    tape_free(&tape);
    arena_free(&arena);
}

START_TEST(threads_change_nothing)
{
    assert_threads_change_nothing(PRECISION_FP32, 0, NULL);
    assert_threads_change_nothing(PRECISION_FP32, 5, NULL);
}
END_TEST

START_TEST(threads_change_nothing_in_bf16)
{
    if (runs_here(PRECISION_BF16)) assert_threads_change_nothing(PRECISION_BF16, 5, NULL);
}
END_TEST

/* bf16 keeps 8 bits of an operand's mantissa: the gradients point where those of fp32 do. */
START_TEST(bf16_is_near_fp32)
{
    if (!runs_here(PRECISION_BF16)) return;
    for (int norm = MODEL_POST_NORM; norm <= MODEL_PRE_NORM; norm++) {
        ModelConfig config = {.vocab_size = 150, .d_model = 48, .d_ff = 80, .heads = 4, .encoder_layers = 2,
                              .decoder_layers = 2, .tie = MODEL_TIE_DECODER, .norm = (ModelNorm)norm};
        Arena arena = {0};
        Tape tape = {0};
        Model *model = sample_model(&config, 1, true);
        const Batch batch = sample_batch(&arena, 2, 20, 1, 30, config.vocab_size);
        const size_t n = model->params.size;
        const double loss = (double)loss_and_gradients(model, &tape, &batch);
        real *gradient = memcpy(mem_alloc(n * sizeof *gradient), model->params.grad, n * sizeof *gradient);
        tape.precision = PRECISION_BF16;
        const double rounded = (double)loss_and_gradients(model, &tape, &batch);
        ck_assert_msg(rounded != loss && fabs(rounded - loss) < 0.005 * loss, "loss %.9g, in bf16 %.9g", loss, rounded);
        double both = 0, one = 0, other = 0;
        for (size_t i = 0; i < n; i++) {
            const double a = (double)gradient[i], b = (double)model->params.grad[i];
            both += a * b;
            one += a * a;
            other += b * b;
        }
        ck_assert_msg(both > 0.999 * sqrt(one * other), "cosine of the gradients: %.6f", both / sqrt(one * other));
        mem_free(gradient);
        model_free(model);
        tape_free(&tape);
        arena_free(&arena);
    }
}
END_TEST

START_TEST(threads_change_nothing_with_openblas)
{
    Error error = {0};
    const Blas *blas = blas_load(&error);
    if (!blas) return; /* not installed: then nothing can choose it */
    assert_threads_change_nothing(PRECISION_FP32, 0, blas);
}
END_TEST

/* Logits of the whole batch, [target tokens, V], in inference; in the tape's arena. */
static Tensor *logits_of(Model *model, Tape *tape, const Ragged *source, const Ragged *target)
{
    tape_begin(tape, false);
    Tensor *memory = transformer_encode(model, tape, source);
    return transformer_logits(model, tape, transformer_decode(model, tape, memory, source, target));
}

static void assert_sentences_do_not_see_each_other(Precision precision, const Blas *blas)
{
    Arena arena = {0};
    Tape all = {.compute = compute_best()}, one;
    all.compute.blas = blas;
    one = all;
    for (int norm = 0; norm <= 1; norm++) {
        ModelConfig config = small;
        config.norm = norm ? MODEL_PRE_NORM : MODEL_POST_NORM;
        Model *model = sample_model(&config, 1, false);
        model_freeze(model, precision);
        const Batch batch = sample_batch(&arena, 2, 23, 0, 80, config.vocab_size);
        const Tensor *together = logits_of(model, &all, &batch.source, &batch.target);
        for (int s = 0; s < batch.source.n_seq; s++) {
            const Ragged source = sample_sentence(&arena, &batch.source, s);
            const Ragged target = sample_sentence(&arena, &batch.target, s);
            const Tensor *alone = logits_of(model, &one, &source, &target);
            ck_assert_mem_eq(alone->value, together->value + (size_t)batch.target.start[s] * together->stride,
                             (size_t)target.n_tokens * together->stride * sizeof(real));
        }
        model_free(model);
    }
    tape_free(&all);
    tape_free(&one);
    arena_free(&arena);
}

START_TEST(sentences_do_not_see_each_other)
{
    assert_sentences_do_not_see_each_other(PRECISION_FP32, NULL);
}
END_TEST

START_TEST(sentences_do_not_see_each_other_in_low_precision)
{
    for (int precision = PRECISION_BF16; precision <= PRECISION_INT8; precision++)
        if (runs_here((Precision)precision)) assert_sentences_do_not_see_each_other((Precision)precision, NULL);
}
END_TEST

/* Inference doesn't take the backend of training, whose rows depend on their number. */
START_TEST(sentences_do_not_see_each_other_with_openblas)
{
    Error error = {0};
    const Blas *blas = blas_load(&error);
    if (!blas) return;
    assert_sentences_do_not_see_each_other(PRECISION_FP32, blas);
}
END_TEST

/* Other target words from position k on leave the logits before as they were, and change those at k. */
START_TEST(the_future_is_not_seen)
{
    enum { N = 90 };
    Arena arena = {0};
    Tape tape = {0}, other = {0};
    Model *model = sample_model(&small, 1, false);
    const Batch batch = sample_batch(&arena, 2, 1, N - 1, N - 1, small.vocab_size);
    const Tensor *logits = logits_of(model, &tape, &batch.source, &batch.target);
    for (int k = 1; k < N; k += 11) {
        int32_t token[N];
        memcpy(token, batch.target.token, sizeof token);
        for (int i = k; i < N; i++) token[i] = N_SPECIAL + (token[i] + 1) % (small.vocab_size - N_SPECIAL);
        Ragged changed = batch.target;
        changed.token = token;
        const Tensor *found = logits_of(model, &other, &batch.source, &changed);
        const size_t row = logits->stride * sizeof(real), before = (size_t)k * row;
        ck_assert_mem_eq(found->value, logits->value, before);
        ck_assert(memcmp((char *)found->value + before, (char *)logits->value + before, row));
    }
    model_free(model);
    tape_free(&tape);
    tape_free(&other);
    arena_free(&arena);
}
END_TEST

START_TEST(frozen_weights_give_the_same_bits)
{
    Arena arena = {0};
    Tape tape = {0}, other = {0};
    Model *model = sample_model(&small, 1, false);
    const Batch batch = sample_batch(&arena, 2, 5, 0, 9, small.vocab_size);
    const size_t bytes = (size_t)batch.target.n_tokens * (size_t)small.vocab_size * sizeof(real);
    const Tensor *before = logits_of(model, &tape, &batch.source, &batch.target);
    model_freeze(model, PRECISION_FP32);
    ck_assert_mem_eq(logits_of(model, &other, &batch.source, &batch.target)->value, before->value, bytes);
    model_thaw(model);
    ck_assert_mem_eq(logits_of(model, &other, &batch.source, &batch.target)->value, before->value, bytes);
    /* Weights that changed since are what counts, thawed and frozen anew. */
    model_init(model, 7);
    before = logits_of(model, &tape, &batch.source, &batch.target);
    model_freeze(model, PRECISION_FP32);
    ck_assert_mem_eq(logits_of(model, &other, &batch.source, &batch.target)->value, before->value, bytes);
    model_init(model, 8);
    model_freeze(model, PRECISION_FP32);
    const Tensor *frozen = logits_of(model, &tape, &batch.source, &batch.target);
    model_thaw(model);
    ck_assert_mem_eq(logits_of(model, &other, &batch.source, &batch.target)->value, frozen->value, bytes);
    model_free(model);
    tape_free(&tape);
    tape_free(&other);
    arena_free(&arena);
}
END_TEST

static double loss_of(Model *model, Tape *tape, const Batch *batch)
{
    tape_begin(tape, false);
    return (double)transformer_loss(model, tape, batch, 1, NULL)->value[0];
}

/* Masks are a function of seed, step and pass; each kind of dropout drops; without tape.dropout none does. */
START_TEST(dropout)
{
    Arena arena = {0};
    Tape tape = {.dropout = true, .seed = 1, .step = 2, .pass = 3};
    const Batch batch = sample_batch(&arena, 2, 5, 0, 9, small.vocab_size);
    ModelConfig config = small;
    config.dropout = config.attention_dropout = config.activation_dropout = 0;
    Model *model = sample_model(&config, 1, false);
    const double none = loss_of(model, &tape, &batch);
    real *const rates[] = {&model->config.dropout, &model->config.attention_dropout, &model->config.activation_dropout};
    for (int i = 0; i < 3; i++) {
        *rates[i] = (real)0.3;
        const double dropped = loss_of(model, &tape, &batch);
        ck_assert(dropped != none);
        ck_assert(loss_of(model, &tape, &batch) == dropped);
        Tape others[3];
        for (int k = 0; k < 3; k++)
            others[k] = (Tape){.dropout = true, .seed = tape.seed + (k == 0), .step = tape.step + (k == 1), .pass = tape.pass + (k == 2)};
        for (int k = 0; k < 3; k++) {
            ck_assert(loss_of(model, &others[k], &batch) != dropped);
            tape_free(&others[k]);
        }
        tape.dropout = false;
        ck_assert(loss_of(model, &tape, &batch) == none);
        tape.dropout = true;
        *rates[i] = 0;
    }
    model_free(model);
    tape_free(&tape);
    arena_free(&arena);
}
END_TEST

/* R-Drop: two passes that don't differ have no divergence; those that do have one that counts as often as it weighs. */
START_TEST(rdrop)
{
    Arena arena = {0};
    Tape tape = {.dropout = true, .seed = 1, .step = 2, .pass = 3};
    const Batch batch = sample_batch(&arena, 2, 5, 0, 9, small.vocab_size);
    ModelConfig config = small;
    config.dropout = config.attention_dropout = config.activation_dropout = 0;
    Model *model = sample_model(&config, 1, true);
    const size_t size = model->params.size;
    const double tolerance = sizeof(real) == 4 ? 2e-5 : 1e-13;
    const double loss = (double)loss_and_gradients(model, &tape, &batch);
    real *gradient = memcpy(mem_alloc(size * sizeof(real)), model->params.grad, size * sizeof(real));
    model->config.rdrop = 5;
    ck_assert_double_eq_tol((double)loss_and_gradients(model, &tape, &batch), loss, tolerance * loss);
    for (size_t i = 0; i < size; i++)
        ck_assert_double_eq_tol((double)model->params.grad[i], (double)gradient[i], tolerance);

    model->config.dropout = (real)0.3;
    double at[4];
    for (int weight = 1; weight <= 3; weight++) {
        model->config.rdrop = (real)weight;
        at[weight] = loss_of(model, &tape, &batch);
    }
    ck_assert_double_gt(at[2], at[1] * 1.001);
    ck_assert_double_eq_tol(at[3] - at[2], at[2] - at[1], 10 * tolerance * at[3]);
    tape.dropout = false; /* validation knows of one pass only */
    const double validation = loss_of(model, &tape, &batch);
    model->config.rdrop = 0;
    ck_assert(loss_of(model, &tape, &batch) == validation);
    mem_free(gradient);
    model_free(model);
    tape_free(&tape);
    arena_free(&arena);
}
END_TEST

Suite *suite_model(void)
{
    Suite *suite = suite_create("model");
    TCase *tcase = tcase_create("model");
    tcase_add_test(tcase, names_and_shapes);
    tcase_add_test(tcase, how_many);
    tcase_add_test(tcase, query_key_and_value_are_one_matrix);
    tcase_add_test(tcase, tied_tables_share_memory);
    tcase_add_test(tcase, initial_weights);
    tcase_add_test(tcase, threads_change_nothing);
    tcase_add_test(tcase, threads_change_nothing_in_bf16);
    tcase_add_test(tcase, bf16_is_near_fp32);
    tcase_add_test(tcase, threads_change_nothing_with_openblas);
    tcase_add_test(tcase, sentences_do_not_see_each_other);
    tcase_add_test(tcase, sentences_do_not_see_each_other_in_low_precision);
    tcase_add_test(tcase, sentences_do_not_see_each_other_with_openblas);
    tcase_add_test(tcase, the_future_is_not_seen);
    tcase_add_test(tcase, frozen_weights_give_the_same_bits);
    tcase_add_test(tcase, dropout);
    tcase_add_test(tcase, rdrop);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return suite;
}
