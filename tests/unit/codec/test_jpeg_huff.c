/* Without these: our own Huffman decoder gives a picture other pixels than the library does, or
 * takes a damaged one for good, or reads past its end. */
#include "codec/jpeg_huff.h"
#include "support/golden.h"

enum { MOST_COLUMNS = 160, MOST_ROWS = 8 };

/* Blocks of one MCU row of each component, as the library would hold them. */
typedef struct row_blocks {
    int16_t blocks[STK__JPEG_PARTS][MOST_ROWS][MOST_COLUMNS][64];
    int16_t (*rows[STK__JPEG_PARTS][MOST_ROWS])[64];
    int16_t (*const *parts[STK__JPEG_PARTS])[64];
} row_blocks;

static row_blocks *row_blocks_new(void)
{
    row_blocks *b = calloc(1, sizeof *b);

    assert_non_null(b);
    for (size_t i = 0; i < STK__JPEG_PARTS; i++) {
        for (size_t v = 0; v < MOST_ROWS; v++)
            b->rows[i][v] = b->blocks[i][v];
        b->parts[i] = b->rows[i];
    }
    return b;
}

static stk__jpeg_huff *huff_new(void)
{
    stk__jpeg_huff *huff = calloc(1, sizeof *huff);

    assert_non_null(huff);
    return huff;
}

/* Sum over the coefficients of columns [first, end) of an MCU row. */
static uint32_t sum_of(
    const stk__jpeg_huff *huff, const row_blocks *b, uint32_t first, uint32_t end)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < huff->parts_count; i++) {
        const stk__jpeg_part *part = &huff->parts[i];

        for (uint32_t v = 0; v < part->v; v++)
            sum = stk__crc32c(sum, b->blocks[i][v][first * part->h],
                (size_t)(end - first) * part->h * sizeof b->blocks[i][v][0]);
    }
    return sum;
}

static const char *const fitting[] = {
    "sample_444.jpg",
    "sample_422.jpg",
    "sample_420.jpg",
    "sample_440.jpg",
    "sample_411.jpg",
    "sample_410.jpg",
    "sample_mix.jpg",
    "sample_lumasub.jpg",
    "sample_rgb.jpg",
    "sample_grey.jpg",
    "sample_cmyk.jpg",
    "sample_restart_420.jpg",
    "tiny_1x1.jpg",
    "tiny_200x9.jpg",
};

/* Rows left out and columns left out change nothing in what is decoded. */
static void any_part_is_that_of_the_whole(void **state)
{
    bench *bench_state = *state;
    rng *r = &bench_state->random;
    stk__jpeg_huff *huff = huff_new();
    row_blocks *b = row_blocks_new();
    stk__heap heap = {0};
    stk__arena arena;

    stk__arena_init(&arena, &heap);
    for (size_t i = 0; i < COUNT_OF(fitting); i++) {
        blob file = blob_read(fitting[i]);
        uint32_t whole[MOST_COLUMNS], first = 0, end = 0;

        for (int round = 0; round < 40; round++) {
            if (!stk__jpeg_huff_begin(huff, blob_view(file)) || !stk__jpeg_huff_load(huff, &arena))
                fail_msg("%s does not fit", fitting[i]);
            if (round % 10 == 0) {
                first = (uint32_t)rng_below(r, huff->mcus_across);
                end = first + 1 + (uint32_t)rng_below(r, huff->mcus_across - first);
                for (uint32_t row = 0; row < huff->mcus_down; row++) {
                    assert_true(stk__jpeg_huff_row(huff, row, 0, huff->mcus_across, b->parts));
                    whole[row] = sum_of(huff, b, first, end);
                }
            } else {
                for (uint32_t row = 0; row < huff->mcus_down; row++) {
                    if (rng_below(r, 3) == 0)
                        continue;
                    assert_true(stk__jpeg_huff_row(huff, row, first, end, b->parts));
                    assert_int_equal(sum_of(huff, b, first, end), whole[row]);
                }
            }
            stk__arena_reset(&arena);
        }
        blob_free(file);
    }
    stk__arena_fini(&arena);
    free(b);
    free(huff);
}

static void what_does_not_fit_is_left_to_the_library(void **state)
{
    static const char *const others[] = {
        "sample_progressive_420.jpg",
        "sample_arithmetic_420.jpg",
        "c44_12bit.jpg",
        "c44_sof3.jpg",
        "motion_jpeg.jpg", /* without tables */
        "c49_fill.jpg",
        "c49_soi.jpg",
        "c47_head.jpg",
    };
    static const char *const cut[] = {
        "c47.jpg", "c47_noend.jpg", "c47_zeros.jpg", "restart_lost.jpg"};
    stk__jpeg_huff *huff = huff_new();
    stk__heap heap = {0};
    stk__arena arena;
    (void)state;

    stk__arena_init(&arena, &heap);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        blob file = blob_read(others[i]);

        if (stk__jpeg_huff_begin(huff, blob_view(file)))
            fail_msg("%s was taken", others[i]);
        blob_free(file);
    }
    for (size_t i = 0; i < COUNT_OF(cut); i++) {
        blob file = blob_read(cut[i]);

        assert_true(stk__jpeg_huff_begin(huff, blob_view(file)));
        if (stk__jpeg_huff_load(huff, &arena))
            fail_msg("%s was loaded", cut[i]);
        blob_free(file);
    }
    stk__arena_fini(&arena);
    free(huff);
}

static void rows_do_not_go_back(void **state)
{
    stk__jpeg_huff *huff = huff_new();
    row_blocks *b = row_blocks_new();
    blob file = blob_read("sample_420.jpg");
    stk__heap heap = {0};
    stk__arena arena;
    (void)state;

    stk__arena_init(&arena, &heap);
    assert_true(stk__jpeg_huff_begin(huff, blob_view(file)));
    assert_true(stk__jpeg_huff_load(huff, &arena));
    assert_true(stk__jpeg_huff_row(huff, 1, 0, 1, b->parts));
    assert_false(stk__jpeg_huff_row(huff, 1, 0, 1, b->parts));
    assert_false(stk__jpeg_huff_row(huff, 0, 0, 1, b->parts));
    assert_false(stk__jpeg_huff_row(huff, huff->mcus_down, 0, 1, b->parts));
    assert_false(stk__jpeg_huff_row(huff, 2, 0, huff->mcus_across + 1, b->parts));
    assert_true(stk__jpeg_huff_row(huff, 2, 0, 0, b->parts));
    stk__arena_fini(&arena);
    blob_free(file);
    free(b);
    free(huff);
}

/* The same file with a fill byte before its first marker: legal, and not for our own decoder. */
static blob for_the_library(blob file)
{
    blob other = blob_new(file.size + 1);

    memcpy(other.data, file.data, 2);
    other.data[2] = 0xff;
    memcpy(other.data + 3, file.data + 2, file.size - 2);
    return other;
}

static void check_twin(
    stk__decoder *decoder, const char *name, blob ours, blob theirs, stk_rect rect)
{
    stk_error err_a = STK_ERROR_INIT, err_b = STK_ERROR_INIT;
    pixels a, b;
    stk_status st_a = pixels_decode(decoder, blob_view(ours), rect, STK__RGB8, &a, &err_a);
    stk_status st_b = pixels_decode(decoder, blob_view(theirs), rect, STK__RGB8, &b, &err_b);

    if (st_a != st_b || strcmp(err_a.text, err_b.text) != 0)
        fail_msg(
            "%s: %d \"%s\", by the library %d \"%s\"", name, st_a, err_a.text, st_b, err_b.text);
    if (st_a >= 0) {
        a.rect.left = a.rect.top = 0; /* both are the whole of what was asked for */
        assert_true(a.rect.width == b.rect.width && a.rect.height == b.rect.height);
        if (!pixels_same(&a, &b))
            fail_msg("%s: other pixels than by the library", name);
    } else if (err_a.offset > 2) {
        assert_int_equal(err_a.offset + 1, err_b.offset);
    }
    free(a.data);
    free(b.data);
}

/* Whole, in part, cut and damaged: status, text, place and pixels are those that the library alone
 * gives. */
static void nobody_can_tell_it_from_the_library(void **state)
{
    bench *b = *state;
    rng *r = &b->random;
    stk_limits limits = STK_LIMITS_INIT;
    stk__heap heap = {0};
    stk__decoder *decoder;

    limits.max_pixels = 1u << 20;
    assert_int_equal(stk__decoder_new(&heap, &limits, &decoder, NULL), STK_OK);
    for (size_t i = 0; i < COUNT_OF(fitting); i++) {
        blob file = blob_read(fitting[i]);
        blob other = for_the_library(file);

        check_twin(decoder, fitting[i], file, other, (stk_rect){0});
        blob_free(other);
        for (int round = 0; round < 400; round++) {
            blob copy =
                blob_prefix(file, round % 4 == 0 ? 2 + rng_below(r, file.size - 2) : file.size);
            size_t late = copy.size / 2 + rng_below(r, copy.size - copy.size / 2);
            stk_rect rect = {.width = 1, .height = 1 + (uint32_t)rng_below(r, 3)};

            for (uint64_t flips = rng_below(r, 3); flips > 0; flips--) {
                size_t at = rng_below(r, 4) > 0 ? late : rng_below(r, copy.size);

                if (at > 3)
                    copy.data[at] ^= (uint8_t)(1u << rng_below(r, 8));
            }
            if (rng_below(r, 2) > 0)
                rect.width = 0; /* all of it */
            other = for_the_library(copy);
            check_twin(decoder, fitting[i], copy, other, rect);
            blob_free(other);
            blob_free(copy);
        }
        blob_free(file);
    }
    stk__decoder_free(decoder);
    assert_true(stk__load_relaxed_u64(&heap.used_bytes) == 0);
}

/* Tables are kept for pictures that have the same ones, and only for those. */
static void tables_are_those_of_the_picture(void **state)
{
    bench *b = *state;
    blob one = blob_read("sample_420.jpg"), other = blob_read("c43.jpg");
    uint32_t sums[2] = {0};

    for (int round = 0; round < 6; round++) {
        pixels p;
        uint32_t sum;

        assert_int_equal(pixels_decode(b->decoder, blob_view(round % 2 == 0 ? one : other),
                             (stk_rect){0}, STK__RGB8, &p, NULL),
            STK_OK);
        sum = stk__crc32c(0, p.data, (size_t)p.rect.width * p.rect.height * 3);
        if (round < 2)
            sums[round] = sum;
        assert_int_equal(sum, sums[round % 2]);
        free(p.data);
    }
    blob_free(one);
    blob_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_part_is_that_of_the_whole),
        cmocka_unit_test(what_does_not_fit_is_left_to_the_library),
        cmocka_unit_test(rows_do_not_go_back),
        cmocka_unit_test(nobody_can_tell_it_from_the_library),
        cmocka_unit_test(tables_are_those_of_the_picture),
    };

    return cmocka_run_group_tests(tests, bench_set_up, bench_tear_down);
}
