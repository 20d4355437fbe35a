/* Without these: one bad picture leaves a decoder in a state that spoils the next one. */
#include "support/golden.h"

/* Good and bad pictures of all formats in random order: each gives what it gives to a new decoder.
 */
static void no_picture_changes_another(void **state)
{
    static const char *const names[] = {
        "sample_420.jpg",
        "c47.jpg",
        "c40.jpg",
        "sample_progressive_420.jpg",
        "no_tables.jpg",
        "c44_12bit.jpg",
        "limit.jpg",
        "motion_jpeg.jpg",
        "kind_2_8.png",
        "c57_cut.png",
        "kind_3_4.png",
        "lossy.webp",
        "c60_cut.webp",
        "c52_html.jpg",
        "c59.gif",
    };
    bench *b = *state;
    blob files[COUNT_OF(names)];
    stk_status status[COUNT_OF(names)];
    uint32_t crc[COUNT_OF(names)];

    for (int round = 0; round < 400; round++) {
        size_t i =
            round < (int)COUNT_OF(names) ? (size_t)round : rng_below(&b->random, COUNT_OF(names));
        bool first = round < (int)COUNT_OF(names);
        stk__decoder *decoder = b->decoder;
        uint32_t sum = 0;
        stk_status st;
        pixels p;

        if (first) {
            files[i] = blob_read(names[i]);
            assert_int_equal(stk__decoder_new(&b->heap, NULL, &decoder, NULL), STK_OK);
        }
        st = pixels_decode(decoder, blob_view(files[i]), (stk_rect){0}, STK__RGB8, &p, NULL);
        if (st >= 0)
            sum = stk__crc32c(0, p.data, (size_t)p.rect.width * p.rect.height * 3);
        free(p.data);
        if (first) {
            status[i] = st;
            crc[i] = sum;
            stk__decoder_free(decoder);
        }
        assert_int_equal(st, status[i]);
        assert_int_equal(sum, crc[i]);
    }
    for (size_t i = 0; i < COUNT_OF(names); i++)
        blob_free(files[i]);
}

static void calls_in_the_wrong_order_are_refused(void **state)
{
    bench *b = *state;
    blob file = blob_read("sample_420.jpg"), broken = blob_read("c52_html.jpg");
    stk_rect rect = {.width = 1, .height = 1};
    stk_error err = STK_ERROR_INIT;
    stk__decoder *fresh;
    stk_image_info info;
    pixels p = pixels_new(rect, STK__RGB8);
    stk__row_sink sink = {.ctx = &p, .rows = pixels_take};

    if (!golden_is_built("x.jpg"))
        skip();
    assert_int_equal(stk__decoder_new(&b->heap, NULL, &fresh, NULL), STK_OK);
    assert_int_equal(stk__decoder_read(fresh, &rect, STK__RGB8, &sink, &err), STK_EINVAL);
    assert_int_equal(stk__decoder_begin(fresh, blob_view(file), &info, &err), STK_OK);
    assert_int_equal(stk__decoder_begin(fresh, blob_view(broken), &info, &err), STK_ECORRUPT);
    assert_int_equal(stk__decoder_read(fresh, &rect, STK__RGB8, &sink, &err), STK_EINVAL);
    assert_int_equal(stk__decoder_begin(fresh, blob_view(file), &info, &err), STK_OK);
    assert_int_equal(stk__decoder_begin(fresh, blob_view(file), &info, &err), STK_OK);
    assert_int_equal(stk__decoder_read(fresh, &rect, STK__RGB8, &sink, &err), STK_OK);
    assert_int_equal(stk__decoder_read(fresh, &rect, STK__RGB8, &sink, &err), STK_EINVAL);
    assert_int_equal(stk__decoder_begin(fresh, blob_view(file), &info, &err), STK_OK);
    stk__decoder_free(fresh); /* with a picture begun */
    stk__decoder_free(NULL);
    free(p.data);
    blob_free(file);
    blob_free(broken);
}

/* What the plan is told is what a decoder takes, and not ten times as much. */
static void scratch_is_about_what_is_taken(void **state)
{
    static const char *const names[] = {
        "sample_444.jpg", "sample_progressive_444.jpg", "kind_6_16_i.png", "lossless.webp"};
    (void)state;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        stk__heap heap = {0};
        stk__decoder *decoder;
        blob file;
        pixels p;

        if (!golden_is_built(names[i]))
            continue;
        file = blob_read(names[i]);
        assert_int_equal(stk__decoder_new(&heap, NULL, &decoder, NULL), STK_OK);
        assert_int_equal(
            pixels_decode(decoder, blob_view(file), (stk_rect){0}, STK__RGBX8, &p, NULL), STK_OK);
        assert_true(stk__load_relaxed_u64(&heap.peak_bytes) <=
                    stk__decoder_scratch_bytes(p.rect.width, p.rect.height));
        assert_true(stk__decoder_scratch_bytes(p.rect.width, p.rect.height) <=
                    10 * stk__load_relaxed_u64(&heap.peak_bytes));
        free(p.data);
        stk__decoder_free(decoder);
        blob_free(file);
    }
    assert_true(stk__decoder_scratch_bytes(4000, 3000) >= 72000000u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_picture_changes_another),
        cmocka_unit_test(calls_in_the_wrong_order_are_refused),
        cmocka_unit_test(scratch_is_about_what_is_taken),
    };

    return cmocka_run_group_tests(tests, bench_set_up, bench_tear_down);
}
