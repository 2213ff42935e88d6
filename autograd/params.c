#include "autograd/params.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/random.h"

typedef struct ParamBinding {
    Tensor *tensor;
    int first, rows, cols;
} ParamBinding;

int params_declare(Params *params, int n_dims, int rows, int cols, Init init, double init_scale, const char *name)
{
    CHECK(!params->value, "%s declared after the memory was taken", name);
    ARRAY_RESERVE(params->param, params->n, params->capacity);
    params->param[params->n] = (Param){.name = mem_string(name), .n_dims = n_dims, .rows = rows, .cols = cols,
                                       .offset = params->size, .init = init, .init_scale = init_scale};
    params->size += (size_t)rows * (size_t)cols;
    return params->n++;
}

void params_bind(Params *params, Tensor *tensor, int first, int rows, int cols)
{
    ARRAY_RESERVE(params->binding, params->n_bindings, params->binding_capacity);
    params->binding[params->n_bindings++] = (ParamBinding){.tensor = tensor, .first = first, .rows = rows, .cols = cols};
}

void params_allocate(Params *params, bool gradients)
{
    params->value = mem_alloc(params->size * sizeof(real));
    if (gradients) params->grad = mem_zalloc(params->size * sizeof(real));
    for (int i = 0; i < params->n_bindings; i++) {
        const ParamBinding *b = &params->binding[i];
        size_t offset = params->param[b->first].offset;
        *b->tensor = (Tensor){.rows = b->rows, .cols = b->cols, .stride = (size_t)b->cols, .value = params->value + offset,
                              .grad = gradients ? params->grad + offset : NULL};
    }
}

static real initial(const Param *param, const RandomStream *stream, size_t i)
{
    switch (param->init) {
    case INIT_ZEROS: return 0;
    case INIT_ONES: return 1;
    case INIT_NORMAL: return (real)(param->init_scale * random_normal(stream, i));
    case INIT_UNIFORM: return (real)(param->init_scale * (2 * random_uniform(stream, i) - 1));
    }
    return 0;
}

void params_init(Params *params, uint64_t seed)
{
    for (int p = 0; p < params->n; p++) {
        const Param *param = &params->param[p];
        const RandomStream stream = random_stream(seed, RANDOM_INIT, (uint32_t)p, 0);
        real *value = params->value + param->offset;
        const size_t n = (size_t)param->rows * (size_t)param->cols;
#pragma omp parallel for schedule(static) if (n > 4096)
        for (size_t i = 0; i < n; i++) value[i] = initial(param, &stream, i);
    }
}

void params_free(Params *params)
{
    for (int i = 0; i < params->n; i++) mem_free(params->param[i].name);
    mem_free(params->param);
    mem_free(params->binding);
    mem_free(params->value);
    mem_free(params->grad);
    *params = (Params){0};
}
