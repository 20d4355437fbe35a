/* Without these: a PNG that was cut or holds a bomb is taken for good or takes all memory, and a
 * crop of an interlaced one is of another place. */
#include "support/golden.h"

static const char *const kinds[] = {
    "kind_0_1.png",
    "kind_0_4_i.png",
    "kind_0_16.png",
    "kind_2_8.png",
    "kind_2_8_i.png",
    "kind_2_16_i.png",
    "kind_3_4.png",
    "kind_3_8_i.png",
    "kind_4_8.png",
    "kind_6_8.png",
    "kind_6_16_i.png",
    "c56.png",
};

static void crops_have_the_pixels_of_the_whole(void **state)
{
    bench *b = *state;

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        check_crops(b->decoder, kinds[i], &b->random, 60);
}

/* Only the end chunk of 12 bytes may be missing. */
static void every_cut_is_found(void **state)
{
    bench *b = *state;

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        blob file = blob_read(kinds[i]);

        check_prefixes(b->decoder, kinds[i], file.size - 12);
        blob_free(file);
    }
}

static void damage_never_reaches_beyond_the_buffers(void **state)
{
    bench *b = *state;

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        check_flips(kinds[i], &b->random, 400);
}

/* Sums over image data are checked below the crop, too. */
static void damage_below_the_crop_is_found(void **state)
{
    bench *b = *state;
    blob file = blob_read("c57_idatcrc.png");
    stk_rect top = {.width = 1, .height = 1};
    stk_error err = STK_ERROR_INIT;
    pixels none;

    assert_int_equal(
        pixels_decode(b->decoder, blob_view(file), top, STK__RGB8, &none, &err), STK_ECORRUPT);
    blob_free(file);
}

/* 5 MB of text in 5 kB: it is never inflated. */
static void a_bomb_of_text_costs_no_memory(void **state)
{
    stk__heap heap = {.ceiling_bytes = 1u << 20};
    blob file = blob_read("c58_txt.png");
    stk__decoder *decoder;
    pixels p;
    (void)state;

    assert_int_equal(stk__decoder_new(&heap, NULL, &decoder, NULL), STK_OK);
    assert_int_equal(
        pixels_decode(decoder, blob_view(file), (stk_rect){0}, STK__RGB8, &p, NULL), STK_OK);
    free(p.data);
    stk__decoder_free(decoder);
    assert_true(stk__load_relaxed_u64(&heap.used_bytes) == 0);
    blob_free(file);
}

static void memory_stays_under_the_ceiling(void **state)
{
    stk__heap heap = {.ceiling_bytes = 40u << 10};
    blob file = blob_read("kind_2_8_i.png");
    stk_error err = STK_ERROR_INIT;
    stk__decoder *decoder;
    pixels none;
    (void)state;

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
        cmocka_unit_test(damage_below_the_crop_is_found),
        cmocka_unit_test(a_bomb_of_text_costs_no_memory),
        cmocka_unit_test(memory_stays_under_the_ceiling),
    };

    return cmocka_run_group_tests(tests, bench_set_up, bench_tear_down);
}
