/* Parameters: all values in one contiguous block, all gradients in another, in the order of declaration and without gaps. So
 * the optimizer, the norm of the gradient, averages and checkpoints are flat loops, and parameters declared one after the
 * other (query, key, value) can be multiplied by as one matrix. */
#ifndef FERRY_AUTOGRAD_PARAMS_H
#define FERRY_AUTOGRAD_PARAMS_H

#include "autograd/tape.h"

typedef enum Init { INIT_ZEROS, INIT_ONES, INIT_NORMAL, INIT_UNIFORM } Init;

typedef struct Param {
    char *name; /* "encoder.0.self_attention.query.weight" */
    int n_dims; /* 1: [cols], 2: [rows, cols] */
    int rows, cols;
    size_t offset; /* of its first element in the block */
    Init init;
    double init_scale; /* standard deviation, or the bound of the uniform distribution */
} Param;

typedef struct Params {
    Param *param; /* [n] */
    int n, capacity;
    size_t size;        /* elements in all */
    real *value, *grad; /* [size]; NULL before params_allocate; grad NULL for inference */
    struct ParamBinding *binding;
    int n_bindings, binding_capacity;
} Params;

/* Declare a parameter; the name is copied. Returns its index. */
int params_declare(Params *params, int n_dims, int rows, int cols, Init init, double init_scale, const char *name);

/* Let params_allocate make `tensor` the [rows, cols] matrix that starts with parameter `first`, and may span those after it.
 */
void params_bind(Params *params, Tensor *tensor, int first, int rows, int cols);

/* Take the memory (gradients, zero, only if asked for) and set the bound tensors. Values are uninitialized. */
void params_allocate(Params *params, bool gradients);

/* Initial values: each parameter's are a function of (seed, its index, the element). */
void params_init(Params *params, uint64_t seed);

void params_free(Params *params);

#endif
