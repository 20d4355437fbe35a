/* Without these: a wrong suffix or a saved error page gives "unknown format" and no hint. */
#include "codec/sniff.h"
#include "support/test.h"

#define BYTES(literal) {.data = (literal), .size = sizeof(literal) - 1}

static void names_what_no_entry_reads(void **state)
{
    static const struct {
        stk_view bytes;
        const char *name;
        bool picture;
    } cases[] = {
        {BYTES("GIF89a\1\0"), "GIF", true},
        {BYTES("BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0"), "BMP", true},
        {BYTES("BM is how this text begins"), "text", false},
        {BYTES("II*\0\10\0\0\0"), "TIFF", true},
        {BYTES("MM\0*\0\0\0\10"), "TIFF", true},
        {BYTES("\0\0\0\x1c"
               "ftypavif"),
            "AVIF", true},
        {BYTES("\0\0\0\x1c"
               "ftypheic"),
            "HEIC", true},
        {BYTES("\0\0\0\x1c"
               "ftypisom"),
            "an ISO media file, such as MP4", false},
        {BYTES("\xff\x0a\1"), "JPEG XL", true},
        {BYTES("\0\0\0\x0cJXL \r\n\x87\n"), "JPEG XL", true},
        {BYTES("\0\0\0\x0cjP  \r\n\x87\n"), "JPEG 2000", true},
        {BYTES("\xff\x4f\xff\x51\0"), "JPEG 2000", true},
        {BYTES("P6\n2 2\n255\n"), "PNM", true},
        {BYTES("\x93NUMPY\1\0"), "a NumPy array", false},
        {BYTES("version https://git-lfs.github.com/spec/v1"), "a Git LFS pointer", false},
        {BYTES("PK\3\4...."), "a zip archive", false},
        {BYTES("<!DOCTYPE HTML>"), "HTML", false},
        {BYTES("\xef\xbb\xbf\r\n  <html>"), "HTML", false},
        {BYTES("<?xml version='1.0'?>"), "XML", false},
        {BYTES("<Error><Code>AccessDenied"), "XML", false},
        {BYTES("<svg xmlns='...'>"), "SVG", true},
        {BYTES("{\"error\": 1}"), "JSON", false},
        {BYTES("404 not found\n"), "text", false},
        {BYTES("\1\2\3\4"), NULL, false},
        {BYTES(""), NULL, false},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk__looks looks = stk__sniff_other(cases[i].bytes);

        assert_int_equal(looks.picture, cases[i].picture);
        if (cases[i].name == NULL)
            assert_null(looks.name);
        else if (looks.name == NULL || strcmp(looks.name, cases[i].name) != 0)
            fail_msg("%s, not %s", looks.name != NULL ? looks.name : "nothing", cases[i].name);
    }
}

static void bids_only_for_its_own(void **state)
{
    static const stk_view jpeg = BYTES("\xff\xd8\xff\xe0"), png = BYTES("\x89PNG\r\n\x1a\n"),
                          webp = BYTES("RIFF\0\0\0\0WEBPVP8 "),
                          wave = BYTES("RIFF\0\0\0\0WAVEfmt ");
    (void)state;

    assert_int_equal(stk__sniff_jpeg(jpeg), 100);
    assert_int_equal(stk__sniff_jpeg(png), 0);
    assert_int_equal(stk__sniff_jpeg((stk_view){jpeg.data, 2}), 100); /* cut in its magic */
    assert_int_equal(stk__sniff_jpeg((stk_view){jpeg.data, 1}), 0);
    assert_int_equal(stk__sniff_png(png), 100);
    assert_int_equal(stk__sniff_png((stk_view){png.data, 5}), 100);
    assert_true(stk__sniff_png((stk_view){"\x89PNG\n\x1a\n....", 11}) > 0); /* line ends changed */
    assert_int_equal(stk__sniff_png(jpeg), 0);
    assert_int_equal(stk__sniff_webp(webp), 100);
    assert_int_equal(stk__sniff_webp(wave), 0);
    assert_int_equal(stk__sniff_webp((stk_view){webp.data, 11}), 0);
}

static void any_bytes_are_safe(void **state)
{
    rng r = rng_seed();
    (void)state;

    for (int i = 0; i < 20000; i++) {
        size_t size = rng_below(&r, 24);
        uint8_t *bytes = malloc(size > 0 ? size : 1);
        stk_view view = {bytes, size};

        for (size_t k = 0; k < size; k++)
            bytes[k] = (uint8_t)("RIFWEBP\xff\xd8\x89NG<bIM* \0\x0c"[rng_below(&r, 20)]);
        (void)stk__sniff_other(view);
        assert_true(stk__sniff_jpeg(view) + stk__sniff_png(view) + stk__sniff_webp(view) <= 100);
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_what_no_entry_reads),
        cmocka_unit_test(bids_only_for_its_own),
        cmocka_unit_test(any_bytes_are_safe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
