/* Without these: a row whose width is no multiple of 32 ends in another row's pixels. */
#include "kernel_check.h"

static stk__kernels scalar, fast;

static void conversions_equal_their_scalar_twins(void **state)
{
    for (int round = 0; round < 3000; round++) {
        check_convert(*state, scalar.expand, fast.expand, 3, 4);
        check_convert(*state, scalar.pack, fast.pack, 4, 3);
        check_convert(*state, scalar.pack_reversed, fast.pack_reversed, 4, 3);
    }
}

static void planes_equal_their_scalar_twin(void **state)
{
    for (int round = 0; round < 3000; round++)
        check_planes(*state, &scalar, &fast);
}

int main(void)
{
    static rng r;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(conversions_equal_their_scalar_twins, &r),
        cmocka_unit_test_prestate(planes_equal_their_scalar_twin, &r),
    };

    stk__kernels_init(&scalar, 0);
    stk__kernels_init(&fast, STK__CPU_AVX2);
    if ((stk__cpu_flags() & STK__CPU_AVX2) == 0 || fast.pack == scalar.pack)
        return SKIPPED;
    r = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
