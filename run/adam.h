/* Adam (Kingma and Ba 2015, algorithm 1) over the flat block of all parameters, with decoupled weight decay (Loshchilov and
 * Hutter 2019, algorithm 2) and an exponential moving average of the weights, all in one pass; and the norm of the gradient. */
#ifndef FERRY_RUN_ADAM_H
#define FERRY_RUN_ADAM_H

#include "autograd/params.h"

typedef struct Adam {
    const Kernels *kernels; /* what computes: the best after adam_init, or what the owner sets */
    double beta1, beta2, epsilon;
    double weight_decay; /* a step takes learning rate * weight_decay of each weight off it; 0 after adam_init */
    double ema_decay;    /* of the moving average, once it is at its highest: see adam_start_ema */
    int64_t step;        /* updates made */
    size_t size;         /* elements of m, v and ema */
    real *m, *v;         /* running means of the gradient and its square; owned */
    real *ema;           /* moving average of the weights, NULL if none is kept; owned */
} Adam;

void adam_init(Adam *adam, size_t size, double beta1, double beta2, double epsilon);
void adam_free(Adam *adam);

/* Keep a moving average from now on, which is the weights themselves at first. After step t it is
 * d * average + (1 - d) * weights, where d = min(decay, (1 + t) / (10 + t)): so early weights are soon forgotten. */
void adam_start_ema(Adam *adam, const Params *params, double decay);

/* Exchange the weights with their moving average, to validate with it, say; done again, it is undone. */
void adam_swap_ema(Adam *adam, Params *params);

/* Update the parameters by their gradients times `gradient_scale`, with this learning rate. */
void adam_update(Adam *adam, Params *params, double learning_rate, double gradient_scale);

/* Euclidean norm of the whole gradient; the order of its sum is fixed. */
double adam_gradient_norm(const Adam *adam, const Params *params);

#endif
