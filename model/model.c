#include "model/model.h"

#include <math.h>
#include <stdio.h>

#include "core/error.h"
#include "core/memory.h"

static int declare(Params *params, int n_dims, int rows, int cols, Init init, double scale, const char *prefix,
                   const char *part, const char *suffix)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s%s", prefix, part, suffix);
    return params_declare(params, n_dims, rows, cols, init, scale, name);
}

/* n_parts projections of [out, in] each, declared weights first, then biases, multiplied by as one matrix. */
static void add_linear(Params *params, Linear *linear, int n_parts, int fan_parts, int out, int in, const char *prefix,
                       const char *const *parts)
{
    double bound = sqrt(6.0 / (fan_parts * out + in));
    int weight = params->n;
    for (int p = 0; p < n_parts; p++) declare(params, 2, out, in, INIT_UNIFORM, bound, prefix, parts[p], ".weight");
    int bias = params->n;
    for (int p = 0; p < n_parts; p++) declare(params, 1, 1, out, INIT_ZEROS, 0, prefix, parts[p], ".bias");
    params_bind(params, &linear->weight, weight, n_parts * out, in);
    params_bind(params, &linear->bias, bias, 1, n_parts * out);
}

static void add_norm(Params *params, Norm *norm, int d_model, const char *prefix, const char *part)
{
    params_bind(params, &norm->gain, declare(params, 1, 1, d_model, INIT_ONES, 0, prefix, part, ".weight"), 1, d_model);
    params_bind(params, &norm->bias, declare(params, 1, 1, d_model, INIT_ZEROS, 0, prefix, part, ".bias"), 1, d_model);
}

static void add_layer(Params *params, const ModelConfig *c, Layer *layer, bool cross, const char *prefix)
{
    static const char *const self_qkv[] = {"self_attention.query", "self_attention.key", "self_attention.value"};
    static const char *const self_output[] = {"self_attention.output"};
    static const char *const cross_query[] = {"cross_attention.query"};
    static const char *const cross_kv[] = {"cross_attention.key", "cross_attention.value"};
    static const char *const cross_output[] = {"cross_attention.output"};
    static const char *const ff_input[] = {"feed_forward.input"}, *const ff_output[] = {"feed_forward.output"};
    const int d = c->d_model;
    add_linear(params, &layer->self_qkv, 3, 3, d, d, prefix, self_qkv);
    add_linear(params, &layer->self_output, 1, 1, d, d, prefix, self_output);
    if (cross) {
        add_linear(params, &layer->cross_query, 1, 3, d, d, prefix, cross_query);
        add_linear(params, &layer->cross_kv, 2, 3, d, d, prefix, cross_kv);
        add_linear(params, &layer->cross_output, 1, 1, d, d, prefix, cross_output);
    }
    add_linear(params, &layer->ff_input, 1, 1, c->d_ff, d, prefix, ff_input);
    add_linear(params, &layer->ff_output, 1, 1, d, c->d_ff, prefix, ff_output);
}

static void add_stack(Params *params, const ModelConfig *c, Stack *stack, int n_layers, bool decoder)
{
    static const char *const encoder_norms[] = {"self_attention_norm", "feed_forward_norm"};
    static const char *const decoder_norms[] = {"self_attention_norm", "cross_attention_norm", "feed_forward_norm"};
    const char *const *norms = decoder ? decoder_norms : encoder_norms, *name = decoder ? "decoder" : "encoder";
    const int per_layer = decoder ? 3 : 2;
    stack->n_layers = n_layers;
    stack->n_sublayers = n_layers * per_layer;
    stack->layer = mem_zalloc((size_t)n_layers * sizeof *stack->layer);
    stack->norm = mem_zalloc((size_t)(stack->n_sublayers + 1) * sizeof *stack->norm);
    for (int i = 0; i < n_layers; i++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "%s.%d.", name, i);
        add_layer(params, c, &stack->layer[i], decoder, prefix);
        for (int s = 0; s < per_layer; s++) add_norm(params, &stack->norm[i * per_layer + s], c->d_model, prefix, norms[s]);
    }
    if (c->norm == MODEL_PRE_NORM) add_norm(params, &stack->norm[stack->n_sublayers], c->d_model, name, ".norm");
}

static void add_embeddings(Params *params, const ModelConfig *c, Model *model)
{
    static const char *const names[3][3] = {
        [MODEL_TIE_NONE] = {"source_embedding", "target_embedding", "output_projection"},
        [MODEL_TIE_DECODER] = {"source_embedding", "target_embedding", NULL},
        [MODEL_TIE_ALL] = {"embedding", NULL, NULL},
    };
    Tensor *tensors[3] = {&model->source_table, &model->target_table, &model->output};
    const double scale = 1 / sqrt((double)c->d_model);
    for (int i = 0, index = 0; i < 3; i++) {
        if (names[c->tie][i])
            index = declare(params, 2, c->vocab_size, c->d_model, INIT_NORMAL, scale, "", names[c->tie][i], ".weight");
        params_bind(params, tensors[i], index, c->vocab_size, c->d_model);
    }
}

Model *model_new(const ModelConfig *config, bool gradients)
{
    CHECK(config->d_model % config->heads == 0, "%d heads, d_model %d", config->heads, config->d_model);
    Model *model = mem_zalloc(sizeof *model);
    model->config = *config;
    model->compute = compute_best();
    add_embeddings(&model->params, config, model);
    add_stack(&model->params, config, &model->encoder, config->encoder_layers, false);
    add_stack(&model->params, config, &model->decoder, config->decoder_layers, true);
    params_allocate(&model->params, gradients);
    return model;
}

void model_init(Model *model, uint64_t seed)
{
    params_init(&model->params, seed);
}

static void free_stack(Stack *stack)
{
    mem_free(stack->layer);
    mem_free(stack->norm);
}

void model_free(Model *model)
{
    if (!model) return;
    free_stack(&model->encoder);
    free_stack(&model->decoder);
    params_free(&model->params);
    mem_free(model->packed);
    mem_free(model->packed_memory);
    mem_free(model);
}

/* All weight matrices that are multiplied by, in turn; NULL after the last. */
static Tensor *weight(Model *model, int index)
{
    if (index-- == 0) return &model->output;
    for (int decoder = 0; decoder <= 1; decoder++) {
        const Stack *stack = decoder ? &model->decoder : &model->encoder;
        for (int i = 0; i < stack->n_layers; i++) {
            Layer *l = &stack->layer[i];
            Tensor *all[] = {&l->self_qkv.weight, &l->self_output.weight, &l->ff_input.weight, &l->ff_output.weight,
                             &l->cross_query.weight, &l->cross_kv.weight, &l->cross_output.weight};
            int n = decoder ? 7 : 4;
            if (index < n) return all[index];
            index -= n;
        }
    }
    return NULL;
}

/* NOLINTBEGIN(clang-analyzer-core.NullDereference): &model->output is never NULL */
void model_freeze(Model *model, Precision precision)
{
    model_thaw(model);
    size_t size = 0;
    int n = 0;
    for (const Tensor *t; (t = weight(model, n)); n++) size += matmul_weights_size(&model->compute, precision, t->rows, t->cols);
    model->packed_memory = mem_alloc(size);
    model->packed = mem_alloc((size_t)n * sizeof *model->packed);
    char *at = model->packed_memory;
    for (int i = 0; i < n; i++) {
        Tensor *w = weight(model, i);
        model->packed[i] = matmul_pack_weights(&model->compute, precision, w->rows, w->cols, w->value, w->stride, at);
        w->packed = &model->packed[i];
        at += matmul_weights_size(&model->compute, precision, w->rows, w->cols);
    }
}

void model_thaw(Model *model)
{
    Tensor *w;
    for (int i = 0; (w = weight(model, i)); i++) w->packed = NULL;
    mem_free(model->packed);
    mem_free(model->packed_memory);
    model->packed = NULL;
    model->packed_memory = NULL;
}
/* NOLINTEND(clang-analyzer-core.NullDereference) */
