/* One matrix product with its memory, and what every product must keep: its sums, what lies around C, its bits. */
#ifndef FERRY_TESTS_PRODUCT_H
#define FERRY_TESTS_PRODUCT_H

#include "tests/naive.h"

enum { PRODUCT_KINDS = 3 };

/* C has PRODUCT_MARGIN elements before and behind it and gaps between its rows; what is no element of C holds a guard. */
typedef struct ProductCase {
    Matmul p;
    real *a, *b, *bias, *c, *before;
    int c_size;
} ProductCase;

/* `seed` gives the operands and, by its residues, what C starts from and how far apart rows are; `gap` is added to those.
 * Operands end with their last element. */
ProductCase product_case(int kind, int m, int n, int k, uint64_t seed, int gap);
void product_free(ProductCase *t);
/* C as it was */
void product_again(ProductCase *t);
/* What element (i, j) starts from */
real product_start(const ProductCase *t, int i, int j);

/* C near the sums in double, the guards whole, and if `chain` each element the bits of the chain; every `step`-th element */
void product_expect(const ProductCase *t, bool chain, int step);
/* Nothing but C was written. */
void product_expect_guards(const ProductCase *t);

/* A row computed alone, or some columns alone, have the bits they have in the whole product. */
void product_check_cut(int kind, Precision precision);
/* 1, 2, 3 threads give the same bits. */
void product_check_threads(int kind, Precision precision, int m, int n, int k, uint64_t seed);

#endif
