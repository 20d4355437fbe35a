/* Without these: a weight differs by one unit between machines, and with it a pixel in a hundred.
 */
#include "kernel_check.h"

static stk__kernels scalar, fast;

static void weights_equal_their_scalar_twins(void **state)
{
    for (int round = 0; round < 20000; round++)
        check_weights(*state, &scalar, &fast);
}

int main(void)
{
    static rng r;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(weights_equal_their_scalar_twins, &r),
    };

    stk__kernels_init(&scalar, 0);
    stk__kernels_init(&fast, STK__CPU_AVX2);
    if ((stk__cpu_flags() & STK__CPU_AVX2) == 0 || fast.filter == scalar.filter)
        return SKIPPED;
    r = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
