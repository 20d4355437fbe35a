/* Without these: photographs of phones lie on their side. */
#include "base/heap.h"
#include "support/test.h"
#include "transform/image_chain.h"

/* What EXIF says: which row and column of the picture as seen the stored top row and left column
 * are; here the other way round, from seen to stored, written out for each number. */
static void stored_place(uint32_t orientation, uint32_t w, uint32_t h, uint32_t x, uint32_t y,
    uint32_t *sx, uint32_t *sy)
{
    switch (orientation) {
    case 2: /* stored right is seen left */
        *sx = w - 1 - x, *sy = y;
        break;
    case 3:
        *sx = w - 1 - x, *sy = h - 1 - y;
        break;
    case 4:
        *sx = x, *sy = h - 1 - y;
        break;
    case 5: /* row 0 is the left side, column 0 the top */
        *sx = y, *sy = x;
        break;
    case 6: /* row 0 is the right side, column 0 the top */
        *sx = y, *sy = w - 1 - x;
        break;
    case 7: /* row 0 is the right side, column 0 the bottom */
        *sx = h - 1 - y, *sy = w - 1 - x;
        break;
    case 8: /* row 0 is the left side, column 0 the bottom */
        *sx = h - 1 - y, *sy = x;
        break;
    default:
        *sx = x, *sy = y;
        break;
    }
}

static void turns_as_exif_says(void **state)
{
    rng *r = *state;

    for (int round = 0; round < 300; round++) {
        uint32_t orientation = (uint32_t)rng_below(r, 10); /* 0 and 9 are as 1 */
        uint32_t w = 1 + (uint32_t)rng_below(r, 50), h = 1 + (uint32_t)rng_below(r, 50);
        bool exchanged = orientation >= 5 && orientation <= 8;
        size_t dst_pitch = w * 4 + rng_below(r, 9), src_pitch = (exchanged ? h : w) * 4 + 5;
        uint8_t *src = malloc(src_pitch * (exchanged ? w : h)), *dst = malloc(dst_pitch * h);
        stk_image from = {src, src_pitch, exchanged ? h : w, exchanged ? w : h};
        stk_image to = {dst, dst_pitch, w, h};

        assert_true(src != NULL && dst != NULL);
        rng_fill(r, src, src_pitch * from.height);
        memset(dst, 0xa5, dst_pitch * h);
        stk__image_orient(&from, &to, orientation);
        for (uint32_t y = 0; y < h; y++) {
            for (uint32_t x = 0; x < w; x++) {
                uint32_t sx, sy;

                stored_place(orientation, w, h, x, y, &sx, &sy);
                assert_memory_equal(dst + y * dst_pitch + x * 4, src + sy * src_pitch + sx * 4, 4);
            }
            for (size_t i = w * 4; i < dst_pitch; i++)
                assert_int_equal(dst[y * dst_pitch + i], 0xa5);
        }
        free(src);
        free(dst);
    }
}

int main(void)
{
    static rng r;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(turns_as_exif_says, &r),
    };

    r = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
