/* The forward pass; the tape does the backward one. */
#include "model/transformer.h"

#include <string.h>

#include "core/error.h"

/* The residual stream: `sum` is what the next sublayer's output is added to, `input` what the next sublayer sees. With
 * Post-LN they are one tensor. */
typedef struct Stream {
    Tensor *sum, *input;
    int n_done; /* sublayers so far */
} Stream;

static Stream stream_open(const Model *model, Tape *tape, const Stack *stack, Tensor *x)
{
    Stream stream = {.sum = x, .input = x};
    if (model->config.norm == MODEL_PRE_NORM) stream.input = layer_norm(tape, x, &stack->norm[0].gain, &stack->norm[0].bias);
    return stream;
}

/* Add a sublayer's output. Post-LN then applies that sublayer's norm; Pre-LN the next one's, the final norm after the last.
 */
static void stream_add(const Model *model, Tape *tape, const Stack *stack, Stream *stream, Tensor *output)
{
    const bool pre = model->config.norm == MODEL_PRE_NORM;
    Norm *norm = &stack->norm[stream->n_done + pre];
    Tensor *sum;
    stream->input = residual_norm(tape, stream->sum, output, &norm->gain, &norm->bias, model->config.dropout, &sum);
    stream->sum = pre ? sum : stream->input;
    stream->n_done++;
}

static Tensor *project(Tape *tape, Tensor *x, Linear *layer)
{
    return linear(tape, x, &layer->weight, &layer->bias);
}

static Tensor *self_attention(const Model *model, Tape *tape, Layer *layer, Tensor *x, const Spans *spans, bool causal)
{
    const int d = model->config.d_model;
    Tensor *qkv = project(tape, x, &layer->self_input);
    Tensor *y =
        attention(tape, tape_columns(tape, qkv, 0, d), tape_columns(tape, qkv, d, d), tape_columns(tape, qkv, 2 * d, d),
                  spans, spans, model->config.heads, causal, model->config.attention_dropout);
    return project(tape, y, &layer->self_output);
}

/* kv: keys and values of the encoder's output, [source tokens, 2D] */
static Tensor *cross_attention(const Model *model, Tape *tape, Layer *layer, Tensor *x, Tensor *kv, const Spans *target,
                               const Spans *source)
{
    const int d = model->config.d_model;
    Tensor *q = project(tape, x, &layer->cross_query);
    Tensor *y = attention(tape, q, tape_columns(tape, kv, 0, d), tape_columns(tape, kv, d, d), target, source,
                          model->config.heads, false, model->config.attention_dropout);
    return project(tape, y, &layer->cross_output);
}

static Tensor *feed_forward(const Model *model, Tape *tape, Layer *layer, Tensor *x)
{
    Tensor *hidden =
        activation(tape, project(tape, x, &layer->ff_input), model->config.activation, model->config.activation_dropout);
    return project(tape, hidden, &layer->ff_output);
}

Tensor *model_encode(Model *model, Tape *tape, const Ragged *source)
{
    const Stack *stack = &model->encoder;
    const Spans spans = spans_of(tape, source);
    Tensor *x = embedding(tape, &model->source_table, &model->positions, source, 0, model->config.dropout);
    Stream stream = stream_open(model, tape, stack, x);
    for (int i = 0; i < stack->n_layers; i++) {
        Layer *layer = &stack->layer[i];
        stream_add(model, tape, stack, &stream, self_attention(model, tape, layer, stream.input, &spans, false));
        stream_add(model, tape, stack, &stream, feed_forward(model, tape, layer, stream.input));
    }
    return stream.input;
}

Tensor *model_decode(Model *model, Tape *tape, Tensor *memory, const Ragged *source, const Ragged *target)
{
    const Stack *stack = &model->decoder;
    const Spans source_spans = spans_of(tape, source), target_spans = spans_of(tape, target);
    Tensor *x = embedding(tape, &model->target_table, &model->positions, target, 0, model->config.dropout);
    Stream stream = stream_open(model, tape, stack, x);
    for (int i = 0; i < stack->n_layers; i++) {
        Layer *layer = &stack->layer[i];
        stream_add(model, tape, stack, &stream, self_attention(model, tape, layer, stream.input, &target_spans, true));
        Tensor *kv = project(tape, memory, &layer->cross_input);
        stream_add(model, tape, stack, &stream,
                   cross_attention(model, tape, layer, stream.input, kv, &target_spans, &source_spans));
        stream_add(model, tape, stack, &stream, feed_forward(model, tape, layer, stream.input));
    }
    return stream.input;
}

Tensor *model_logits(Model *model, Tape *tape, Tensor *hidden)
{
    return linear(tape, hidden, &model->output, NULL);
}

/* The sentences, and the same once more behind them: each place has a dropout of its own. */
static Ragged twice(Tape *tape, const Ragged *ragged)
{
    const int n = ragged->n_seq, tokens = ragged->n_tokens;
    int32_t *start = arena_alloc(&tape->arena, (size_t)(2 * n + 1) * sizeof *start);
    int32_t *token = arena_alloc(&tape->arena, 2 * (size_t)tokens * sizeof *token);
    for (int s = 0; s <= n; s++) {
        start[s] = ragged->start[s];
        start[n + s] = tokens + ragged->start[s];
    }
    memcpy(token, ragged->token, (size_t)tokens * sizeof *token);
    memcpy(token + tokens, ragged->token, (size_t)tokens * sizeof *token);
    return (Ragged){.n_seq = 2 * n, .n_tokens = 2 * tokens, .start = start, .token = token};
}

static Tensor *rdrop_loss(Model *model, Tape *tape, const Batch *batch, real scale, LossSums *sums)
{
    const ModelConfig *c = &model->config;
    Ragged *source = arena_alloc(&tape->arena, sizeof *source), *target = arena_alloc(&tape->arena, sizeof *target);
    *source = twice(tape, &batch->source);
    *target = twice(tape, &batch->target);
    Tensor *hidden = model_decode(model, tape, model_encode(model, tape, source), source, target);
    return projection_loss_pairs(tape, hidden, &model->output, batch->label, c->label_smoothing, c->rdrop, scale, sums);
}

Tensor *model_loss(Model *model, Tape *tape, const Batch *batch, real scale, LossSums *sums)
{
    CHECK(batch->source.n_seq == batch->target.n_seq, "%d sources, %d targets", batch->source.n_seq, batch->target.n_seq);
    if (model->config.rdrop > 0 && tape->dropout) return rdrop_loss(model, tape, batch, scale, sums);
    Tensor *memory = model_encode(model, tape, &batch->source);
    Tensor *hidden = model_decode(model, tape, memory, &batch->source, &batch->target);
    return projection_loss(tape, hidden, &model->output, batch->label, model->config.label_smoothing, scale, sums);
}

/* ---- decoding step by step ---- */

static void *keep(DecoderCache *cache, const void *from, size_t bytes)
{
    return memcpy(arena_alloc(&cache->arena, bytes), from, bytes);
}

void model_cache_begin(Model *model, Tape *tape, DecoderCache *cache, const Tensor *memory, const Ragged *source,
                       const int32_t *capacity)
{
    const int n = source->n_seq, d = model->config.d_model, n_layers = model->decoder.n_layers;
    CHECK(!tape->recording, "decoding while recording");
    arena_reset(&cache->arena);
    const Spans spans = spans_of(tape, source);
    cache->n_seq = n;
    cache->first = arena_alloc(&cache->arena, (size_t)n * sizeof(int32_t));
    cache->source_start = keep(cache, spans.start, (size_t)n * sizeof(int32_t));
    cache->source_count = keep(cache, spans.count, (size_t)n * sizeof(int32_t));
    cache->self = arena_alloc(&cache->arena, (size_t)n_layers * sizeof(Tensor));
    cache->cross = arena_alloc(&cache->arena, (size_t)n_layers * sizeof(Tensor));
    int32_t rows = 0;
    for (int s = 0; s < n; s++) {
        cache->first[s] = rows;
        rows += capacity[s];
    }
    for (int i = 0; i < n_layers; i++) {
        size_t row = 2 * (size_t)d * sizeof(real);
        Tensor *kv = project(tape, (Tensor *)memory, &model->decoder.layer[i].cross_input);
        cache->cross[i] = *kv;
        cache->cross[i].value = keep(cache, kv->value, (size_t)kv->rows * row);
        cache->self[i] = (Tensor){.rows = rows, .cols = 2 * d, .stride = 2 * (size_t)d,
                                  .value = arena_alloc(&cache->arena, (size_t)rows * row)};
    }
}

void model_cache_free(DecoderCache *cache)
{
    arena_free(&cache->arena);
}

Tensor *model_decode_step(Model *model, Tape *tape, DecoderCache *cache, int n, const int32_t *sequence,
                          const int32_t *token, int position)
{
    CHECK(!tape->recording, "decoding while recording");
    const Stack *stack = &model->decoder;
    const int d = model->config.d_model;
    /* Each live sentence is one query; its keys lie in the cache. */
    int32_t *start = arena_alloc(&tape->arena, (size_t)(n + 1) * sizeof *start),
            *one = arena_alloc(&tape->arena, (size_t)n * sizeof *one);
    int32_t *first = arena_alloc(&tape->arena, (size_t)n * sizeof *first),
            *seen = arena_alloc(&tape->arena, (size_t)n * sizeof *seen);
    int32_t *source_start = arena_alloc(&tape->arena, (size_t)n * sizeof *source_start);
    int32_t *source_count = arena_alloc(&tape->arena, (size_t)n * sizeof *source_count);
    for (int i = 0; i < n; i++) {
        start[i] = i;
        one[i] = 1;
        first[i] = cache->first[sequence[i]];
        seen[i] = position + 1;
        source_start[i] = cache->source_start[sequence[i]];
        source_count[i] = cache->source_count[sequence[i]];
    }
    start[n] = n;
    const Ragged tokens = {.n_seq = n, .n_tokens = n, .start = start, .token = token};
    const Spans queries = {n, start, one}, keys = {n, first, seen}, sources = {n, source_start, source_count};

    Tensor *x = embedding(tape, &model->target_table, &model->positions, &tokens, position, 0);
    Stream stream = stream_open(model, tape, stack, x);
    for (int i = 0; i < stack->n_layers; i++) {
        Layer *layer = &stack->layer[i];
        Tensor *qkv = project(tape, stream.input, &layer->self_input), *kv = &cache->self[i];
        for (int s = 0; s < n; s++)
            memcpy(kv->value + (size_t)(first[s] + position) * kv->stride, qkv->value + (size_t)s * qkv->stride + d,
                   2 * (size_t)d * sizeof(real));
        Tensor *y = attention(tape, tape_columns(tape, qkv, 0, d), tape_columns(tape, kv, 0, d),
                              tape_columns(tape, kv, d, d), &queries, &keys, model->config.heads, true, 0);
        stream_add(model, tape, stack, &stream, project(tape, y, &layer->self_output));
        stream_add(model, tape, stack, &stream,
                   cross_attention(model, tape, layer, stream.input, &cache->cross[i], &queries, &sources));
        stream_add(model, tape, stack, &stream, feed_forward(model, tape, layer, stream.input));
    }
    return stream.input;
}
