/* Without these: a batch of floats is off by a rounding from what torch computes, or its axes are
 * exchanged. */
#include <math.h>

#include "random_chain.h"

/* 2^-14 and less have no more bits than 2^-24 is: the definition, slowly. */
static uint16_t half_by_search(float x)
{
    uint16_t best = 0;
    double least = INFINITY;

    for (uint32_t code = 0; code < 0x7c00; code++) {
        uint32_t exponent = code >> 10, fraction = code & 1023;
        double value =
            exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, (int)exponent - 25);
        double off = fabs(value - fabs((double)x));

        if (off < least || (off == least && (code & 1) == 0)) {
            least = off;
            best = (uint16_t)code;
        }
    }
    if (fabs((double)x) >= 65520)
        best = 0x7c00;
    return (uint16_t)(best | (signbit(x) ? 0x8000 : 0));
}

static uint16_t bfloat_by_rule(float x)
{
    uint32_t bits, tail;

    memcpy(&bits, &x, sizeof bits);
    tail = bits & 0xffff;
    bits >>= 16;
    if (tail > 0x8000 || (tail == 0x8000 && (bits & 1) != 0))
        bits++;
    return (uint16_t)bits;
}

static void each_value_is_what_torch_computes(void **state)
{
    rng *r = *state;
    static const stk_dtype dtypes[] = {STK_U8, STK_F32, STK_F16, STK_BF16};

    for (int round = 0; round < 60; round++) {
        const uint32_t w = 1 + (uint32_t)rng_below(r, 40), h = 1 + (uint32_t)rng_below(r, 4);
        const stk_dtype dtype = dtypes[rng_below(r, 4)];
        const stk_layout layout = (stk_layout)rng_below(r, 2);
        const size_t size = stk_dtype_bytes(dtype), count = (size_t)w * h * 3;
        stk_transform normal = transform_of(STK_NORMALIZE);
        bool plain = dtype == STK_U8 || rng_below(r, 3) == 0;
        uint8_t *pixels = random_pixels(r, count), *out = malloc(count * size);
        stk_image src = {pixels, (size_t)w * 3, w, h};

        assert_non_null(out);
        for (int c = 0; !plain && c < 3; c++) {
            normal.mean[c] = rng_float(r, -1, 1);
            normal.std[c] = rng_float(r, -1, 1) * (rng_below(r, 4) ? 1 : 1e-5f);
        }
        assert_int_equal(stk_image_transform(&src, &normal, plain ? 0 : 1, NULL, layout, dtype,
                             (stk_span){out, count * size}, NULL),
            STK_OK);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t c = i % 3, x = i / 3 % w, y = i / 3 / w;
            size_t at = layout == STK_NHWC ? i : ((size_t)c * h + y) * w + x;
            float value = (float)pixels[i] * (float)(1.0 / 255.0);
            uint16_t half;

            value = value - normal.mean[c];
            value = value / normal.std[c];
            if (dtype == STK_U8) {
                assert_int_equal(out[at], pixels[i]);
            } else if (dtype == STK_F32) {
                assert_memory_equal(out + at * 4, &value, 4);
            } else {
                half = dtype == STK_F16 ? half_by_search(value) : bfloat_by_rule(value);
                assert_memory_equal(out + at * 2, &half, 2);
            }
        }
        free(pixels);
        free(out);
    }
}

int main(void)
{
    static rng r;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(each_value_is_what_torch_computes, &r),
    };

    r = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
