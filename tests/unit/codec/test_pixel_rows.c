/* Without these: CMYK pictures train on the negative, or are one level off the reference. */
#include "codec/pixel_rows.h"
#include "support/test.h"

static void products_are_rounded_to_nearest(void **state)
{
    (void)state;

    for (uint32_t a = 0; a < 256; a++) {
        for (uint32_t b = 0; b < 256; b++)
            assert_int_equal(stk__mul_255(a, b), (2 * a * b + 255) / 510);
    }
}

static void rows_become_rgb_in_place(void **state)
{
    static const uint8_t inverted[] = {
        255 - 200, 255 - 30, 255 - 60, 255 - 40, 255, 0, 128, 255, 9, 8, 7, 0};
    static const uint8_t rgb[] = {46, 190, 164, 255, 0, 128, 0, 0, 0};
    uint8_t row[sizeof inverted];
    (void)state;

    memcpy(row, inverted, sizeof row);
    stk__row_from_inverted_cmyk(row, 3, STK__RGB8);
    assert_memory_equal(row, rgb, sizeof rgb);
    memcpy(row, inverted, sizeof row);
    stk__row_from_inverted_cmyk(row, 3, STK__RGBX8);
    for (size_t i = 0; i < 3; i++)
        assert_memory_equal(row + 4 * i, rgb + 3 * i, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_rounded_to_nearest),
        cmocka_unit_test(rows_become_rgb_in_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
