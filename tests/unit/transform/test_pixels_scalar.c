/* Without these: red and blue are exchanged everywhere, and all twins agree on it. Values: see
 * test_image_write.c, which has them by their definition. */
#include "kernel_check.h"

static void arrangements_are_as_named(void **state)
{
    static const uint8_t rgb[6] = {1, 2, 3, 4, 5, 6}, rgbx[8] = {1, 2, 3, 255, 4, 5, 6, 255};
    static const uint8_t reversed[6] = {4, 5, 6, 1, 2, 3};
    uint8_t out[8], plane[3][2];
    (void)state;

    stk__expand_scalar(out, rgb, 2);
    assert_memory_equal(out, rgbx, 8);
    stk__pack_scalar(out, rgbx, 2);
    assert_memory_equal(out, rgb, 6);
    stk__pack_reversed_scalar(out, rgbx, 2);
    assert_memory_equal(out, reversed, 6);
    stk__planes_scalar(plane[0], plane[1], plane[2], rgb, 2);
    assert_true(plane[0][0] == 1 && plane[0][1] == 4);
    assert_true(plane[1][0] == 2 && plane[1][1] == 5);
    assert_true(plane[2][0] == 3 && plane[2][1] == 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrangements_are_as_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
