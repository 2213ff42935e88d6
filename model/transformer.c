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
static Tensor *cross_attention(const Model *model, Tape *tape, Layer *layer, Tensor *query, Tensor *kv, const Spans *target,
                               const Spans *source)
{
    const int d = model->config.d_model;
    Tensor *y = attention(tape, query, tape_columns(tape, kv, 0, d), tape_columns(tape, kv, d, d), target, source,
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
    Tensor *x = embedding(tape, &model->source_table, source, 0, model->config.dropout);
    Stream stream = stream_open(model, tape, stack, x);
    for (int i = 0; i < stack->n_layers; i++) {
        Layer *layer = &stack->layer[i];
        stream_add(model, tape, stack, &stream, self_attention(model, tape, layer, stream.input, &spans, false));
        stream_add(model, tape, stack, &stream, feed_forward(model, tape, layer, stream.input));
    }
    return stream.input;
}

Tensor *model_decode_watched(Model *model, Tape *tape, Tensor *memory, const Ragged *source, const Ragged *target,
                             CrossAttention *watched)
{
    const Stack *stack = &model->decoder;
    const Spans source_spans = spans_of(tape, source), target_spans = spans_of(tape, target);
    Tensor *x = embedding(tape, &model->target_table, target, 0, model->config.dropout);
    Stream stream = stream_open(model, tape, stack, x);
    for (int i = 0; i < stack->n_layers; i++) {
        Layer *layer = &stack->layer[i];
        stream_add(model, tape, stack, &stream, self_attention(model, tape, layer, stream.input, &target_spans, true));
        Tensor *kv = project(tape, memory, &layer->cross_input);
        Tensor *query = project(tape, stream.input, &layer->cross_query);
        if (watched) watched[i] = (CrossAttention){query, tape_columns(tape, kv, 0, model->config.d_model)};
        stream_add(model, tape, stack, &stream,
                   cross_attention(model, tape, layer, query, kv, &target_spans, &source_spans));
        stream_add(model, tape, stack, &stream, feed_forward(model, tape, layer, stream.input));
    }
    return stream.input;
}

Tensor *model_decode(Model *model, Tape *tape, Tensor *memory, const Ragged *source, const Ragged *target)
{
    return model_decode_watched(model, tape, memory, source, target, NULL);
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

/* A cache begins with memory for translations that are this much longer than their sources, and at most (if there is memory
 * from earlier batches) this long. */
enum { MORE_ROOM = 8, MOST_ROOM = 1024 };

enum { ENCODED_TOKENS = 1024 }; /* at a time */

/* Let slots have `room` positions each: the layers' parts of the block. */
static void cache_lay_out(DecoderCache *cache, const Model *model, real *block, int room)
{
    const size_t row = 2 * (size_t)model->config.d_model, rows = (size_t)cache->n_seq * (size_t)cache->width * (size_t)room;
    CHECK(rows <= INT32_MAX, "%zu positions in the cache", rows);
    for (int i = 0; i < model->decoder.n_layers; i++)
        cache->self[i] = (Tensor){.rows = (int)rows, .cols = (int)row, .stride = row, .value = block + (size_t)i * rows * row};
    cache->room = room;
}

/* The size of the block with one position a slot */
static size_t cache_unit(const DecoderCache *cache, const Model *model)
{
    return (size_t)model->decoder.n_layers * (size_t)cache->n_seq * (size_t)cache->width * 2 * (size_t)model->config.d_model;
}

/* Give each slot memory for twice as many positions; those that are there stay. */
static void cache_grow(DecoderCache *cache, const Model *model)
{
    const int n_layers = model->decoder.n_layers, room = cache->room;
    const size_t slot = (size_t)room * 2 * (size_t)model->config.d_model, size = 2 * (size_t)room * cache_unit(cache, model);
    real *block = mem_alloc(size * sizeof(real));
    /* From layer to layer the slots of all sentences follow one another, each twice as far from the beginning as it was. */
    for (size_t i = 0; i < (size_t)n_layers * (size_t)cache->n_seq * (size_t)cache->width; i++)
        memcpy(block + 2 * i * slot, cache->block + i * slot, slot * sizeof(real));
    mem_free(cache->block);
    cache->block = block;
    cache->block_size = size;
    cache_lay_out(cache, model, block, 2 * room);
}

/* Sentences first .. end - 1 of `source`, in the tape's arena. */
static Ragged part_of(Tape *tape, const Ragged *source, int first, int end)
{
    const int32_t offset = source->start[first];
    int32_t *start = arena_alloc(&tape->arena, (size_t)(end - first + 1) * sizeof *start);
    for (int s = first; s <= end; s++) start[s - first] = source->start[s] - offset;
    return (Ragged){.n_seq = end - first, .n_tokens = start[end - first], .start = start, .token = source->token + offset};
}

/* The cross keys and values of all layers. The encoder's own memory is for a part of the sentences at a time. */
static void cache_encode(Model *model, Tape *tape, DecoderCache *cache, const Ragged *source)
{
    const size_t row = 2 * (size_t)model->config.d_model;
    for (int i = 0; i < model->decoder.n_layers; i++)
        cache->cross[i] = (Tensor){.rows = source->n_tokens, .cols = (int)row, .stride = row,
                                   .value = arena_alloc(&cache->arena, (size_t)source->n_tokens * row * sizeof(real))};
    for (int first = 0, end; first < source->n_seq; first = end) {
        end = first + 1;
        while (end < source->n_seq && source->start[end + 1] - source->start[first] <= ENCODED_TOKENS) end++;
        tape_begin(tape, false);
        const Ragged part = part_of(tape, source, first, end);
        Tensor *memory = model_encode(model, tape, &part);
        for (int i = 0; i < model->decoder.n_layers; i++) {
            const Tensor *kv = project(tape, memory, &model->decoder.layer[i].cross_input);
            memcpy(cache->cross[i].value + (size_t)source->start[first] * row, kv->value,
                   (size_t)kv->rows * row * sizeof(real));
        }
    }
}

void model_cache_begin(Model *model, Tape *tape, DecoderCache *cache, const Ragged *source, int width)
{
    const size_t n_layers = (size_t)model->decoder.n_layers, n = (size_t)source->n_seq;
    arena_reset(&cache->arena);
    cache->n_seq = source->n_seq;
    cache->width = width;
    cache->source_start = arena_alloc(&cache->arena, n * sizeof *cache->source_start);
    cache->source_count = arena_alloc(&cache->arena, n * sizeof *cache->source_count);
    cache->self = arena_alloc(&cache->arena, n_layers * sizeof *cache->self);
    cache->cross = arena_alloc(&cache->arena, n_layers * sizeof *cache->cross);
    int longest = 0;
    for (int s = 0; s < source->n_seq; s++) {
        cache->source_start[s] = source->start[s];
        cache->source_count[s] = source->start[s + 1] - source->start[s];
        if (cache->source_count[s] > longest) longest = cache->source_count[s];
    }
    cache_encode(model, tape, cache, source);
    const size_t unit = cache_unit(cache, model), wanted = (size_t)(longest + MORE_ROOM) * unit;
    if (cache->block_size < wanted) {
        mem_free(cache->block);
        cache->block_size = wanted;
        cache->block = mem_alloc(cache->block_size * sizeof(real));
    }
    const size_t room = cache->block_size / unit;
    cache_lay_out(cache, model, cache->block, room < MOST_ROOM ? (int)room : MOST_ROOM);
}

void model_cache_copy(DecoderCache *cache, const Model *model, int from, int to, int first, int last)
{
    for (int i = 0; i < model->decoder.n_layers; i++) {
        const Tensor *kv = &cache->self[i];
        const size_t room = (size_t)cache->room, to_row = (size_t)to * room + (size_t)first;
        memcpy(kv->value + to_row * kv->stride, kv->value + ((size_t)from * room + (size_t)first) * kv->stride,
               (size_t)(last - first) * kv->stride * sizeof(real));
    }
}

void model_cache_free(DecoderCache *cache)
{
    mem_free(cache->block);
    arena_free(&cache->arena);
    *cache = (DecoderCache){0};
}

/* What each of the n rows of a step attends to: one query a row for self-attention; for cross-attention, whose keys the
 * hypotheses of a sentence share, one span of queries a sentence. */
typedef struct StepSpans {
    Spans queries, keys, groups, sources;
    Ragged tokens;
} StepSpans;

static StepSpans step_spans(Tape *tape, const DecoderCache *cache, int n, const int32_t *slot, const int32_t *token,
                            int position)
{
    int32_t *block = arena_alloc(&tape->arena, (8 * (size_t)n + 1) * sizeof *block);
    int32_t *one = block, *first = one + n, *seen = first + n, *group = seen + n, *size = group + n, *source = size + n,
            *n_source = source + n, *start = n_source + n, n_groups = 0;
    for (int i = 0; i < n; i++) {
        const int sentence = slot[i] / cache->width;
        start[i] = i;
        one[i] = 1;
        first[i] = slot[i] * cache->room;
        seen[i] = position + 1;
        if (i && sentence == slot[i - 1] / cache->width) {
            size[n_groups - 1]++;
            continue;
        }
        group[n_groups] = i;
        size[n_groups] = 1;
        source[n_groups] = cache->source_start[sentence];
        n_source[n_groups++] = cache->source_count[sentence];
    }
    start[n] = n;
    return (StepSpans){
        .queries = {n, start, one}, .keys = {n, first, seen},
        .groups = {n_groups, group, size}, .sources = {n_groups, source, n_source},
        .tokens = {.n_seq = n, .n_tokens = n, .start = start, .token = token},
    };
}

Tensor *model_decode_step(Model *model, Tape *tape, DecoderCache *cache, int n, const int32_t *slot, const int32_t *token,
                          int position)
{
    CHECK(!tape->recording, "decoding while recording");
    const Stack *stack = &model->decoder;
    const int d = model->config.d_model;
    if (position >= cache->room) cache_grow(cache, model);
    const StepSpans spans = step_spans(tape, cache, n, slot, token, position);
    Tensor *x = embedding(tape, &model->target_table, &spans.tokens, position, 0);
    Stream stream = stream_open(model, tape, stack, x);
    for (int i = 0; i < stack->n_layers; i++) {
        Layer *layer = &stack->layer[i];
        Tensor *qkv = project(tape, stream.input, &layer->self_input), *kv = &cache->self[i];
        for (int row = 0; row < n; row++)
            memcpy(kv->value + (size_t)(spans.keys.start[row] + position) * kv->stride,
                   qkv->value + (size_t)row * qkv->stride + d, 2 * (size_t)d * sizeof(real));
        Tensor *y = attention(tape, tape_columns(tape, qkv, 0, d), tape_columns(tape, kv, 0, d),
                              tape_columns(tape, kv, d, d), &spans.queries, &spans.keys, model->config.heads, true, 0);
        stream_add(model, tape, stack, &stream, project(tape, y, &layer->self_output));
        Tensor *query = project(tape, stream.input, &layer->cross_query);
        stream_add(model, tape, stack, &stream,
                   cross_attention(model, tape, layer, query, &cache->cross[i], &spans.groups, &spans.sources));
        stream_add(model, tape, stack, &stream, feed_forward(model, tape, layer, stream.input));
    }
    return stream.input;
}
