/* Without these: pictures differ from those of torchvision v2, and a model trained with one and
 * served with the other loses accuracy that nobody can explain. */
#include "base/hash.h"
#include "random_chain.h"
#include "vectors.h"

enum { CHAIN_MOST = 5 };

/* The noise of tools/make_resize_golden.py. */
static uint8_t *picture(uint64_t seed, uint32_t width, uint32_t height)
{
    size_t bytes = (size_t)width * height * 3;
    uint8_t *pixels = malloc(bytes);

    assert_non_null(pixels);
    for (size_t i = 0; i < bytes; i++)
        pixels[i] = (uint8_t)(stk__mix64((seed << 32) + i) >> 56);
    return pixels;
}

/* Transform a picture; the checksum of what comes out. */
static uint32_t checksum(uint64_t picture_seed, uint32_t width, uint32_t height,
    const stk_transform *chain, size_t count, const stk_draw *draw, stk_layout layout,
    stk_dtype dtype)
{
    uint8_t *pixels = picture(picture_seed, width, height), *out;
    stk_image src = {pixels, (size_t)width * 3, width, height};
    stk_error err = STK_ERROR_INIT;
    uint32_t w, h, crc;
    size_t bytes;

    if (stk_transform_shape(chain, count, width, height, &w, &h, &err) != STK_OK)
        fail_msg("%s", err.text);
    bytes = (size_t)w * h * 3 * stk_dtype_bytes(dtype);
    out = malloc(bytes);
    assert_non_null(out);
    if (stk_image_transform(
            &src, chain, count, draw, layout, dtype, (stk_span){out, bytes}, &err) != STK_OK)
        fail_msg("%s", err.text);
    crc = stk__crc32c(0, out, bytes);
    free(pixels);
    free(out);
    return crc;
}

static stk_interpolation mode_of(const char *line)
{
    if (vector_is(line, "mode", "bilinear"))
        return STK_BILINEAR;
    if (vector_is(line, "mode", "bicubic"))
        return STK_BICUBIC;
    assert_true(vector_is(line, "mode", "nearest"));
    return STK_NEAREST;
}

static void check_resize(const char *line)
{
    stk_transform t = sized(STK_RESIZE, (uint32_t)vector_number(line, "out_height"),
        (uint32_t)vector_number(line, "out_width"));
    uint32_t crc;

    t.interpolation = mode_of(line);
    t.antialias = vector_number(line, "antialias") != 0;
    crc = checksum(vector_number(line, "seed"), (uint32_t)vector_number(line, "width"),
        (uint32_t)vector_number(line, "height"), &t, 1, NULL, STK_NHWC, STK_U8);
    if (crc != strtoul(vector_answer(line), NULL, 0))
        fail_msg("other pixels than torchvision's: %s", line);
}

static stk_transform crop_resized(uint32_t size, stk_interpolation interpolation, bool antialias)
{
    stk_transform t = sized(STK_RANDOM_RESIZED_CROP, size, size);

    t.interpolation = interpolation;
    t.antialias = antialias;
    return t;
}

static stk_transform resized(uint32_t height, uint32_t width, stk_interpolation interpolation)
{
    stk_transform t = sized(STK_RESIZE, height, width);

    t.interpolation = interpolation;
    return t;
}

static stk_transform padded(uint32_t size, uint32_t left, uint32_t top, uint32_t right,
    uint32_t bottom, stk_padding_mode mode)
{
    stk_transform t = sized(STK_RANDOM_CROP, size, size);

    t.padding[0] = left;
    t.padding[1] = top;
    t.padding[2] = right;
    t.padding[3] = bottom;
    t.padding_mode = mode;
    return t;
}

/* The chains of tools/make_resize_golden.py. */
static size_t chain_of(const char *line, stk_transform *chain)
{
    const stk_transform flip = transform_of(STK_RANDOM_HORIZONTAL_FLIP);
    const stk_transform always = transform_of(STK_HORIZONTAL_FLIP);
    size_t n = 0;

    if (vector_is(line, "name", "train")) {
        chain[n++] = crop_resized(224, STK_BILINEAR, true);
        chain[n++] = flip;
    } else if (vector_is(line, "name", "train_bicubic")) {
        chain[n++] = crop_resized(96, STK_BICUBIC, true);
        chain[n++] = flip;
    } else if (vector_is(line, "name", "train_nearest")) {
        chain[n++] = crop_resized(64, STK_NEAREST, true);
        chain[n++] = flip;
    } else if (vector_is(line, "name", "train_plain")) {
        chain[n++] = crop_resized(64, STK_BILINEAR, false);
        chain[n++] = flip;
    } else if (vector_is(line, "name", "eval")) {
        chain[n++] = resized(256, 0, STK_BILINEAR);
        chain[n++] = sized(STK_CENTER_CROP, 224, 224);
    } else if (vector_is(line, "name", "eval_small")) {
        chain[n++] = resized(60, 0, STK_BICUBIC);
        chain[n++] = sized(STK_CENTER_CROP, 71, 50);
    } else if (vector_is(line, "name", "cifar")) {
        chain[n] = padded(32, 4, 4, 4, 4, STK_PAD_CONSTANT);
        chain[n].fill[0] = 9;
        chain[n].fill[1] = 200;
        chain[n++].fill[2] = 31;
        chain[n++] = flip;
    } else if (vector_is(line, "name", "cifar_reflect")) {
        chain[n++] = padded(32, 4, 3, 2, 1, STK_PAD_REFLECT);
        chain[n++] = flip;
    } else if (vector_is(line, "name", "cifar_edge")) {
        chain[n] = padded(40, 4, 4, 4, 4, STK_PAD_EDGE);
        chain[n++].pad_if_needed = true;
        chain[n++] = flip;
    } else if (vector_is(line, "name", "cifar_symmetric")) {
        chain[n++] = padded(32, 5, 5, 5, 5, STK_PAD_SYMMETRIC);
        chain[n++] = flip;
    } else if (vector_is(line, "name", "flip_first")) {
        chain[n++] = always;
        chain[n++] = crop_resized(40, STK_BILINEAR, true);
        chain[n++] = flip;
    } else if (vector_is(line, "name", "padded_resize")) {
        chain[n] = padded(48, 0, 0, 0, 0, STK_PAD_SYMMETRIC);
        chain[n++].pad_if_needed = true;
        chain[n++] = resized(31, 57, STK_BILINEAR);
        chain[n++] = flip;
    } else if (vector_is(line, "name", "two_resizes")) {
        chain[n] = resized(50, 0, STK_BILINEAR);
        chain[n++].max_size = 80;
        chain[n++] = flip;
        chain[n++] = resized(33, 20, STK_BICUBIC);
        chain[n++] = sized(STK_CENTER_CROP, 24, 24);
    } else if (vector_is(line, "name", "resize_pad")) {
        chain[n++] = resized(20, 26, STK_BILINEAR);
        chain[n++] = padded(32, 6, 6, 6, 6, STK_PAD_REFLECT);
        chain[n++] = always;
    } else {
        assert_true(vector_is(line, "name", "crops"));
        chain[n] = sized(STK_CROP, 24, 20);
        chain[n].top = 3;
        chain[n++].left = 5;
        chain[n++] = always;
        chain[n++] = sized(STK_CENTER_CROP, 30, 16);
        chain[n++] = resized(7, 40, STK_NEAREST);
        chain[n++] = sized(STK_CENTER_CROP, 9, 33);
    }
    return n;
}

static stk_dtype dtype_of(const char *line)
{
    if (vector_is(line, "dtype", "u8"))
        return STK_U8;
    if (vector_is(line, "dtype", "f16"))
        return STK_F16;
    if (vector_is(line, "dtype", "bf16"))
        return STK_BF16;
    assert_true(vector_is(line, "dtype", "f32"));
    return STK_F32;
}

static stk_transform normalized(void)
{
    static const float mean[3] = {0.485f, 0.456f, 0.406f}, std[3] = {0.229f, 0.224f, 0.225f};
    stk_transform t = transform_of(STK_NORMALIZE);

    memcpy(t.mean, mean, sizeof mean);
    memcpy(t.std, std, sizeof std);
    return t;
}

static void check_chain(const char *line)
{
    stk_transform chain[CHAIN_MOST + 1];
    size_t count = chain_of(line, chain);
    uint64_t sample = vector_number(line, "sample");
    stk_draw draw = {vector_number(line, "seed"), vector_number(line, "epoch"), sample};
    stk_layout layout = vector_is(line, "layout", "nchw") ? STK_NCHW : STK_NHWC;
    uint32_t crc;

    if (vector_number(line, "normal") != 0)
        chain[count++] = normalized();
    crc = checksum(sample, (uint32_t)vector_number(line, "width"),
        (uint32_t)vector_number(line, "height"), chain, count, &draw, layout, dtype_of(line));
    if (crc != strtoul(vector_answer(line), NULL, 0))
        fail_msg("other pixels than torchvision's: %s", line);
}

static void check(const char *line)
{
    if (vector_named(line, "resize"))
        check_resize(line);
    else if (vector_named(line, "chain"))
        check_chain(line);
    else
        fail_msg("a vector of no kind: %s", line);
}

static void equals_torchvision_bit_for_bit(void **state)
{
    (void)state;

    assert_true(each_vector(STK_TEST_SOURCE_DIR "/tests/golden/resize/expected.txt", check) > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_torchvision_bit_for_bit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
