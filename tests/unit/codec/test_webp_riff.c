/* Without these: the size fields of a container send the reader past its end, or a frame is taken
 * for the picture that it is only a part of. */
#include "codec/webp_riff.h"
#include "support/test.h"

#define BYTES(literal) {.data = (literal), .size = sizeof(literal) - 1}
#define VP8X(flags)    "VP8X\x0a\0\0\0" flags "\0\0\0\x27\0\0\x1d\0\0"
#define ANMF_HEAD      "\5\0\0\3\0\0\x0e\0\0\x0d\0\0\0\0\0\2"

static void finds_the_picture(void **state)
{
    static const struct {
        stk_view file;
        size_t at, size;
        bool lossless, animated;
    } cases[] = {
        {BYTES("RIFF\x10\0\0\0WEBPVP8 \4\0\0\0abcd"), 12, 12, false, false},
        {BYTES("RIFF\x0f\0\0\0WEBPVP8L\3\0\0\0abc"), 12, 11, true,
            false}, /* no padding at the end */
        {BYTES("RIFF\x10\0\0\0WEBPVP8L\3\0\0\0abc\0"), 12, 11, true, false},
        {BYTES("RIFF\x10\0\0\0WEBPVP8 \4\0\0\0abcdjunk"), 12, 12, false, false},
        {BYTES("RIFF\x2c\0\0\0WEBP" VP8X("\x10") "ALPH\1\0\0\0x\0VP8 \4\0\0\0abcd"), 40, 12, false,
            false},
        {BYTES("RIFF\x3a\0\0\0WEBP" VP8X("\2") "ANMF\x1c\0\0\0" ANMF_HEAD "VP8L\4\0\0\0abcd"), 54,
            12, true, true},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk__webp_still still;

        assert_int_equal(stk__webp_find(cases[i].file, &still, NULL), STK_OK);
        assert_int_equal(still.at, cases[i].at);
        assert_int_equal(still.size, cases[i].size);
        assert_int_equal(still.lossless, cases[i].lossless);
        assert_int_equal(still.animated, cases[i].animated);
        if (still.animated) {
            assert_int_equal(still.canvas_width, 40);
            assert_int_equal(still.canvas_height, 30);
            assert_int_equal(still.left, 10);
            assert_int_equal(still.top, 6);
            assert_int_equal(still.width, 15);
            assert_int_equal(still.height, 14);
        }
    }
}

static void says_where_it_went_wrong(void **state)
{
    static const struct {
        stk_view file;
        uint64_t offset;
    } cases[] = {
        {BYTES("RIFF\x10\0\0"), 7},
        {BYTES("RIFF\x10\0\0\0WEBPVP8 \4\0\0\0abc"), 23},        /* cut */
        {BYTES("RIFF\xff\xff\xff\xffWEBPVP8 \4\0\0\0abcd"), 24}, /* longer than the file */
        {BYTES("RIFF\1\0\0\0WEBPVP8 \4\0\0\0abcd"), 4},          /* shorter than its head */
        {BYTES("RIFF\x0c\0\0\0WEBPVP8 \4\0\0\0abcd"), 12},       /* than its picture */
        {BYTES("RIFF\x08\0\0\0WEBPVP8 \4\0\0\0abcd"), 12},       /* than the head of one */
        {BYTES("RIFF\x10\0\0\0WEBPVP8 \xff\xff\xff\xff"
               "abcd"),
            12},
        {BYTES("RIFF\x10\0\0\0WEBPICCP\4\0\0\0abcd"), 24}, /* no picture at all */
        {BYTES("RIFF\x0e\0\0\0WEBPVP8X\2\0\0\0ab"), 12},
        {BYTES("RIFF\x2e\0\0\0WEBP" VP8X("\2") "ANMF\x10\0\0\0" ANMF_HEAD), 30}, /* empty frame */
        {BYTES("RIFF\x22\0\0\0WEBP" VP8X("\2") "ANMF\4\0\0\0abcd"), 30},
        {BYTES("RIFF\x3a\0\0\0WEBP" VP8X("\2") "ANMF\x1c\0\0\0\xff" ANMF_HEAD "VP8L\4\0\0\0abc"),
            30},
        {BYTES("RIFF\x3a\0\0\0WEBP" VP8X("\2") "ANMF\x1c\0\0\0" ANMF_HEAD "VP8L\5\0\0\0abcd"), 54},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk_error err = STK_ERROR_INIT;
        stk__webp_still still;

        assert_int_equal(stk__webp_find(cases[i].file, &still, &err), STK_ECORRUPT);
        assert_true(err.has_offset);
        assert_int_equal(err.offset, cases[i].offset);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_picture),
        cmocka_unit_test(says_where_it_went_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
