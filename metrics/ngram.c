#include "metrics/ngram.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"

/* What begins at one place of one of the sequences: its n-grams of all orders up to `length` are prefixes of each other. */
typedef struct Start {
    const uint32_t *symbol;
    int length;
    int side; /* 0: x, r: y number r - 1 */
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
void ngram_add_best_matches(const uint32_t *x, size_t n_x, const uint32_t *const *y, const size_t *n_y, int n, int max_order,
                            uint64_t *match)
{
    CHECK(max_order >= 1 && max_order <= NGRAM_MAX_ORDER, "order %d", max_order);
    const size_t sides = (size_t)n + 1;
    size_t all = n_x;
    for (int r = 0; r < n; r++) all += n_y[r];
    Start *starts = mem_alloc((all + 1) * sizeof *starts);
    fill(starts, x, n_x, max_order, 0);
    size_t at = n_x;
    for (int r = 0; r < n; r++) {
        fill(starts + at, y[r], n_y[r], max_order, r + 1);
        at += n_y[r];
    }
    if (all) qsort(starts, all, sizeof *starts, compare_starts);
    starts[all] = (Start){.length = 0}; /* shares nothing with the last: ends all runs */

    uint64_t *run = mem_alloc(NGRAM_MAX_ORDER * sides * sizeof *run);
    memset(run, 0, NGRAM_MAX_ORDER * sides * sizeof *run);
    for (size_t i = 0; i < all; i++) {
        for (int k = 0; k < starts[i].length; k++) run[(size_t)k * sides + (size_t)starts[i].side]++;
        for (int k = common_prefix(&starts[i], &starts[i + 1]); k < max_order; k++) {
            uint64_t *counts = run + (size_t)k * sides, most = 0;
            for (size_t r = 1; r < sides; r++) most = counts[r] > most ? counts[r] : most;
            match[k] += counts[0] < most ? counts[0] : most;
            memset(counts, 0, sides * sizeof *counts);
        }
    }
    mem_free(run);
    mem_free(starts);
}

void ngram_add_matches(const uint32_t *x, size_t n_x, const uint32_t *y, size_t n_y, int max_order, uint64_t *match)
{
    ngram_add_best_matches(x, n_x, &y, &n_y, 1, max_order, match);
}

uint64_t ngram_count(size_t length, int n)
{
    return length >= (size_t)n ? length - (size_t)n + 1 : 0;
}
