#include "core/matmul.h"

#include "core/compute.h"
#include "core/error.h"
#include "core/products.h"

/* Those of fp32 only are missing in the tests' fp64 build, where compute->unit says so. */
static const Product *const products[N_PRECISIONS] = {
    [PRECISION_FP32] = &product_real,
#ifndef FERRY_FP64
    [PRECISION_BF16] = &product_bf16,
    [PRECISION_INT8] = &product_int8,
#endif
};

bool matmul_can(const Compute *compute, Precision precision)
{
    return precision == PRECISION_FP32 || compute->unit[precision] != NULL;
}

void matmul(const Compute *compute, const Matmul *p, Arena *arena)
{
    if (p->m <= 0 || p->n <= 0) return;
    CHECK(matmul_can(compute, p->precision) && products[p->precision]->multiply, "precision %d", p->precision);
    if (p->precision == PRECISION_FP32 && compute->blas) blas_matmul(compute->blas, p, arena);
    else products[p->precision]->multiply(compute, p, arena);
}

size_t matmul_scratch(const Matmul *p)
{
    const Compute best = compute_best(); /* sets with narrower vectors take no more */
    size_t most = blas_scratch(p);
    for (int precision = 0; precision < N_PRECISIONS; precision++) {
        const Product *product = products[precision];
        const size_t bytes = product && product->multiply ? product->scratch(&best, p) : 0;
        if (bytes > most) most = bytes;
    }
    return most;
}

void matmul_round_rows(const Compute *compute, int m, int k, real *rows, size_t stride)
{
#ifdef FERRY_FP64
    CHECK(!compute, "%d rows of %d at %p, %zu apart, in fp64", m, k, (void *)rows, stride);
#else
    for (int i = 0; i < m; i++) compute->packing->round_row(k, rows + (size_t)i * stride);
#endif
}

size_t matmul_weights_size(const Compute *compute, Precision precision, int n, int k)
{
    return products[precision]->size(compute, n, k);
}

MatmulWeights matmul_pack_weights(const Compute *compute, Precision precision, int n, int k, const real *b, size_t b_stride,
                                  void *memory)
{
    CHECK(matmul_can(compute, precision), "precision %d", precision);
    MatmulWeights weights = {.kernels = compute->kernels, .unit = compute->unit[precision], .packing = compute->packing,
                             .precision = precision, .n = n, .k = k, .panels = memory};
    products[precision]->pack(n, k, b, b_stride, &weights);
    return weights;
}

void matmul_packed(const Matmul *product, const MatmulWeights *weights, Arena *arena)
{
    if (product->m <= 0 || product->n <= 0) return;
    CHECK(product->n == weights->n && product->k == weights->k, "[%d, %d] by weights of [%d, %d]", product->n, product->k,
          weights->n, weights->k);
    products[weights->precision]->packed(product, weights, arena);
}
