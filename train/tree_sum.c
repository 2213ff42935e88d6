#include "train/tree_sum.h"

#include <string.h>

#include "core/error.h"
#include "core/memory.h"

int tree_sum_held(int64_t n_batches)
{
    int n = 0;
    while (n_batches >>= 1) n++;
    return n;
}

void tree_sum_init(TreeSum *sum, size_t size, int64_t most_batches)
{
    const int held = tree_sum_held(most_batches);
    CHECK(most_batches >= 1 && held <= TREE_DEPTH, "%lld batches a step", (long long)most_batches);
    *sum = (TreeSum){.size = size};
    if (held) sum->gradient = mem_alloc((size_t)held * size * sizeof(real));
}

void tree_sum_free(TreeSum *sum)
{
    mem_free(sum->gradient);
    *sum = (TreeSum){0};
}

void tree_sum_begin(TreeSum *sum, int n_batches)
{
    sum->n_batches = n_batches;
    sum->n_added = 0;
    sum->n_waiting = 0;
}

/* Whether the two are the children of one node. What waits is always full, so the left child tells how wide its parent is. */
static bool are_siblings(const TreeNode *left, const TreeNode *right, int n_batches)
{
    const int width = 2 * (left->end - left->first), end = left->first + width;
    return left->first % width == 0 && right->end == (end < n_batches ? end : n_batches);
}

static void add(size_t size, const real *restrict left, real *restrict right)
{
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < size; i++) right[i] = left[i] + right[i];
}

void tree_sum_add(TreeSum *sum, real *gradient, double *loss)
{
    CHECK(sum->n_added < sum->n_batches, "a step of %d batches has one more", sum->n_batches);
    TreeNode node = {sum->n_added, sum->n_added + 1, *loss};
    sum->n_added++;
    while (sum->n_waiting && are_siblings(&sum->waiting[sum->n_waiting - 1], &node, sum->n_batches)) {
        const TreeNode *left = &sum->waiting[--sum->n_waiting];
        add(sum->size, sum->gradient + (size_t)sum->n_waiting * sum->size, gradient);
        node = (TreeNode){left->first, node.end, left->loss + node.loss};
    }
    *loss = node.loss;
    if (node.first == 0 && node.end == sum->n_batches) return;
    CHECK(sum->n_waiting < tree_sum_held(sum->n_batches), "%d sums wait, of %d batches", sum->n_waiting, sum->n_batches);
    memcpy(sum->gradient + (size_t)sum->n_waiting * sum->size, gradient, sum->size * sizeof(real));
    sum->waiting[sum->n_waiting++] = node;
}
