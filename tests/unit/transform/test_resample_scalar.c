/* Without these: the specification of resampling itself is wrong, and all its twins with it. */
#include "kernel_check.h"

static void rounds_halves_up_and_clips(void **state)
{
    static const uint8_t rows[2][4] = {{0, 1, 255, 100}, {255, 2, 255, 101}};
    const uint8_t *row[2] = {rows[0], rows[1]};
    const int16_t half[2] = {1 << 13, 1 << 13}, over[2] = {3 << 13, -(1 << 13)};
    uint8_t out[4];
    (void)state;

    stk__vertical_scalar(out, row, half, 2, 4, 14);
    assert_int_equal(out[0], 128); /* 127.5 */
    assert_int_equal(out[1], 2);   /* 1.5 */
    assert_int_equal(out[2], 255);
    assert_int_equal(out[3], 101); /* 100.5 */
    stk__vertical_scalar(out, row, over, 2, 4, 14);
    assert_int_equal(out[0], 0);   /* -127.5 */
    assert_int_equal(out[1], 1);   /* 0.5 */
    assert_int_equal(out[2], 255); /* 255 */
    assert_int_equal(out[3], 100); /* 99.5 */
}

static void takes_each_channel_and_leaves_the_fourth(void **state)
{
    const uint8_t src[3 * 4] = {10, 20, 30, 255, 20, 40, 60, 255, 100, 120, 140, 255};
    const uint32_t first[2] = {1, 0};
    const int16_t weight[4] = {1 << 13, 1 << 13, 1 << 14, 0};
    const stk__taps taps = {
        .count = 2, .inputs = 3, .per = 2, .precision = 14, .first = first, .weight = weight};
    const uint8_t *from[1] = {src};
    uint8_t out[6 + STK__ROW_SLACK], *to[1] = {out};
    static const uint8_t want[6] = {60, 80, 100, 10, 20, 30};
    (void)state;

    stk__horizontal_scalar(to, from, 1, &taps);
    assert_memory_equal(out, want, sizeof want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_halves_up_and_clips),
        cmocka_unit_test(takes_each_channel_and_leaves_the_fourth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
