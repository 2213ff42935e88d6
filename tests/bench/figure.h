/* Numbers measured again and again: machines are noisy, so each is a median with the lowest and the highest beside it. */
#ifndef FERRY_TESTS_BENCH_FIGURE_H
#define FERRY_TESTS_BENCH_FIGURE_H

enum { FIGURE_RUNS = 100 }; /* the most repetitions there may be */

typedef struct Figure {
    double median, low, high;
} Figure;

/* Of n values (1 to FIGURE_RUNS), which stay as they are. */
Figure figure_of(const double *values, int n);

/* With every value multiplied by a positive factor; of 1 / value. */
Figure figure_scaled(Figure figure, double factor);
Figure figure_inverse(Figure figure);

/* "17,800 (17,500 to 18,100)" with this many digits behind the point; in one of a few buffers that take turns. */
const char *figure_text(Figure figure, int digits);
/* "17,800" */
const char *figure_number(double value, int digits);

#endif
