/* Without these: a processor of one kind gets a table with a hole, or instructions that it lacks.
 */
#include "kernel_check.h"

static void every_set_of_flags_fills_the_whole_table(void **state)
{
    (void)state;

    for (uint32_t flags = 0; flags < 8; flags++) {
        stk__kernels kernels;
        void (*entry[sizeof kernels / sizeof(void (*)(void))])(void);

        memset(&kernels, 0, sizeof kernels);
        stk__kernels_init(&kernels, flags);
        memcpy(entry, &kernels, sizeof kernels);
        for (size_t i = 0; i < COUNT_OF(entry); i++)
            assert_true(entry[i] != NULL);
    }
}

static void without_flags_all_are_scalar(void **state)
{
    stk__kernels kernels;
    (void)state;

    stk__kernels_init(&kernels, 0);
    assert_true(kernels.filter == stk__filter_scalar);
    assert_true(kernels.round == stk__round_scalar);
    assert_true(kernels.horizontal == stk__horizontal_scalar);
    assert_true(kernels.vertical == stk__vertical_scalar);
    assert_true(kernels.expand == stk__expand_scalar);
    assert_true(kernels.pack == stk__pack_scalar);
    assert_true(kernels.pack_reversed == stk__pack_reversed_scalar);
    assert_true(kernels.planes == stk__planes_scalar);
    assert_true(kernels.values_f32 == stk__values_f32_scalar);
    assert_true(kernels.values_f16 == stk__values_f16_scalar);
    assert_true(kernels.values_bf16 == stk__values_bf16_scalar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_of_flags_fills_the_whole_table),
        cmocka_unit_test(without_flags_all_are_scalar),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
