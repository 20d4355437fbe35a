/* Without these: AVX-512 kernels, which lean on AVX2 ones, run on a processor that was asked to do
 * without. */
#include "kernel_check.h"

static stk__kernels scalar, avx2, both, avx512;

static void sets_are_taken_as_the_flags_say(void **state)
{
    (void)state;

    assert_true(avx2.vertical != scalar.vertical);
    assert_true(both.vertical != avx2.vertical && both.vertical != scalar.vertical);
    assert_true(both.planes == avx2.planes);
    assert_memory_equal(&avx512, &scalar, sizeof scalar); /* alone it changes nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_are_taken_as_the_flags_say),
    };

    stk__kernels_init(&scalar, 0);
    stk__kernels_init(&avx2, STK__CPU_AVX2);
    stk__kernels_init(&both, STK__CPU_AVX2 | STK__CPU_AVX512);
    stk__kernels_init(&avx512, STK__CPU_AVX512);
    if (avx2.vertical == scalar.vertical) /* another architecture, or built without */
        return SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
