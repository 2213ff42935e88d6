/* Adam (Kingma and Ba 2015, algorithm 1) over the flat block of all parameters, and the norm of the gradient. */
#ifndef FERRY_TRAIN_ADAM_H
#define FERRY_TRAIN_ADAM_H

#include "autograd/params.h"

typedef struct Adam {
    double beta1, beta2, epsilon;
    int64_t step;  /* updates made */
    size_t size;   /* elements of m and v */
    real *m, *v;   /* running means of the gradient and its square; owned */
} Adam;

void adam_init(Adam *adam, size_t size, double beta1, double beta2, double epsilon);
void adam_free(Adam *adam);

/* Update the parameters by their gradients times `gradient_scale`, with this learning rate. */
void adam_update(Adam *adam, Params *params, double learning_rate, double gradient_scale);

/* Euclidean norm of the whole gradient; the order of its sum is fixed. */
double adam_gradient_norm(const Params *params);

#endif
