/* The sum of the gradients of a step's batches, in an order that depends on nothing but their number: a binary tree over the
 * batches' places in the step. Neighbours are added in pairs, then neighbouring pairs, and so on; what has no right neighbour
 * goes up as it is. So it doesn't matter who computed which batch: five are ((0 + 1) + (2 + 3)) + 4. */
#ifndef FERRY_TRAIN_TREE_SUM_H
#define FERRY_TRAIN_TREE_SUM_H

#include <stddef.h>
#include <stdint.h>

#include "core/real.h"

enum { TREE_DEPTH = 20 }; /* enough for 2^TREE_DEPTH batches a step */

/* The sum of the batches first .. end - 1 */
typedef struct TreeNode {
    int first, end;
    double loss;
} TreeNode;

typedef struct TreeSum {
    size_t size;                   /* elements of a gradient */
    int n_batches, n_added;        /* of this step */
    TreeNode waiting[TREE_DEPTH];  /* sums whose right neighbour isn't there yet, from left to right */
    int n_waiting;
    real *gradient;                /* [tree_sum_held][size], those of `waiting`; NULL: none is ever held. Owned */
} TreeSum;

/* The most gradients that wait at once in a step of so many batches: log2, rounded down. The one that is being computed is
 * not among them. */
int tree_sum_held(int64_t n_batches);

/* Take the memory for steps of at most so many batches. */
void tree_sum_init(TreeSum *sum, size_t size, int64_t most_batches);
void tree_sum_free(TreeSum *sum);

/* A step of n_batches begins (at least 1). */
void tree_sum_begin(TreeSum *sum, int n_batches);

/* Add the gradient [size] and the loss of the step's next batch; both are overwritten. After the last batch they are the sums
 * over all of them. */
void tree_sum_add(TreeSum *sum, real *gradient, double *loss);

#endif
