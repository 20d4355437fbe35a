/* Without these: float batches of two machines differ in the last bit, or a channel takes the mean
 * of another. */
#include "kernel_check.h"

static stk__kernels scalar, fast;

static void values_equal_their_scalar_twins(void **state)
{
    for (int round = 0; round < 3000; round++) {
        check_values(*state, scalar.values_f32, fast.values_f32, 4);
        check_values(*state, scalar.values_f16, fast.values_f16, 2);
        check_values(*state, scalar.values_bf16, fast.values_bf16, 2);
    }
}

int main(void)
{
    static rng r;
    const uint32_t flags = STK__CPU_AVX2 | STK__CPU_AVX512;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(values_equal_their_scalar_twins, &r),
    };

    stk__kernels_init(&scalar, 0);
    stk__kernels_init(&fast, flags);
    if ((stk__cpu_flags() & flags) != flags || fast.values_f32 == scalar.values_f32)
        return SKIPPED;
    r = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
