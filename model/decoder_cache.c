#include "model/decoder_cache.h"

#include <string.h>

#include "core/error.h"
#include "model/layers.h"
#include "model/transformer.h"

/* A cache begins with memory for translations that are this much longer than their sources, and at most (if there is memory
 * from earlier batches) this long. */
enum { MORE_CAPACITY = 8, MOST_CAPACITY = 1024 };

enum { ENCODED_TOKENS = 1024 }; /* at a time */

/* Let slots have `capacity` positions each: the layers' parts of the block. */
static void cache_lay_out(DecoderCache *cache, const Model *model, real *block, int capacity)
{
    const size_t row = 2 * (size_t)model->config.d_model, rows = (size_t)cache->n_seq * (size_t)cache->beam_size * (size_t)capacity;
    CHECK(rows <= INT32_MAX, "%zu positions in the cache", rows);
    for (int i = 0; i < model->decoder.n_layers; i++)
        cache->self[i] = (Tensor){.rows = (int)rows, .cols = (int)row, .stride = row, .value = block + (size_t)i * rows * row};
    cache->capacity = capacity;
}

/* The size of the block with one position a slot */
static size_t cache_unit(const DecoderCache *cache, const Model *model)
{
    return (size_t)model->decoder.n_layers * (size_t)cache->n_seq * (size_t)cache->beam_size * 2 * (size_t)model->config.d_model;
}

/* Give each slot memory for twice as many positions; those that are there stay. */
static void cache_grow(DecoderCache *cache, const Model *model)
{
    const int n_layers = model->decoder.n_layers, capacity = cache->capacity;
    const size_t slot = (size_t)capacity * 2 * (size_t)model->config.d_model, size = 2 * (size_t)capacity * cache_unit(cache, model);
    real *block = mem_alloc(size * sizeof(real));
    /* From layer to layer the slots of all sentences follow one another, each twice as far from the beginning as it was. */
    for (size_t i = 0; i < (size_t)n_layers * (size_t)cache->n_seq * (size_t)cache->beam_size; i++)
        memcpy(block + 2 * i * slot, cache->block + i * slot, slot * sizeof(real));
    mem_free(cache->block);
    cache->block = block;
    cache->block_size = size;
    cache_lay_out(cache, model, block, 2 * capacity);
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
        Tensor *memory = transformer_encode(model, tape, &part);
        for (int i = 0; i < model->decoder.n_layers; i++) {
            const Tensor *kv = layers_project(tape, memory, &model->decoder.layer[i].cross_kv);
            memcpy(cache->cross[i].value + (size_t)source->start[first] * row, kv->value,
                   (size_t)kv->rows * row * sizeof(real));
        }
    }
}

void decoder_cache_begin(Model *model, Tape *tape, DecoderCache *cache, const Ragged *source, int beam_size)
{
    const size_t n_layers = (size_t)model->decoder.n_layers, n = (size_t)source->n_seq;
    arena_reset(&cache->arena);
    cache->n_seq = source->n_seq;
    cache->beam_size = beam_size;
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
    const size_t unit = cache_unit(cache, model), wanted = (size_t)(longest + MORE_CAPACITY) * unit;
    if (cache->block_size < wanted) {
        mem_free(cache->block);
        cache->block_size = wanted;
        cache->block = mem_alloc(cache->block_size * sizeof(real));
    }
    const size_t capacity = cache->block_size / unit;
    cache_lay_out(cache, model, cache->block, capacity < MOST_CAPACITY ? (int)capacity : MOST_CAPACITY);
}

void decoder_cache_copy(DecoderCache *cache, const Model *model, int from, int to, int first, int last)
{
    for (int i = 0; i < model->decoder.n_layers; i++) {
        const Tensor *kv = &cache->self[i];
        const size_t capacity = (size_t)cache->capacity, to_row = (size_t)to * capacity + (size_t)first;
        memcpy(kv->value + to_row * kv->stride, kv->value + ((size_t)from * capacity + (size_t)first) * kv->stride,
               (size_t)(last - first) * kv->stride * sizeof(real));
    }
}

void decoder_cache_free(DecoderCache *cache)
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
        const int sentence = slot[i] / cache->beam_size;
        start[i] = i;
        one[i] = 1;
        first[i] = slot[i] * cache->capacity;
        seen[i] = position + 1;
        if (i && sentence == slot[i - 1] / cache->beam_size) {
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

Tensor *decoder_cache_step(Model *model, Tape *tape, DecoderCache *cache, int n, const int32_t *slot, const int32_t *token,
                          int position)
{
    CHECK(!tape->recording, "decoding while recording");
    const Stack *stack = &model->decoder;
    const int d = model->config.d_model;
    if (position >= cache->capacity) cache_grow(cache, model);
    const StepSpans spans = step_spans(tape, cache, n, slot, token, position);
    Tensor *x = embedding(tape, &model->target_table, &spans.tokens, position, 0);
    Stream stream = layers_begin(model, tape, stack, x);
    for (int i = 0; i < stack->n_layers; i++) {
        Layer *layer = &stack->layer[i];
        Tensor *qkv = layers_project(tape, stream.input, &layer->self_qkv), *kv = &cache->self[i];
        for (int row = 0; row < n; row++)
            memcpy(kv->value + (size_t)(spans.keys.start[row] + position) * kv->stride,
                   qkv->value + (size_t)row * qkv->stride + d, 2 * (size_t)d * sizeof(real));
        Tensor *y = attention(tape, tape_columns(tape, qkv, 0, d), tape_columns(tape, kv, 0, d),
                              tape_columns(tape, kv, d, d), &spans.queries, &spans.keys, model->config.heads, true, 0);
        layers_add(model, tape, stack, &stream, layers_project(tape, y, &layer->self_output));
        Tensor *query = layers_project(tape, stream.input, &layer->cross_query);
        layers_add(model, tape, stack, &stream,
                   layers_cross_attention(model, tape, layer, query, &cache->cross[i], &spans.groups, &spans.sources));
        layers_add(model, tape, stack, &stream, layers_feed_forward(model, tape, layer, stream.input));
    }
    return stream.input;
}
