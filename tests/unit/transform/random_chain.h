/* Random pictures and random chains that work on them, for the tests of this folder. */
#ifndef STK_RANDOM_CHAIN_H
#define STK_RANDOM_CHAIN_H

#include <stoker/transform.h>

#include "support/test.h"

static inline stk_transform transform_of(stk_transform_kind kind)
{
    stk_transform t = STK_TRANSFORM_INIT;

    t.kind = kind;
    return t;
}

static inline stk_transform sized(stk_transform_kind kind, uint32_t height, uint32_t width)
{
    stk_transform t = transform_of(kind);

    t.height = height;
    t.width = width;
    return t;
}

static inline uint32_t random_side(rng *r, uint32_t most)
{
    return 1 + (uint32_t)rng_below(r, rng_below(r, 4) == 0 ? 4 : most);
}

/* A transform with random fields, in range as far as they alone can tell. */
static inline stk_transform random_transform(rng *r, uint32_t most)
{
    static const stk_transform_kind kinds[] = {STK_RESIZE, STK_RESIZE, STK_CENTER_CROP,
        STK_RANDOM_CROP, STK_RANDOM_CROP, STK_RANDOM_RESIZED_CROP, STK_RANDOM_HORIZONTAL_FLIP,
        STK_CROP, STK_HORIZONTAL_FLIP};
    stk_transform t =
        sized(kinds[rng_below(r, COUNT_OF(kinds))], random_side(r, most), random_side(r, most));

    t.interpolation = (stk_interpolation)rng_below(r, 3);
    t.antialias = rng_below(r, 3) > 0;
    t.padding_mode = (stk_padding_mode)rng_below(r, 4);
    t.pad_if_needed = rng_below(r, 2) > 0;
    t.top = (uint32_t)rng_below(r, 6);
    t.left = (uint32_t)rng_below(r, 6);
    for (int side = 0; side < 4; side++)
        t.padding[side] = (uint32_t)rng_below(r, 5);
    rng_fill(r, t.fill, 3);
    if (t.kind == STK_RESIZE && rng_below(r, 3) == 0) {
        t.width = 0;
        t.max_size = rng_below(r, 2) > 0 ? t.height + 1 + (uint32_t)rng_below(r, most) : 0;
    }
    return t;
}

/* Up to `most` transforms that take a picture of width x height: those that do not fit are left
 * out. Returns how many there are. */
static inline size_t random_chain(
    rng *r, stk_transform *chain, size_t most, uint32_t width, uint32_t height, uint32_t side)
{
    size_t count = 0;

    for (size_t tries = rng_below(r, most + 1); tries > 0; tries--) {
        uint32_t out_width, out_height;

        chain[count] = random_transform(r, side);
        if (stk_transform_shape(chain, count + 1, width, height, &out_width, &out_height, NULL) ==
                STK_OK &&
            (uint64_t)out_width * out_height < 40000)
            count++;
    }
    return count;
}

/* A picture of noise, or of few values; freed with free(). */
static inline uint8_t *random_pixels(rng *r, size_t count)
{
    uint8_t *pixels = malloc(count > 0 ? count : 1);
    bool hard = rng_below(r, 3) == 0;

    assert_non_null(pixels);
    rng_fill(r, pixels, count);
    for (size_t i = 0; hard && i < count; i++)
        pixels[i] = pixels[i] < 128 ? 0 : 255;
    return pixels;
}

#endif
