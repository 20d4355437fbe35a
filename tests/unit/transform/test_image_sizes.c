/* Without these: a bad option is found out in mid-epoch, or an error does not say which field of
 * which transform is at fault. */
#include <math.h>

#include "random_chain.h"
#include "transform/image_laws.h"

static void refused(const stk_transform *t, const char *text)
{
    stk_error err = STK_ERROR_INIT;

    assert_int_equal(stk__law_check(t, 3, &err), STK_EINVAL);
    assert_string_equal(err.text, text);
    assert_int_equal(stk__law_check(t, 3, NULL), STK_EINVAL);
}

static void passes(const stk_transform *t)
{
    stk_error err = STK_ERROR_INIT;

    if (stk__law_check(t, 3, &err) != STK_OK)
        fail_msg("%s", err.text);
}

static void sizes_have_a_range(void **state)
{
    stk_transform t = sized(STK_CENTER_CROP, 0, 5);
    (void)state;

    refused(&t, "transform 3 (CenterCrop): height is 0; it must be 1 to 65,535");
    t.height = 65536;
    refused(&t, "transform 3 (CenterCrop): height is 65536; it must be 1 to 65,535");
    t.height = 65535;
    passes(&t);
    t.width = 0;
    refused(&t, "transform 3 (CenterCrop): width is 0; it must be 1 to 65,535");
    t.kind = STK_RESIZE; /* here it stands for the short side */
    passes(&t);
    t.kind = (stk_transform_kind)99;
    refused(&t, "transform 3 (?): kind is 99, which is none");
}

static void resizes_have_a_mode_and_a_bound(void **state)
{
    stk_transform t = sized(STK_RESIZE, 256, 0);
    (void)state;

    t.max_size = 256;
    refused(&t,
        "transform 3 (Resize): max_size is 256; it must be 0, or more than height (256) and "
        "at most 65,535");
    t.max_size = 257;
    passes(&t);
    t.width = 100;
    refused(&t, "transform 3 (Resize): max_size is 257; with a width it must be 0");
    t.max_size = 0;
    t.interpolation = (stk_interpolation)3;
    refused(&t, "transform 3 (Resize): interpolation is 3; it must be bilinear (0), bicubic (1) or "
                "nearest (2)");
}

static void crops_have_paddings(void **state)
{
    stk_transform t = sized(STK_RANDOM_CROP, 32, 32);
    (void)state;

    t.padding[2] = 65536;
    refused(&t, "transform 3 (RandomCrop): padding[2] is 65536; it must be 0 to 65,535");
    t.padding[2] = 0;
    t.padding_mode = (stk_padding_mode)4;
    refused(&t, "transform 3 (RandomCrop): padding_mode is 4; it must be 0 to 3");
}

static void ranges_are_positive_and_in_order(void **state)
{
    static const double bad[][2] = {{0, 1}, {-1, 1}, {2, 1}, {1, INFINITY}, {NAN, 1}, {1, NAN}};
    stk_transform t = sized(STK_RANDOM_RESIZED_CROP, 8, 8);
    stk_error err = STK_ERROR_INIT;
    (void)state;

    passes(&t);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        t = sized(STK_RANDOM_RESIZED_CROP, 8, 8);
        memcpy(t.scale, bad[i], sizeof t.scale);
        assert_int_equal(stk__law_check(&t, 0, &err), STK_EINVAL);
        assert_non_null(strstr(err.text, "transform 0 (RandomResizedCrop): scale is "));
        t = sized(STK_RANDOM_RESIZED_CROP, 8, 8);
        memcpy(t.ratio, bad[i], sizeof t.ratio);
        assert_int_equal(stk__law_check(&t, 0, &err), STK_EINVAL);
        assert_non_null(strstr(err.text, "transform 0 (RandomResizedCrop): ratio is "));
    }
}

static void probabilities_and_numbers_are_numbers(void **state)
{
    stk_transform t = transform_of(STK_RANDOM_HORIZONTAL_FLIP);
    (void)state;

    t.probability = 1.5;
    refused(&t, "transform 3 (RandomHorizontalFlip): probability is 1.5; it must be 0 to 1");
    t.probability = NAN;
    assert_int_equal(stk__law_check(&t, 0, NULL), STK_EINVAL);
    t = transform_of(STK_NORMALIZE);
    passes(&t);
    t.std[1] = 0;
    refused(&t, "transform 3 (Normalize): std[1] is 0; it must be a number other than 0");
    t.std[1] = 1;
    t.mean[2] = INFINITY;
    refused(&t, "transform 3 (Normalize): mean[2] is inf; it must be a number");
}

static void becomes(const stk_transform *t, uint32_t width, uint32_t height, uint32_t want_width,
    uint32_t want_height)
{
    stk_error err = STK_ERROR_INIT;

    if (stk__law_size(t, 0, &width, &height, &err) != STK_OK)
        fail_msg("%s", err.text);
    assert_int_equal(width, want_width);
    assert_int_equal(height, want_height);
}

static void does_not_fit(const stk_transform *t, uint32_t width, uint32_t height, const char *text)
{
    stk_error err = STK_ERROR_INIT;

    assert_int_equal(stk__law_size(t, 2, &width, &height, &err), STK_ESHAPE);
    assert_string_equal(err.text, text);
}

/* Sizes by torchvision 0.29: int(size * long / short), int(max_size * short / long). */
static void the_short_side_is_set_and_the_long_one_follows(void **state)
{
    stk_transform t = sized(STK_RESIZE, 256, 0);
    (void)state;

    becomes(&t, 500, 375, 341, 256);
    becomes(&t, 375, 500, 256, 341);
    becomes(&t, 256, 256, 256, 256);
    becomes(&t, 1, 200, 256, 51200);
    does_not_fit(&t, 1, 300,
        "transform 2 (Resize): a picture of 1x300 becomes 256x76800; sides must be 1 to 65,535");
    t.max_size = 300;
    becomes(&t, 500, 375, 300, 225); /* int(300 * 256 / 341) */
    becomes(&t, 300, 299, 256, 256);
    does_not_fit(&t, 1, 301,
        "transform 2 (Resize): a picture of 1x301 becomes 0x300; sides must be 1 to 65,535");
    t = sized(STK_RESIZE, 7, 9);
    becomes(&t, 1, 300, 9, 7);
}

static void crops_need_their_pixels(void **state)
{
    stk_transform t = sized(STK_CROP, 20, 30);
    (void)state;

    t.top = 5;
    t.left = 7;
    becomes(&t, 37, 25, 30, 20);
    does_not_fit(
        &t, 36, 25, "transform 2 (Crop): 30x20 pixels from column 7, row 5; the picture has 36x25");
    t.left = UINT32_MAX;
    assert_int_equal(stk__law_size(&t, 0, &(uint32_t){100}, &(uint32_t){100}, NULL), STK_ESHAPE);

    t = sized(STK_RANDOM_CROP, 32, 30);
    becomes(&t, 30, 32, 30, 32);
    does_not_fit(
        &t, 30, 31, "transform 2 (RandomCrop): height is 32; the picture has 31 with its padding");
    t.padding[3] = 1;
    becomes(&t, 30, 31, 30, 32);
    t.pad_if_needed = true;
    becomes(&t, 1, 1, 30, 32);
}

static void reflections_reach_no_further_than_the_picture(void **state)
{
    stk_transform t = sized(STK_RANDOM_CROP, 10, 10);
    (void)state;

    t.padding[0] = 5;
    t.padding_mode = STK_PAD_REFLECT;
    becomes(&t, 6, 10, 10, 10);
    does_not_fit(
        &t, 5, 10, "transform 2 (RandomCrop): 5 columns of reflected padding; the picture has 5");
    t.padding_mode = STK_PAD_SYMMETRIC;
    becomes(&t, 5, 10, 10, 10);
    t.pad_if_needed = true; /* 3 rows are missing, on both sides */
    does_not_fit(
        &t, 9, 2, "transform 2 (RandomCrop): 8 rows of symmetric padding; the picture has 2");
    t.padding_mode = STK_PAD_EDGE;
    becomes(&t, 9, 2, 10, 10);
}

static void every_kind_has_a_name(void **state)
{
    (void)state;

    for (int kind = STK_RESIZE; kind <= STK_HORIZONTAL_FLIP; kind++)
        assert_true(strcmp(stk__law_name((stk_transform_kind)kind), "?") != 0);
    assert_string_equal(stk__law_name((stk_transform_kind)0), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_have_a_range),
        cmocka_unit_test(resizes_have_a_mode_and_a_bound),
        cmocka_unit_test(crops_have_paddings),
        cmocka_unit_test(ranges_are_positive_and_in_order),
        cmocka_unit_test(probabilities_and_numbers_are_numbers),
        cmocka_unit_test(the_short_side_is_set_and_the_long_one_follows),
        cmocka_unit_test(crops_need_their_pixels),
        cmocka_unit_test(reflections_reach_no_further_than_the_picture),
        cmocka_unit_test(every_kind_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
