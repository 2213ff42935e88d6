#include "metrics/ngram.h"

#include <stdlib.h>

#include "core/error.h"
#include "core/memory.h"

/* What begins at one place of one of the sequences: its n-grams of all orders up to `length` are prefixes of each other. */
typedef struct Start {
    const uint32_t *symbol;
    int length;
    int side; /* 0: x, 1: y */
} Start;

static int common_prefix(const Start *a, const Start *b)
{
    int n = 0, shorter = a->length < b->length ? a->length : b->length;
    while (n < shorter && a->symbol[n] == b->symbol[n]) n++;
    return n;
}

static int compare_starts(const void *a, const void *b)
{
    const Start *x = a, *y = b;
    int n = common_prefix(x, y);
    if (n == x->length || n == y->length) return (x->length > y->length) - (x->length < y->length);
    return x->symbol[n] < y->symbol[n] ? -1 : 1;
}

static void fill(Start *starts, const uint32_t *symbol, size_t n, int max_order, int side)
{
    for (size_t i = 0; i < n; i++) {
        size_t rest = n - i;
        starts[i] = (Start){symbol + i, rest < (size_t)max_order ? (int)rest : max_order, side};
    }
}

/* In sorted order equal n-grams are neighbours, for all n at once: an n-gram's run ends where the next start has less than n
 * symbols in common. */
void ngram_add_matches(const uint32_t *x, size_t n_x, const uint32_t *y, size_t n_y, int max_order, uint64_t *match)
{
    CHECK(max_order >= 1 && max_order <= NGRAM_MAX_ORDER, "order %d", max_order);
    size_t n = n_x + n_y;
    Start *starts = mem_alloc((n + 1) * sizeof *starts);
    fill(starts, x, n_x, max_order, 0);
    fill(starts + n_x, y, n_y, max_order, 1);
    if (n) qsort(starts, n, sizeof *starts, compare_starts);
    starts[n] = (Start){.length = 0}; /* shares nothing with the last: ends all runs */

    uint64_t run[NGRAM_MAX_ORDER][2] = {{0}};
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < starts[i].length; k++) run[k][starts[i].side]++;
        for (int k = common_prefix(&starts[i], &starts[i + 1]); k < max_order; k++) {
            match[k] += run[k][0] < run[k][1] ? run[k][0] : run[k][1];
            run[k][0] = run[k][1] = 0;
        }
    }
    mem_free(starts);
}

uint64_t ngram_count(size_t length, int n)
{
    return length >= (size_t)n ? length - (size_t)n + 1 : 0;
}
