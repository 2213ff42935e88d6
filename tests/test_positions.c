/* Sinusoidal positions. */
#include <math.h>

#include "autograd/positions.h"
#include "tests/naive.h"
#include "tests/suites.h"

START_TEST(values_by_the_formula)
{
    Positions positions = {0};
    positions_extend(&positions, 32, 300);
    for (int p = 0; p < 300; p++)
        for (int c = 0; c < 32; c++) {
            const double angle = p / pow(10000, 2 * (c / 2) / 32.0);
            expect_near((double)positions.value[p * 32 + c], (Sum){c % 2 ? cos(angle) : sin(angle), 1}, "PE(%d, %d)", p, c);
        }
    positions_free(&positions);
}
END_TEST

/* PE(p + k) is one linear map of PE(p) for all p: in each pair of columns the rotation that PE(k) shows. */
START_TEST(shift_is_a_linear_map)
{
    enum { WIDTH = 128, N = 400 };
    Positions positions = {0};
    positions_extend(&positions, WIDTH, N);
    const real *pe = positions.value;
    for (int k = 0; k < N; k += 13)
        for (int p = 0; p + k < N; p += 7)
            for (int c = 0; c < WIDTH; c += 2) {
                const double sine = (double)pe[k * WIDTH + c], cosine = (double)pe[k * WIDTH + c + 1];
                const double even = (double)pe[p * WIDTH + c], odd = (double)pe[p * WIDTH + c + 1];
                expect_near((double)pe[(p + k) * WIDTH + c], (Sum){cosine * even + sine * odd, 1}, "PE(%d + %d, %d)", p, k,
                            c);
                expect_near((double)pe[(p + k) * WIDTH + c + 1], (Sum){cosine * odd - sine * even, 1}, "PE(%d + %d, %d)", p,
                            k, c + 1);
            }
    positions_free(&positions);
}
END_TEST

START_TEST(rows_independent_of_growth)
{
    Positions whole = {0}, grown = {0};
    positions_extend(&whole, 33, 500);
    for (int n = 1; n <= 500; n += 1 + n / 3) {
        positions_extend(&grown, 33, n);
        ck_assert_int_eq(grown.n, n);
        positions_extend(&grown, 33, n / 2);
        ck_assert_int_eq(grown.n, n);
        expect_same(grown.value, whole.value, n * 33, "%d rows", n);
    }
    positions_extend(&grown, 32, 7); /* of another width */
    positions_extend(&grown, 33, 500);
    expect_same(grown.value, whole.value, 500 * 33, "all anew");
    positions_free(&whole);
    positions_free(&grown);
}
END_TEST

Suite *suite_positions(void)
{
    Suite *suite = suite_create("positions");
    TCase *tcase = tcase_create("positions");
    tcase_add_test(tcase, values_by_the_formula);
    tcase_add_test(tcase, shift_is_a_linear_map);
    tcase_add_test(tcase, rows_independent_of_growth);
    suite_add_tcase(suite, tcase);
    return suite;
}
