/* Without these: a crop of a WebP differs at its edges, and animated, cut and damaged ones, of
 * which scraped sets are full, end a run. */
#include "support/golden.h"

static const char *const kinds[] = {
    "lossy.webp",
    "lossless.webp",
    "lossy_alpha.webp",
    "c60_anim.webp",
    "c60_alpha.webp",
    "frame_on_canvas.webp",
};

static void crops_have_the_pixels_of_the_whole(void **state)
{
    bench *b = *state;

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        check_crops(b->decoder, kinds[i], &b->random, 200);
}

static void every_cut_is_found(void **state)
{
    bench *b = *state;

    check_prefixes(b->decoder, "c46.webp", SIZE_MAX);
    check_prefixes(b->decoder, "c60_anim.webp", SIZE_MAX);
    check_prefixes(b->decoder, "c60_alpha.webp", SIZE_MAX);
    check_prefixes(b->decoder, "frame_on_canvas.webp", SIZE_MAX);
}

static void damage_never_reaches_beyond_the_buffers(void **state)
{
    bench *b = *state;

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        check_flips(kinds[i], &b->random, 400);
}

static void limits_and_ceilings_are_kept(void **state)
{
    stk__heap heap = {.ceiling_bytes = 100u << 10};
    stk_limits limits = STK_LIMITS_INIT;
    blob file = blob_read("lossy.webp");
    stk_error err = STK_ERROR_INIT;
    stk_image_info info;
    stk__decoder *decoder;
    pixels none;
    (void)state;

    limits.max_pixels = 67 * 91 - 1;
    assert_int_equal(stk_image_probe(blob_view(file), &limits, &info, &err), STK_ELIMIT);
    assert_int_equal(stk__decoder_new(&heap, NULL, &decoder, NULL), STK_OK);
    assert_int_equal(
        pixels_decode(decoder, blob_view(file), (stk_rect){0}, STK__RGB8, &none, &err), STK_ENOMEM);
    stk__decoder_free(decoder);
    assert_true(stk__load_relaxed_u64(&heap.used_bytes) == 0);
    blob_free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crops_have_the_pixels_of_the_whole),
        cmocka_unit_test(every_cut_is_found),
        cmocka_unit_test(damage_never_reaches_beyond_the_buffers),
        cmocka_unit_test(limits_and_ceilings_are_kept),
    };

    return cmocka_run_group_tests(tests, bench_set_up, bench_tear_down);
}
