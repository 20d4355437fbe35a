/* Without these: a random crop moves by a pixel from one libc to the next. */
#include <math.h>

#include "support/test.h"
#include "transform/det_math.h"

/* Distance in units of the last place of the true value. */
static double ulps(double got, long double want)
{
    double near = (double)want;
    double unit = nextafter(fabs(near), INFINITY) - fabs(near);

    return (double)(fabsl((long double)got - want) / (long double)unit);
}

static void log_is_off_by_less_than_one_unit(void **state)
{
    rng *r = *state;
    double worst = 0;

    for (int i = 0; i < 400000; i++) {
        uint64_t bits = rng_next(r) >> 1;
        double x;

        if (i % 2 == 0) { /* half of them around 1, where cancellation would show */
            x = (double)rng_float(r, 0.4f, 2.5f);
        } else {
            memcpy(&x, &bits, sizeof x);
        }
        if (isfinite(x) && x > 0)
            worst = fmax(worst, ulps(stk__log(x), logl((long double)x)));
    }
    print_message("log: %.3f units\n", worst);
    assert_true(worst < 1);
    assert_true(stk__log(1) == 0);
}

static void exp_is_off_by_less_than_one_unit(void **state)
{
    rng *r = *state;
    double worst = 0;

    for (int i = 0; i < 400000; i++) {
        double x = (double)rng_float(r, -1, 1) * (i % 2 == 0 ? 708.0 : 2.0);

        worst = fmax(worst, ulps(stk__exp(x), expl((long double)x)));
    }
    print_message("exp: %.3f units\n", worst);
    assert_true(worst < 1);
    assert_true(stk__exp(0) == 1);
}

static void exp_ends_at_the_ends(void **state)
{
    (void)state;

    assert_true(stk__exp(710) == (double)INFINITY);
    assert_true(stk__exp(1e300) == (double)INFINITY);
    assert_true(isfinite(stk__exp(709.78)));
    assert_true(stk__exp(-746) == 0);
    assert_true(stk__exp(-1e300) == 0);
    assert_true(stk__exp(-740) > 0); /* subnormal */
    assert_true(fabs(stk__exp(-740) - exp(-740)) <= 0x1p-1074);
}

static void halves_go_to_the_even_number(void **state)
{
    static const double cases[][2] = {{0, 0}, {0.5, 0}, {1.5, 2}, {2.5, 2}, {-0.5, 0}, {-1.5, -2},
        {-2.5, -2}, {0.49999999999999994, 0}, {2.4999999999999996, 2}, {-0.7, -1},
        {1e15 + 0.5, 1e15}, {65534.5, 65534}, {65535.5, 65536}};
    rng *r = *state;

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_true(stk__round_even(cases[i][0]) == cases[i][1]);
    for (int i = 0; i < 100000; i++) {
        double x = (double)rng_float(r, -100000, 100000);

        assert_true(stk__round_even(x) == nearbyint(x));
    }
}

int main(void)
{
    static rng r;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(log_is_off_by_less_than_one_unit, &r),
        cmocka_unit_test_prestate(exp_is_off_by_less_than_one_unit, &r),
        cmocka_unit_test(exp_ends_at_the_ends),
        cmocka_unit_test_prestate(halves_go_to_the_even_number, &r),
    };

    r = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
