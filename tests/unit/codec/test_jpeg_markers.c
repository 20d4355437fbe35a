/* Without these: a crop from the upper half of a file that was cut is delivered as good. */
#include "codec/jpeg_markers.h"
#include "support/test.h"

#define BYTES(literal) {.data = (literal), .size = sizeof(literal) - 1}

static void finds_the_end(void **state)
{
    static const struct {
        stk_view bytes;
        size_t from;
        uint8_t marker;
    } cases[] = {
        {BYTES("ab\xff\xd9"), 0, 0},
        {BYTES("ab\xff\xd9zz"), 0, 0}, /* bytes behind the picture */
        {BYTES("\xff\0\xff\0\xff\xd0x\xff\xd7\xff\xff\xff\xd9"), 0,
            0},                                                 /* stuffing, restarts, fill */
        {BYTES("a\xff\xda\0\4\1\2xy\xff\xd9"), 0, 0},           /* another scan */
        {BYTES("a\xff\xfe\0\6\xff\xd8\xff\xd8\xff\xd9"), 0, 0}, /* a thumbnail in a comment */
        {BYTES(""), 0, 0xd9},                                   /* read, not acted on */
        {BYTES("\0\3q\xff\xd9"), 0, 0xc4},                      /* so too, with a length */
        {BYTES("\xff\xd9\xff\xd9"), 2, 0},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t stop = 77;

        assert_true(stk__jpeg_ends(cases[i].bytes, cases[i].from, cases[i].marker, &stop));
        assert_int_equal(stop, 77);
    }
}

static void says_where_it_stopped(void **state)
{
    static const struct {
        stk_view bytes;
        uint8_t marker;
        size_t stop;
    } cases[] = {
        {BYTES(""), 0, 0},
        {BYTES("abc"), 0, 3},
        {BYTES("abc\xff"), 0, 4},
        {BYTES("abc\xff\xff"), 0, 5},
        {BYTES("abc\xff\0\0"), 0, 6},
        {BYTES("a\xff\xfe"), 0, 3},              /* no length */
        {BYTES("a\xff\xfe\0"), 0, 4},            /* half of one */
        {BYTES("a\xff\xfe\0\1\xff\xd9"), 0, 7},  /* less than itself */
        {BYTES("a\xff\xfe\0\7\xff\xd9z"), 0, 8}, /* more than there is */
        {BYTES("ab\xff\xd8\xff\xd9"), 0, 2},     /* another picture */
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t stop = 77;

        assert_false(stk__jpeg_ends(cases[i].bytes, 0, cases[i].marker, &stop));
        assert_int_equal(stop, cases[i].stop);
    }
}

static void tells_the_kind_of_frame(void **state)
{
    static const struct {
        stk_view bytes;
        uint8_t frame;
    } cases[] = {
        {BYTES("\xff\xd8\xff\xc0\0\x0b"), 0xc0},
        {BYTES("\xff\xd8\xff\xff\xff\xe0\0\4\xff\xc0zz\xff\xc4\0\2\xff\xc3"), 0xc3},
        {BYTES("\xff\xd8\xff\xda\0\2\xff\xc0"), 0}, /* behind the start of a scan */
        {BYTES("\xff\xd8\xff\xd9\xff\xc0"), 0},
        {BYTES("\xff\xd8\xff\xe0\0\1\xff\xc0"), 0},
        {BYTES("\xff\xd8\xff"), 0},
        {BYTES(""), 0},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(stk__jpeg_frame(cases[i].bytes), cases[i].frame);
}

static void lossless_and_hierarchical_are_not_read(void **state)
{
    static const uint8_t known[] = {0xc0, 0xc1, 0xc2, 0xc9, 0xca};
    (void)state;

    for (unsigned frame = 0; frame < 256; frame++)
        assert_int_equal(stk__jpeg_frame_known((uint8_t)frame),
            frame != 0 && memchr(known, (int)frame, sizeof known) != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_end),
        cmocka_unit_test(says_where_it_stopped),
        cmocka_unit_test(tells_the_kind_of_frame),
        cmocka_unit_test(lossless_and_hierarchical_are_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
