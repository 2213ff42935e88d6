#include "options/nearest.h"

#include <string.h>

#include "core/memory.h"

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t edit_distance(const char *a, const char *b)
{
    size_t n_a = strlen(a), n_b = strlen(b), width = n_b + 1;
    /* Three rows of the table: of the prefixes of `a` with i - 2, i - 1 and i bytes. */
    size_t *rows = mem_alloc(3 * width * sizeof *rows);
    size_t *before = rows, *last = rows + width, *row = rows + 2 * width;
    for (size_t j = 0; j <= n_b; j++) last[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            row[j] = smaller(smaller(last[j], row[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = smaller(row[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    size_t distance = last[n_b];
    mem_free(rows);
    return distance;
}

void nearest_offer(Nearest *nearest, const char *word)
{
    size_t distance = edit_distance(nearest->wanted, word), limit;
    const char *dot = strrchr(nearest->wanted, '.'); /* a section that is right doesn't make its options alike */
    limit = 1 + strlen(dot ? dot + 1 : nearest->wanted) / 4;
    if (distance > limit || (nearest->word && distance >= nearest->distance)) return;
    nearest->word = word;
    nearest->distance = distance;
}
