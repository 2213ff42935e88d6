#include "tests/bench/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

Figure figure_of(const double *values, int n)
{
    CHECK(n >= 1 && n <= FIGURE_RUNS, "%d values", n);
    double sorted[FIGURE_RUNS];
    memcpy(sorted, values, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    return (Figure){.median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2, .low = sorted[0], .high = sorted[n - 1]};
}

Figure figure_scaled(Figure f, double factor)
{
    return (Figure){f.median * factor, f.low * factor, f.high * factor};
}

Figure figure_inverse(Figure f)
{
    return (Figure){1 / f.median, 1 / f.high, 1 / f.low};
}

enum { N_TEXTS = 32, TEXT_SIZE = 96 };

static char *next_text(void)
{
    static char texts[N_TEXTS][TEXT_SIZE];
    static int next;
    return texts[next++ % N_TEXTS];
}

const char *figure_number(double value, int digits)
{
    char plain[48], *out = next_text(), *to = out;
    snprintf(plain, sizeof plain, "%.*f", digits, value);
    const size_t whole = strcspn(plain, "."), sign = *plain == '-';
    for (size_t i = 0; plain[i]; i++) {
        if (i > sign && i < whole && (whole - i) % 3 == 0) *to++ = ',';
        *to++ = plain[i];
    }
    *to = '\0';
    return out;
}

const char *figure_text(Figure f, int digits)
{
    char *out = next_text();
    snprintf(out, TEXT_SIZE, "%s (%s to %s)", figure_number(f.median, digits), figure_number(f.low, digits),
             figure_number(f.high, digits));
    return out;
}
