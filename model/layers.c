#include "model/layers.h"

Stream layers_begin(const Model *model, Tape *tape, const Stack *stack, Tensor *x)
{
    Stream stream = {.sum = x, .input = x};
    if (model->config.norm == MODEL_PRE_NORM) stream.input = layer_norm(tape, x, &stack->norm[0].gain, &stack->norm[0].bias);
    return stream;
}

void layers_add(const Model *model, Tape *tape, const Stack *stack, Stream *stream, Tensor *output)
{
    const bool pre = model->config.norm == MODEL_PRE_NORM;
    Norm *norm = &stack->norm[stream->n_done + pre];
    Tensor *sum;
    stream->input = residual_norm(tape, stream->sum, output, &norm->gain, &norm->bias, model->config.dropout, &sum);
    stream->sum = pre ? sum : stream->input;
    stream->n_done++;
}

Tensor *layers_project(Tape *tape, Tensor *x, Linear *layer)
{
    return linear(tape, x, &layer->weight, &layer->bias);
}

Tensor *layers_self_attention(const Model *model, Tape *tape, Layer *layer, Tensor *x, const Spans *spans, bool causal)
{
    const int d = model->config.d_model;
    Tensor *qkv = layers_project(tape, x, &layer->self_qkv);
    Tensor *y =
        attention(tape, tape_columns(tape, qkv, 0, d), tape_columns(tape, qkv, d, d), tape_columns(tape, qkv, 2 * d, d),
                  spans, spans, model->config.heads, causal, model->config.attention_dropout);
    return layers_project(tape, y, &layer->self_output);
}

Tensor *layers_cross_attention(const Model *model, Tape *tape, Layer *layer, Tensor *query, Tensor *kv, const Spans *target,
                               const Spans *source)
{
    const int d = model->config.d_model;
    Tensor *y = attention(tape, query, tape_columns(tape, kv, 0, d), tape_columns(tape, kv, d, d), target, source,
                          model->config.heads, false, model->config.attention_dropout);
    return layers_project(tape, y, &layer->cross_output);
}

Tensor *layers_feed_forward(const Model *model, Tape *tape, Layer *layer, Tensor *x)
{
    Tensor *hidden =
        activation(tape, layers_project(tape, x, &layer->ff_input), model->config.activation, model->config.activation_dropout);
    return layers_project(tape, hidden, &layer->ff_output);
}
