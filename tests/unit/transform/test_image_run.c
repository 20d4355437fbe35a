/* Without these: a fused chain gives other pixels than its transforms one after the other; strips
 * cut elsewhere change a picture; steady state allocates. */
#include "base/heap.h"
#include "os/cpu.h"
#include "random_chain.h"
#include "transform/image_chain.h"

enum { CHAIN_MOST = 6 };

/* Transform `index` of a chain alone: those before it are replaced by flips that never happen, so
 * that it draws the same numbers. */
static void apply_alone(const stk_transform *transform, size_t index, const stk_draw *draw,
    uint8_t **pixels, uint32_t *width, uint32_t *height)
{
    stk_transform chain[CHAIN_MOST];
    stk_image src = {*pixels, (size_t)*width * 3, *width, *height};
    uint8_t *out;
    size_t bytes;

    for (size_t i = 0; i < index; i++) {
        chain[i] = transform_of(STK_RANDOM_HORIZONTAL_FLIP);
        chain[i].probability = 0;
    }
    chain[index] = *transform;
    assert_int_equal(
        stk_transform_shape(chain, index + 1, *width, *height, width, height, NULL), STK_OK);
    bytes = (size_t)*width * *height * 3;
    out = malloc(bytes);
    assert_non_null(out);
    assert_int_equal(stk_image_transform(&src, chain, index + 1, draw, STK_NHWC, STK_U8,
                         (stk_span){out, bytes}, NULL),
        STK_OK);
    free(*pixels);
    *pixels = out;
}

static void fused_equals_one_after_the_other(void **state)
{
    rng *r = *state;

    for (int round = 0; round < 3000; round++) {
        stk_transform chain[CHAIN_MOST];
        uint32_t width = random_side(r, 60), height = random_side(r, 60), w = width, h = height;
        size_t count = random_chain(r, chain, CHAIN_MOST, width, height, 50);
        size_t in_bytes = (size_t)width * height * 3, bytes;
        stk_draw draw = {rng_next(r), rng_below(r, 3), rng_next(r)};
        uint8_t *pixels = random_pixels(r, in_bytes), *fused;
        stk_image src = {pixels, (size_t)width * 3, width, height};

        assert_int_equal(stk_transform_shape(chain, count, width, height, &w, &h, NULL), STK_OK);
        bytes = (size_t)w * h * 3;
        fused = malloc(bytes);
        assert_non_null(fused);
        assert_int_equal(stk_image_transform(&src, chain, count, &draw, STK_NHWC, STK_U8,
                             (stk_span){fused, bytes}, NULL),
            STK_OK);
        w = width;
        h = height;
        for (size_t i = 0; i < count; i++)
            apply_alone(&chain[i], i, &draw, &pixels, &w, &h);
        assert_int_equal(bytes, (size_t)w * h * 3);
        assert_memory_equal(fused, pixels, bytes);
        free(fused);
        free(pixels);
    }
}

/* The rows of `part`, cut into strips of up to `most` rows, each in a block of exactly its size. */
static void give_strips(stk__image_run *run, rng *r, const uint8_t *rgb, uint32_t width,
    const stk_rect *part, uint32_t most)
{
    for (uint32_t row = 0; row < part->height;) {
        uint32_t left = part->height - row;
        uint32_t count = 1 + (uint32_t)rng_below(r, most < left ? most : left);
        size_t slack = rng_below(r, 9);
        size_t pitch = (size_t)part->width * 4 + slack;
        size_t bytes = pitch * count - slack; /* nothing behind the last pixel */
        uint8_t *strip = malloc(bytes);

        assert_non_null(strip);
        rng_fill(r, strip, bytes); /* the fourth byte may be anything */
        for (uint32_t y = 0; y < count; y++) {
            for (uint32_t x = 0; x < part->width; x++)
                memcpy(strip + y * pitch + x * 4,
                    rgb + ((size_t)(part->top + row + y) * width + part->left + x) * 3, 3);
        }
        assert_int_equal(stk__image_run_rows(run, strip, pitch, count, NULL), STK_OK);
        free(strip);
        row += count;
    }
}

static void any_cut_into_strips_gives_the_same(void **state)
{
    rng *r = *state;

    for (int round = 0; round < 1000; round++) {
        stk__heap heap = {0};
        stk_transform chain[CHAIN_MOST];
        uint32_t width = random_side(r, 80), height = random_side(r, 80), w, h;
        size_t count = random_chain(r, chain, CHAIN_MOST, width, height, 60);
        stk_layout layout = (stk_layout)rng_below(r, 2);
        stk_draw draw = {rng_next(r), 1, rng_next(r)};
        uint8_t *pixels = random_pixels(r, (size_t)width * height * 3), *want, *got;
        stk_image src = {pixels, (size_t)width * 3, width, height};
        stk__image_chain *compiled;
        stk__image_run *run;
        stk_rect part;
        size_t bytes;

        assert_int_equal(
            stk__image_chain_new(&heap, chain, count, layout, STK_U8, &compiled, NULL), STK_OK);
        assert_int_equal(stk__image_chain_shape(compiled, width, height, &w, &h, NULL), STK_OK);
        bytes = (size_t)w * h * 3;
        want = malloc(bytes);
        got = malloc(bytes);
        assert_true(want != NULL && got != NULL);
        assert_int_equal(stk_image_transform(&src, chain, count, &draw, layout, STK_U8,
                             (stk_span){want, bytes}, NULL),
            STK_OK);
        assert_int_equal(
            stk__image_run_new(&heap, compiled, rng_below(r, 2) ? stk__cpu_flags() : 0, &run, NULL),
            STK_OK);
        for (uint32_t most = 1; most <= 100; most += 33) {
            memset(got, 0xa5, bytes);
            assert_int_equal(
                stk__image_run_begin(run, width, height, &draw, got, &part, NULL), STK_OK);
            assert_true(part.left + part.width <= width && part.top + part.height <= height);
            give_strips(run, r, pixels, width, &part, most);
            assert_int_equal(stk__image_run_end(run, NULL), STK_OK);
            assert_memory_equal(got, want, bytes);
        }
        stk__image_run_free(run);
        stk__image_chain_free(compiled);
        assert_int_equal(heap.used_bytes, 0);
        free(pixels);
        free(want);
        free(got);
    }
}

int main(void)
{
    static rng r;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(fused_equals_one_after_the_other, &r),
        cmocka_unit_test_prestate(any_cut_into_strips_gives_the_same, &r),
    };

    r = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
