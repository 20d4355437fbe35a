/* Without these: a caller of the C interface gets no error for memory of the wrong size, or pixels
 * outside it. */
#include "random_chain.h"

static void says_what_is_wrong_with_memory(void **state)
{
    uint8_t pixels[20 * 30 * 3] = {0}, out[64 * 3 * 4 + 1];
    stk_image src = {pixels, 20 * 3, 20, 30};
    stk_transform t = sized(STK_RESIZE, 8, 8);
    stk_error err = STK_ERROR_INIT;
    (void)state;

    assert_int_equal(
        stk_image_transform(&src, &t, 1, NULL, STK_NHWC, STK_U8, (stk_span){out, 191}, &err),
        STK_ESHAPE);
    assert_string_equal(err.text, "output has 191 bytes; 8x8 pixels of uint8 need 192");
    assert_int_equal(
        stk_image_transform(&src, &t, 1, NULL, STK_NHWC, STK_U8, (stk_span){NULL, 192}, &err),
        STK_ESHAPE);
    assert_int_equal(stk_image_transform(&src, &t, 1, NULL, STK_NHWC, STK_F32,
                         (stk_span){out + ((uintptr_t)out % 4 == 0), 768}, &err),
        STK_EINVAL);
    assert_string_equal(err.text, "output is not aligned to float32");
    src.pitch_bytes = 59;
    assert_int_equal(
        stk_image_transform(&src, &t, 1, NULL, STK_NHWC, STK_U8, (stk_span){out, 192}, &err),
        STK_EINVAL);
    assert_string_equal(err.text, "source has 59 bytes a row; 20 pixels need 60");
    assert_int_equal(
        stk_image_transform(NULL, &t, 1, NULL, STK_NHWC, STK_U8, (stk_span){out, 192}, &err),
        STK_EINVAL);
    src = (stk_image){pixels, 60, 0, 30};
    assert_int_equal(
        stk_image_transform(&src, &t, 1, NULL, STK_NHWC, STK_U8, (stk_span){out, 192}, &err),
        STK_ESHAPE);
}

static void an_empty_chain_copies(void **state)
{
    rng *r = *state;
    uint8_t *pixels = random_pixels(r, 50 * 7), out[16 * 7 * 3];
    stk_image src = {pixels, 50, 16, 7};
    uint32_t w, h;

    assert_int_equal(stk_transform_shape(NULL, 0, 16, 7, &w, &h, NULL), STK_OK);
    assert_true(w == 16 && h == 7);
    assert_int_equal(stk_image_transform(
                         &src, NULL, 0, NULL, STK_NHWC, STK_U8, (stk_span){out, sizeof out}, NULL),
        STK_OK);
    for (size_t y = 0; y < 7; y++)
        assert_memory_equal(out + y * 48, pixels + y * 50, 48);
    free(pixels);
}

static void the_draw_tells_the_crop(void **state)
{
    rng *r = *state;
    uint8_t *pixels = random_pixels(r, 64 * 64 * 3), out[3][16 * 16 * 3];
    stk_image src = {pixels, 64 * 3, 64, 64};
    stk_transform t = sized(STK_RANDOM_CROP, 16, 16);
    const stk_draw zero = {0, 0, 0}, other = {0, 0, 1};
    const stk_draw *draws[3] = {NULL, &zero, &other};

    for (int i = 0; i < 3; i++)
        assert_int_equal(stk_image_transform(&src, &t, 1, draws[i], STK_NCHW, STK_U8,
                             (stk_span){out[i], sizeof out[i]}, NULL),
            STK_OK);
    assert_memory_equal(out[0], out[1], sizeof out[0]);
    assert_memory_not_equal(out[0], out[2], sizeof out[0]);
    free(pixels);
}

static void a_centre_crop_pads_with_black_whatever_its_fill_says(void **state)
{
    const uint8_t pixel[3] = {50, 60, 70};
    const stk_image src = {(void *)(uintptr_t)pixel, 3, 1, 1};
    static const uint8_t want[9] = {0, 0, 0, 50, 60, 70, 0, 0, 0};
    stk_transform t = sized(STK_CENTER_CROP, 1, 3);
    uint8_t out[9];
    (void)state;

    memset(t.fill, 200, sizeof t.fill);
    t.padding[0] = 7;
    assert_int_equal(
        stk_image_transform(&src, &t, 1, NULL, STK_NHWC, STK_U8, (stk_span){out, sizeof out}, NULL),
        STK_OK);
    assert_memory_equal(out, want, sizeof want);
}

/* The source stands in a block of exactly its size, so that a sanitizer sees a byte too far. */
static void reads_and_writes_no_byte_too_far(void **state)
{
    rng *r = *state;

    for (int round = 0; round < 400; round++) {
        stk_transform chain[4];
        uint32_t width = random_side(r, 40), height = random_side(r, 40), w, h;
        size_t count = random_chain(r, chain, COUNT_OF(chain), width, height, 40), bytes;
        size_t pitch = (size_t)width * 3 + rng_below(r, 5);
        uint8_t *pixels = random_pixels(r, pitch * (height - 1) + (size_t)width * 3), *out;
        stk_image src = {pixels, pitch, width, height};

        assert_int_equal(stk_transform_shape(chain, count, width, height, &w, &h, NULL), STK_OK);
        bytes = (size_t)w * h * 3;
        out = malloc(bytes);
        assert_non_null(out);
        assert_int_equal(stk_image_transform(&src, chain, count, NULL, (stk_layout)rng_below(r, 2),
                             STK_U8, (stk_span){out, bytes}, NULL),
            STK_OK);
        free(pixels);
        free(out);
    }
}

static void the_widest_and_the_highest_pass(void **state)
{
    rng *r = *state;
    static const uint32_t sizes[][4] = {{65535, 1, 224, 2}, {1, 65535, 3, 224},
        {65535, 2, 65534, 1}, {1, 1, 65535, 1}, {1, 1, 1, 65535}, {3, 65535, 2, 65535}};

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const uint32_t *s = sizes[i];
        stk_transform chain[2] = {sized(STK_RESIZE, s[3], s[2]), transform_of(STK_HORIZONTAL_FLIP)};
        size_t bytes = (size_t)s[2] * s[3] * 3;
        uint8_t *pixels = malloc((size_t)s[0] * s[1] * 3), *out = malloc(bytes);
        stk_image src = {pixels, (size_t)s[0] * 3, s[0], s[1]};

        assert_true(pixels != NULL && out != NULL);
        memset(pixels, (int)rng_below(r, 256), (size_t)s[0] * s[1] * 3);
        chain[0].interpolation = (stk_interpolation)rng_below(r, 2);
        assert_int_equal(stk_image_transform(
                             &src, chain, 2, NULL, STK_NHWC, STK_U8, (stk_span){out, bytes}, NULL),
            STK_OK);
        for (size_t k = 0; k < bytes; k++) /* weights of many taps add up to 1 only nearly */
            assert_true(abs(out[k] - pixels[0]) <= (s[0] > 1000 * s[2] ? 2 : 1));
        free(pixels);
        free(out);
    }
}

int main(void)
{
    static rng r;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_wrong_with_memory),
        cmocka_unit_test_prestate(an_empty_chain_copies, &r),
        cmocka_unit_test_prestate(the_draw_tells_the_crop, &r),
        cmocka_unit_test(a_centre_crop_pads_with_black_whatever_its_fill_says),
        cmocka_unit_test_prestate(reads_and_writes_no_byte_too_far, &r),
        cmocka_unit_test_prestate(the_widest_and_the_highest_pass, &r),
    };

    r = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
