/* Without these: the filters themselves are wrong, and all their twins with them. */
#include <math.h>

#include "kernel_check.h"

static void filters_have_their_shapes(void **state)
{
    (void)state;

    assert_true(stk__triangle(0) == 1 && stk__triangle(-0.25) == 0.75);
    assert_true(stk__triangle(1) == 0 && stk__triangle(1.5) == 0);
    for (int i = 0; i <= 2; i++)
        assert_true(fabs(stk__cubic(i, -0.5) - (i == 0)) < 1e-15);
    assert_true(stk__cubic(0.5, -0.5) == 0.5625 && stk__cubic(-1.5, -0.5) == -0.0625);
    assert_true(stk__cubic(0.5, -0.75) == 0.59375 && stk__cubic(1.5, -0.75) == -0.09375);
    assert_true(stk__cubic(2, -0.75) == 0 && stk__cubic(7, -0.75) == 0);
}

/* Scale 2, output 0, around 1: distances of 1/4, 1/4 and 3/4 of the filter. */
static void weights_are_divided_by_their_sum(void **state)
{
    const uint32_t first[1] = {0}, taps[1] = {3};
    double exact[4], total[1];
    const stk__axis_build b = {.inputs = 4,
        .outputs = 1,
        .most = 4,
        .scale = 2,
        .first = first,
        .taps = taps,
        .exact = exact,
        .total = total};
    int16_t weight[4];
    (void)state;

    assert_true(stk__filter_scalar(&b, false) == 0.75 / 1.75);
    assert_true(exact[0] == 0.75 / 1.75 && exact[1] == 0.75 / 1.75 && exact[2] == 0.25 / 1.75);
    assert_true(exact[3] == 0);
    stk__round_scalar(&b, 16, weight, 4);
    assert_true(weight[0] == 28087 && weight[2] == 9362 && weight[3] == 0);
}

static void rounds_halves_away_from_zero(void **state)
{
    const uint32_t first[1] = {0}, taps[1] = {3};
    double exact[3] = {0x1.8p-15, -0x1.8p-15, -0x1p-16};
    const stk__axis_build b = {
        .inputs = 3, .outputs = 1, .most = 3, .first = first, .taps = taps, .exact = exact};
    static const int16_t want[4] = {2, -2, -1, 0};
    int16_t weight[4];
    (void)state;

    stk__round_scalar(&b, 15, weight, 4);
    assert_memory_equal(weight, want, sizeof want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_have_their_shapes),
        cmocka_unit_test(weights_are_divided_by_their_sum),
        cmocka_unit_test(rounds_halves_away_from_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
