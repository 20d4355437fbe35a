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

/* A run of a chain, ready to begin. */
typedef struct made {
    stk__heap heap;
    stk__image_chain *chain;
    stk__image_run *run;
} made;

static void make(made *m, const stk_transform *chain, size_t count)
{
    memset(m, 0, sizeof *m);
    assert_int_equal(
        stk__image_chain_new(&m->heap, chain, count, STK_NCHW, STK_U8, &m->chain, NULL), STK_OK);
    assert_int_equal(
        stk__image_run_new(&m->heap, m->chain, stk__cpu_flags(), &m->run, NULL), STK_OK);
}

static void unmake(made *m)
{
    stk__image_run_free(m->run);
    stk__image_chain_free(m->chain);
    assert_int_equal(m->heap.used_bytes, 0);
}

static void assert_part(const stk_transform *chain, size_t count, uint32_t width, uint32_t height,
    uint32_t left, uint32_t top, uint32_t part_width, uint32_t part_height)
{
    static uint8_t out[600 * 600 * 3];
    stk_rect part;
    made m;

    make(&m, chain, count);
    assert_int_equal(stk__image_run_begin(m.run, width, height, NULL, out, &part, NULL), STK_OK);
    assert_int_equal(part.left, left);
    assert_int_equal(part.top, top);
    assert_int_equal(part.width, part_width);
    assert_int_equal(part.height, part_height);
    unmake(&m);
}

/* By hand: the crop of 224 from the middle of 341x256 has columns 58 to 281 (58.5 goes to the even
 * number) and rows 16 to 239. At a scale of 500 / 341 = 1.4663 column 58 is around 85.78 and
 * reaches from trunc(85.78 - 1.47 + 0.5) = 84 on, column 281 around 412.76 to trunc(414.72) = 414,
 * not included. Rows at 1.4648: 16 around 24.17 from 23 on, 239 around 350.83 to 352. */
static void only_what_the_taps_reach_is_asked_for(void **state)
{
    stk_transform chain[4] = {sized(STK_RESIZE, 256, 0), sized(STK_CENTER_CROP, 224, 224),
        transform_of(STK_HORIZONTAL_FLIP)};
    (void)state;

    assert_part(chain, 1, 500, 375, 0, 0, 500, 375);
    assert_part(chain, 2, 500, 375, 84, 23, 330, 329);
    assert_part(chain, 3, 500, 375, 84, 23, 330, 329);
    chain[0] = transform_of(STK_HORIZONTAL_FLIP); /* a flip before: the mirrored part */
    chain[1] = sized(STK_RESIZE, 256, 0);
    chain[2] = sized(STK_CENTER_CROP, 224, 100);
    assert_part(chain + 1, 2, 500, 375, 175, 23, 148, 329);
    assert_part(chain, 3, 500, 375, 500 - 175 - 148, 23, 148, 329);
    chain[0] = sized(STK_CROP, 100, 90); /* crops of crops, and a second resize */
    chain[0].left = 20;
    chain[0].top = 30;
    chain[1] = sized(STK_CENTER_CROP, 10, 20);
    assert_part(chain, 2, 200, 200, 55, 75, 20, 10);
    chain[1] = sized(STK_RESIZE, 50, 45);
    chain[2] = sized(STK_RESIZE, 100, 90);
    chain[3] =
        sized(STK_CENTER_CROP, 2, 2); /* 44 and 45 of 90 from 21 to 23 of 45, from 41 to 48 */
    assert_part(chain, 4, 200, 200, 20 + 41, 30 + 47, 8, 6);
}

static void padding_alone_asks_for_nothing(void **state)
{
    enum { SIDE = 8 };

    stk_transform pad = sized(STK_RANDOM_CROP, SIDE, SIDE);
    uint8_t out[SIDE * SIDE * 3];
    stk_rect part;
    uint64_t sample = 0;
    made m;
    (void)state;

    pad.padding[0] = 100; /* the crop lies on the left of the picture nearly always */
    pad.fill[0] = 9;
    pad.fill[2] = 11;
    make(&m, &pad, 1);
    for (;; sample++) {
        stk_draw draw = {1, 0, sample};

        assert_int_equal(stk__image_run_begin(m.run, SIDE, SIDE, &draw, out, &part, NULL), STK_OK);
        if (part.height == 0)
            break;
    }
    assert_int_equal(stk__image_run_end(m.run, NULL), STK_OK);
    for (size_t i = 0; i < SIDE * SIDE; i++)
        assert_true(out[i] == 9 && out[64 + i] == 0 && out[128 + i] == 11);
    unmake(&m);
}

/* One picture of `width` x `height` of blank rows. */
static void blank_picture(made *m, uint32_t width, uint32_t height, uint64_t sample, uint8_t *out)
{
    static const uint8_t row[300 * 4];
    const stk_draw draw = {1, 0, sample};
    stk_rect part;

    assert_int_equal(stk__image_run_begin(m->run, width, height, &draw, out, &part, NULL), STK_OK);
    for (uint32_t y = 0; y < part.height; y++)
        assert_int_equal(stk__image_run_rows(m->run, row, sizeof row, 1, NULL), STK_OK);
    assert_int_equal(stk__image_run_end(m->run, NULL), STK_OK);
}

/* The crops of a picture need memory for different numbers of taps: the first one gets enough for
 * all of them. */
static void steady_state_allocates_nothing(void **state)
{
    static const stk_interpolation modes[] = {STK_BILINEAR, STK_BICUBIC, STK_NEAREST};
    static uint8_t out[100 * 90 * 3];
    (void)state;

    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        stk_transform chain[2] = {
            sized(STK_RANDOM_RESIZED_CROP, 100, 90), transform_of(STK_RANDOM_HORIZONTAL_FLIP)};
        uint64_t before = 0;
        made m;

        chain[0].interpolation = modes[i];
        make(&m, chain, 2);
        for (uint64_t sample = 0; sample < 2000; sample++) {
            if (sample == 1)
                before = m.heap.allocations;
            blank_picture(&m, 300, 260, sample, out);
        }
        assert_int_equal(m.heap.allocations, before);
        unmake(&m);
    }
}

/* Several stages, and pictures of many sizes: once the largest was there, no more. */
static void scratch_of_the_largest_picture_stays(void **state)
{
    stk_transform chain[3] = {
        sized(STK_RESIZE, 70, 0), sized(STK_RANDOM_CROP, 60, 60), sized(STK_RESIZE, 30, 40)};
    static uint8_t out[30 * 40 * 3];
    uint64_t before = 0;
    made m;
    (void)state;

    make(&m, chain, 3);
    for (uint64_t sample = 0; sample < 600; sample++) {
        if (sample == 300)
            before = m.heap.allocations;
        blank_picture(&m, 200 + (uint32_t)(sample * 37 % 100), 200 + (uint32_t)(sample * 53 % 100),
            sample % 300, out);
    }
    assert_int_equal(m.heap.allocations, before);
    unmake(&m);
}

static void rows_too_many_or_too_few_are_refused(void **state)
{
    const stk_transform t = sized(STK_RESIZE, 4, 4);
    uint8_t row[8 * 4] = {0}, out[4 * 4 * 3];
    stk_error err = STK_ERROR_INIT;
    stk_rect part;
    made m;
    (void)state;

    make(&m, &t, 1);
    assert_int_equal(stk__image_run_rows(m.run, row, 32, 1, &err), STK_EINVAL);
    assert_int_equal(stk__image_run_end(m.run, &err), STK_EINVAL);
    assert_int_equal(stk__image_run_begin(m.run, 8, 8, NULL, out, &part, NULL), STK_OK);
    assert_int_equal(stk__image_run_rows(m.run, row, 0, 7, NULL), STK_OK);
    assert_int_equal(stk__image_run_rows(m.run, row, 0, 2, &err), STK_EINVAL);
    assert_string_equal(err.text, "2 rows were given; 1 are wanted");
    assert_int_equal(stk__image_run_end(m.run, &err), STK_EINVAL);
    assert_string_equal(err.text, "7 rows of a picture were given; 8 are wanted");
    assert_int_equal(stk__image_run_begin(m.run, 8, 8, NULL, out, &part, NULL), STK_OK);
    assert_int_equal(stk__image_run_rows(m.run, row, 0, 8, NULL), STK_OK);
    assert_int_equal(stk__image_run_end(m.run, NULL), STK_OK);
    unmake(&m);
}

/* A ceiling that lets one more allocation pass each time, until the picture comes out. */
static void without_memory_it_fails_and_can_begin_again(void **state)
{
    const stk_transform chain[4] = {sized(STK_RESIZE, 40, 50), sized(STK_RANDOM_CROP, 60, 60),
        sized(STK_RESIZE, 30, 0), sized(STK_RESIZE, 11, 9)};
    static uint8_t out[11 * 9 * 3], want[11 * 9 * 3], row[80 * 4];
    uint32_t failures = 0;
    rng *r = *state;

    rng_fill(r, row, sizeof row);
    for (uint64_t ceiling = 0, step = 0;; ceiling += step) {
        stk_transform pad = chain[1];
        stk_transform used[4] = {chain[0], pad, chain[2], chain[3]};
        stk_error err = STK_ERROR_INIT;
        stk_status st;
        stk_rect part;
        made m;

        used[1].pad_if_needed = true;
        make(&m, used, 4);
        m.heap.ceiling_bytes = m.heap.used_bytes + ceiling + 1;
        st = stk__image_run_begin(m.run, 80, 70, NULL, out, &part, &err);
        if (st != STK_OK) {
            assert_int_equal(st, STK_ENOMEM);
            assert_int_equal(err.status, STK_ENOMEM);
            m.heap.ceiling_bytes = 0;
            assert_int_equal(stk__image_run_begin(m.run, 80, 70, NULL, out, &part, NULL), STK_OK);
            failures++;
        }
        for (uint32_t y = 0; y < part.height; y++)
            assert_int_equal(stk__image_run_rows(m.run, row, sizeof row, 1, NULL), STK_OK);
        assert_int_equal(stk__image_run_end(m.run, NULL), STK_OK);
        if (ceiling == 0)
            memcpy(want, out, sizeof want);
        assert_memory_equal(out, want, sizeof want);
        unmake(&m);
        if (st == STK_OK)
            break;
        step = 100;
    }
    assert_true(failures > 20);
    stk__image_run_free(NULL);
}

int main(void)
{
    static rng r;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(fused_equals_one_after_the_other, &r),
        cmocka_unit_test_prestate(any_cut_into_strips_gives_the_same, &r),
        cmocka_unit_test(only_what_the_taps_reach_is_asked_for),
        cmocka_unit_test(padding_alone_asks_for_nothing),
        cmocka_unit_test(steady_state_allocates_nothing),
        cmocka_unit_test(scratch_of_the_largest_picture_stays),
        cmocka_unit_test(rows_too_many_or_too_few_are_refused),
        cmocka_unit_test_prestate(without_memory_it_fails_and_can_begin_again, &r),
    };

    r = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
