/* The number formats of a matrix product's operands. Weights, gradients, sums, softmax, norms and the optimizer are `real`
 * whatever the format: operands are rounded where they are packed for the product.
 *   fp32  as they are
 *   bf16  the upper 16 bits of an fp32, rounded to even; sums in fp32
 *   int8  for inference: weights scaled by column, activations by row (symmetric, largest magnitude = 127); exact sums */
#ifndef FERRY_CORE_PRECISION_H
#define FERRY_CORE_PRECISION_H

typedef enum Precision { PRECISION_FP32, PRECISION_BF16, PRECISION_INT8, N_PRECISIONS } Precision;

#endif
