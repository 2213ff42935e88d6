#include "model/transformer.h"

#include <string.h>

#include "model/layers.h"

Tensor *transformer_encode(Model *model, Tape *tape, const Ragged *source)
{
    const Stack *stack = &model->encoder;
    const Spans spans = spans_of(tape, source);
    Tensor *x = embedding(tape, &model->source_table, source, 0, model->config.dropout);
    Stream stream = layers_begin(model, tape, stack, x);
    for (int i = 0; i < stack->n_layers; i++) {
        Layer *layer = &stack->layer[i];
        layers_add(model, tape, stack, &stream, layers_self_attention(model, tape, layer, stream.input, &spans, false));
        layers_add(model, tape, stack, &stream, layers_feed_forward(model, tape, layer, stream.input));
    }
    return stream.input;
}

Tensor *transformer_decode_watched(Model *model, Tape *tape, Tensor *memory, const Ragged *source, const Ragged *target,
                             CrossAttention *watched)
{
    const Stack *stack = &model->decoder;
    const Spans source_spans = spans_of(tape, source), target_spans = spans_of(tape, target);
    Tensor *x = embedding(tape, &model->target_table, target, 0, model->config.dropout);
    Stream stream = layers_begin(model, tape, stack, x);
    for (int i = 0; i < stack->n_layers; i++) {
        Layer *layer = &stack->layer[i];
        layers_add(model, tape, stack, &stream, layers_self_attention(model, tape, layer, stream.input, &target_spans, true));
        Tensor *kv = layers_project(tape, memory, &layer->cross_kv);
        Tensor *query = layers_project(tape, stream.input, &layer->cross_query);
        if (watched) watched[i] = (CrossAttention){query, tape_columns(tape, kv, 0, model->config.d_model)};
        layers_add(model, tape, stack, &stream,
                   layers_cross_attention(model, tape, layer, query, kv, &target_spans, &source_spans));
        layers_add(model, tape, stack, &stream, layers_feed_forward(model, tape, layer, stream.input));
    }
    return stream.input;
}

Tensor *transformer_decode(Model *model, Tape *tape, Tensor *memory, const Ragged *source, const Ragged *target)
{
    return transformer_decode_watched(model, tape, memory, source, target, NULL);
}

Tensor *transformer_logits(Model *model, Tape *tape, Tensor *hidden)
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
    Tensor *hidden = transformer_decode(model, tape, transformer_encode(model, tape, source), source, target);
    return projection_loss_pairs(tape, hidden, &model->output, batch->label, c->label_smoothing, c->rdrop, scale, sums);
}

Tensor *transformer_loss(Model *model, Tape *tape, const Batch *batch, real scale, LossSums *sums)
{
    CHECK(batch->source.n_seq == batch->target.n_seq, "%d sources, %d targets", batch->source.n_seq, batch->target.n_seq);
    if (model->config.rdrop > 0 && tape->dropout) return rdrop_loss(model, tape, batch, scale, sums);
    Tensor *memory = transformer_encode(model, tape, &batch->source);
    Tensor *hidden = transformer_decode(model, tape, memory, &batch->source, &batch->target);
    return projection_loss(tape, hidden, &model->output, batch->label, model->config.label_smoothing, scale, sums);
}
