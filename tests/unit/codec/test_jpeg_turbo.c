/* Without these: crops differ from the picture by a column of chroma, a cut file is trained on as
 * grey rows, a hostile one holds a thread for minutes, or memory leaks with each damaged sample. */
#include "codec/jpeg_turbo.h"
#include "support/golden.h"

static const char *const samplings[] = {
    "sample_444.jpg",
    "sample_422.jpg",
    "sample_420.jpg",
    "sample_440.jpg",
    "sample_411.jpg",
    "sample_410.jpg",
    "sample_mix.jpg",
    "sample_lumasub.jpg",
    "sample_grey.jpg",
    "sample_rgb.jpg",
    "sample_cmyk.jpg",
    "sample_restart_420.jpg",
    "sample_arithmetic_420.jpg",
    "sample_progressive_420.jpg",
    "sample_progressive_444.jpg",
    "sample_progressive_grey.jpg",
};

static void crops_have_the_pixels_of_the_whole(void **state)
{
    static const char *const tiny[] = {
        "tiny_1x1.jpg", "tiny_3x2.jpg", "tiny_5x7.jpg", "tiny_17x33.jpg", "tiny_200x9.jpg"};
    bench *b = *state;

    for (size_t i = 0; i < COUNT_OF(samplings); i++)
        check_crops(b->decoder, samplings[i], &b->random, 300);
    for (size_t i = 0; i < COUNT_OF(tiny); i++)
        check_crops(b->decoder, tiny[i], &b->random, 60);
}

/* A picture that our own decoder of coefficients is for is decoded by it to the end, or all of its
 * speed is lost without anybody noticing. */
static void common_pictures_are_decoded_once(void **state)
{
    static const char *const common[] = {
        "sample_444.jpg",
        "sample_422.jpg",
        "sample_420.jpg",
        "sample_440.jpg",
        "sample_411.jpg",
        "sample_410.jpg",
        "sample_mix.jpg",
        "sample_grey.jpg",
        "sample_cmyk.jpg",
        "sample_restart_420.jpg",
        "tiny_1x1.jpg",
    };
    stk_limits limits = STK_LIMITS_INIT;
    bench *b = *state;
    stk__heap heap = {0};
    uint64_t reads = 0;
    void *jpeg;

    assert_int_equal(stk__codec_jpeg.open(&heap, &limits, &jpeg, NULL), STK_OK);
    for (size_t i = 0; i < COUNT_OF(common); i++) {
        blob file = blob_read(common[i]);

        for (int round = 0; round < 30; round++) {
            stk_image_info info;
            stk__row_sink sink;
            stk_rect rect;
            pixels p;

            assert_int_equal(stk__codec_jpeg.begin(jpeg, blob_view(file), &info, NULL), STK_OK);
            rect = rect_random(&b->random, info.width, info.height);
            p = pixels_new(rect, STK__RGBX8);
            sink = (stk__row_sink){.ctx = &p, .rows = pixels_take};
            assert_int_equal(stk__codec_jpeg.read(jpeg, &rect, STK__RGBX8, &sink, NULL), STK_OK);
            free(p.data);
            reads++;
        }
        blob_free(file);
    }
    if (stk__jpeg_counted(jpeg).ours != 0) /* a libjpeg-turbo with which this was tried */
        assert_true(stk__jpeg_counted(jpeg).ours == reads);
    assert_true(stk__jpeg_counted(jpeg).anew == 0);
    stk__codec_jpeg.close(jpeg);
}

/* Drop the last scans: coefficients that never come are smoothed over from neighbours. */
static void crops_of_an_unfinished_progression_are_exact(void **state)
{
    bench *b = *state;
    blob file = blob_read("sample_progressive_420.jpg");
    size_t scans = 0, at = 0;
    pixels whole, part;

    for (; at + 1 < file.size; at++) {
        if (file.data[at] == 0xff && file.data[at + 1] == 0xda && ++scans == 4)
            break;
    }
    assert_int_equal(scans, 4);
    file.data[at + 1] = 0xd9;
    file.size = at + 2;
    assert_int_equal(
        pixels_decode(b->decoder, blob_view(file), (stk_rect){0}, STK__RGB8, &whole, NULL), STK_OK);
    for (int i = 0; i < 200; i++) {
        stk_rect rect = rect_random(&b->random, whole.rect.width, whole.rect.height);

        assert_int_equal(
            pixels_decode(b->decoder, blob_view(file), rect, STK__RGBX8, &part, NULL), STK_OK);
        assert_true(pixels_same(&part, &whole));
        free(part.data);
    }
    free(whole.data);
    blob_free(file);
}

static void every_cut_is_found(void **state)
{
    bench *b = *state;

    check_prefixes(b->decoder, "tiny_17x33.jpg", SIZE_MAX);
    check_prefixes(b->decoder, "c46_6.jpg", SIZE_MAX);
    check_prefixes(b->decoder, "c40.jpg", SIZE_MAX);
    check_prefixes(b->decoder, "sample_progressive_grey.jpg", SIZE_MAX);
}

/* "JPEG data ended in row 33 of 97": the row grows with what is there. */
static void the_row_of_a_cut_is_told(void **state)
{
    bench *b = *state;
    blob file = blob_read("sample_420.jpg");
    unsigned last = 0, rows = 0;

    for (size_t size = file.size / 5; size < file.size; size += 97) {
        blob prefix = blob_prefix(file, size);
        stk_error err = STK_ERROR_INIT;
        unsigned row, of;
        pixels none;

        assert_int_equal(
            pixels_decode(b->decoder, blob_view(prefix), (stk_rect){0}, STK__RGBX8, &none, &err),
            STK_ECORRUPT);
        assert_int_equal(err.offset, size);
        if (sscanf(err.text, "JPEG data ended in row %u of %u", &row, &of) == 2) {
            assert_int_equal(of, 97);
            assert_true(row >= last && row >= 1 && row <= 97);
            rows += row != last;
            last = row;
        }
        blob_free(prefix);
    }
    assert_true(rows >= 5); /* 97 rows are 7 rows of blocks */
    blob_free(file);
}

static void damage_never_reaches_beyond_the_buffers(void **state)
{
    bench *b = *state;

    check_flips("tiny_17x33.jpg", &b->random, 3000);
    check_flips("sample_progressive_grey.jpg", &b->random, 500);
    check_flips("sample_restart_420.jpg", &b->random, 300);
    check_flips("sample_arithmetic_420.jpg", &b->random, 200);
    check_flips("c40.jpg", &b->random, 500);
}

static void limits_are_those_that_were_set(void **state)
{
    stk__heap heap = {0};
    stk_limits limits = STK_LIMITS_INIT;
    blob file = blob_read("sample_progressive_420.jpg");
    stk_error err = STK_ERROR_INIT;
    stk_image_info info;
    stk__decoder *decoder;
    pixels none;
    (void)state;

    limits.max_scans = 3;
    assert_int_equal(stk__decoder_new(&heap, &limits, &decoder, NULL), STK_OK);
    assert_int_equal(
        pixels_decode(decoder, blob_view(file), (stk_rect){0}, STK__RGBX8, &none, &err),
        STK_ELIMIT);
    assert_non_null(strstr(err.text, "max_scans"));
    stk__decoder_free(decoder);

    limits.max_pixels = 97 * 131 - 1;
    assert_int_equal(stk_image_probe(blob_view(file), &limits, &info, &err), STK_ELIMIT);
    assert_non_null(strstr(err.text, "max_pixels"));
    limits.max_pixels++;
    assert_int_equal(stk_image_probe(blob_view(file), &limits, &info, &err), STK_OK);
    blob_free(file);
}

/* A ceiling on memory is kept and told, and the decoder is as good as new afterwards. */
static void memory_stays_under_the_ceiling(void **state)
{
    enum { CEILING = 640 << 10 };

    stk__heap heap = {.ceiling_bytes = CEILING};
    blob small = blob_read("sample_420.jpg"), large = blob_read("sample_progressive_444.jpg");
    stk_error err = STK_ERROR_INIT;
    stk__decoder *decoder;
    pixels p;
    int sof = 0;
    (void)state;

    for (size_t i = 0; i + 8 < large.size && sof == 0; i++) {
        if (large.data[i] == 0xff && large.data[i + 1] == 0xc2) {
            large.data[i + 7] = 2000 >> 8; /* pixels of a row: 1.2 MB of coefficients */
            large.data[i + 8] = 2000 & 0xff;
            sof = 1;
        }
    }
    assert_int_equal(sof, 1);
    assert_int_equal(stk__decoder_new(&heap, NULL, &decoder, NULL), STK_OK);
    assert_int_equal(
        pixels_decode(decoder, blob_view(large), (stk_rect){0}, STK__RGBX8, &p, &err), STK_ENOMEM);
    assert_int_equal(
        pixels_decode(decoder, blob_view(small), (stk_rect){0}, STK__RGBX8, &p, &err), STK_OK);
    free(p.data);
    assert_true(stk__load_relaxed_u64(&heap.peak_bytes) <= CEILING);
    stk__decoder_free(decoder);
    assert_true(stk__load_relaxed_u64(&heap.used_bytes) == 0);
    blob_free(small);
    blob_free(large);
}

static stk_status refuse_rows(
    void *ctx, const uint8_t *rows, size_t pitch_bytes, uint32_t count, stk_error *err)
{
    uint32_t *left = ctx;
    (void)rows;
    (void)pitch_bytes;
    (void)count;

    if ((*left)-- > 0)
        return STK_OK;
    if (err != NULL)
        snprintf(err->text, sizeof err->text, "no more rows wanted");
    return STK_ESHAPE;
}

static void a_failure_of_the_sink_is_handed_on(void **state)
{
    bench *b = *state;
    blob file = blob_read("sample_420.jpg");

    for (uint32_t after = 0; after < 3; after++) {
        uint32_t left = after;
        stk__row_sink sink = {.ctx = &left, .rows = refuse_rows};
        stk_rect rect = {.left = 5, .top = 5, .width = 100, .height = 80};
        stk_error err = STK_ERROR_INIT;
        stk_image_info info;

        assert_int_equal(stk__decoder_begin(b->decoder, blob_view(file), &info, &err), STK_OK);
        assert_int_equal(stk__decoder_read(b->decoder, &rect, STK__RGBX8, &sink, &err), STK_ESHAPE);
        assert_string_equal(err.text, "no more rows wanted");
    }
    blob_free(file);
}

/* Another file in place of what follows the first part of one: no end marker before it. */
static void a_second_picture_is_not_the_end_of_the_first(void **state)
{
    bench *b = *state;
    blob file = blob_read("sample_420.jpg");
    size_t cut = file.size * 2 / 3;
    blob both = blob_new(cut + file.size);
    stk_rect top = {.width = 20, .height = 3};
    stk_error err = STK_ERROR_INIT;
    pixels none;

    memcpy(both.data, file.data, cut);
    memcpy(both.data + cut, file.data, file.size);
    assert_int_equal(
        pixels_decode(b->decoder, blob_view(both), top, STK__RGBX8, &none, &err), STK_ECORRUPT);
    assert_int_equal(err.offset, cut);
    blob_free(both);
    blob_free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crops_have_the_pixels_of_the_whole),
        cmocka_unit_test(common_pictures_are_decoded_once),
        cmocka_unit_test(crops_of_an_unfinished_progression_are_exact),
        cmocka_unit_test(every_cut_is_found),
        cmocka_unit_test(the_row_of_a_cut_is_told),
        cmocka_unit_test(damage_never_reaches_beyond_the_buffers),
        cmocka_unit_test(limits_are_those_that_were_set),
        cmocka_unit_test(memory_stays_under_the_ceiling),
        cmocka_unit_test(a_failure_of_the_sink_is_handed_on),
        cmocka_unit_test(a_second_picture_is_not_the_end_of_the_first),
    };

    return cmocka_run_group_tests(tests, bench_set_up, bench_tear_down);
}
