/* The kernels of the engine (kernels.def), in the version for this CPU's instruction set. */
#ifndef FERRY_CORE_KERNELS_H
#define FERRY_CORE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/attention.h"
#include "core/random.h"
#include "core/real.h"

enum { RANDOM_GROUP = 128 };

#define LAYER_NORM_EPSILON ((real)1e-5) /* PyTorch's default */

/* A dropout mask: element e is 0 if the e-th 16-bit number of the stream is below `threshold`, else `keep_scale`. */
typedef struct Dropout {
    RandomStream stream;
    uint32_t threshold; /* probability * 65536; 0: no dropout */
    real keep_scale;    /* 1 / (1 - threshold / 65536) */
} Dropout;

/* The constants of one step t of Adam. */
typedef struct AdamStep {
    real gradient_scale; /* from clipping; 1 if none */
    real beta1, beta2;
    real gain1, gain2; /* 1 - beta, which a beta close to 1 no longer shows once it is rounded to a real */
    real rate;    /* learning rate / (1 - beta1^t) */
    real v_scale; /* 1 / sqrt(1 - beta2^t) */
    real epsilon;
    real decay;    /* of the weights: learning rate * weight decay */
    real ema_rate; /* of the moving average: 1 - its decay */
} AdamStep;

typedef struct Kernels {
    const char *name; /* "avx512", "avx2", "base" */
    int lanes;        /* elements of a vector */
    int panel;        /* columns of a packed panel of B that matmul_block likes best */
    const struct Unit *plain_int8; /* int8_block as a unit (core/units.h); NULL in fp64 */
#define KERNEL(result, name, parameters) result(*name) parameters;
#include "core/kernels.def"
#undef KERNEL
} Kernels;

/* The sets that run on this CPU, best first; NULL after the last. */
const Kernels *kernels_get(int index);
/* The one of that name; NULL if this build or CPU has none. */
const Kernels *kernels_named(const char *name);

#endif
