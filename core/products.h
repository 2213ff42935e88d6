/* The products of each format of the operands, between core/matmul.c, which picks one, and core/matmul_*.c, which compute them:
 * see matmul, matmul_weights_size, matmul_pack_weights, matmul_packed. */
#ifndef FERRY_CORE_PRODUCTS_H
#define FERRY_CORE_PRODUCTS_H

#include "core/compute.h"
#include "core/matmul.h"

typedef struct Product {
    /* C = init + A B, none of it packed before; NULL: this format needs packed weights. */
    void (*multiply)(const Compute *compute, const Matmul *product, Arena *arena);
    /* Bytes that it takes from the arena meanwhile. */
    size_t (*scratch)(const Compute *compute, const Matmul *product);
    /* Bytes that weights take; pack them into weights->panels. */
    size_t (*size)(const Compute *compute, int n, int k);
    void (*pack)(int n, int k, const real *b, size_t b_stride, MatmulWeights *weights);
    void (*packed)(const Matmul *product, const MatmulWeights *weights, Arena *arena);
} Product;

extern const Product product_real;
#ifndef FERRY_FP64
extern const Product product_bf16, product_int8;
#endif

#endif
