/* Without these: captions in another encoding end a run much later, or are cut at the wrong place.
 * Field case C73. */
#include <stoker/codec.h>

#include "codec/text_utf8.h"
#include "support/test.h"

#define BYTES(literal) {.data = (literal), .size = sizeof(literal) - 1}

static void takes_utf8(void **state)
{
    static const stk_view cases[] = {
        BYTES(""),
        BYTES("x\0y"),
        BYTES("\xef\xbb\xbfhi\r\n"),
        BYTES("caf\xc3\xa9"),
        BYTES("\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"),
        BYTES("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"),
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(stk_text_utf8(cases[i], NULL), STK_OK);
}

static void names_the_first_bad_byte(void **state)
{
    static const struct {
        stk_view text;
        uint64_t offset;
    } cases[] = {
        {BYTES("caf\xe9"), 3},
        {BYTES("\x80"), 0},
        {BYTES("a\xc0\x80"), 1}, /* overlong */
        {BYTES("a\xc1\xbf"), 1},
        {BYTES("a\xe0\x9f\xbf"), 1},
        {BYTES("a\xf0\x8f\xbf\xbf"), 1},
        {BYTES("a\xed\xa0\x80"), 1},     /* surrogate */
        {BYTES("a\xf4\x90\x80\x80"), 1}, /* past U+10FFFF */
        {BYTES("a\xf5\x80\x80\x80"), 1},
        {BYTES("0123456789abcdef\xff"), 16},  /* behind whole words of ASCII */
        {BYTES("0123456789abc\xe2\x82"), 13}, /* cut */
        {BYTES("\xe2\x82\xac\xe2(\xac"), 3},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk_error err = STK_ERROR_INIT;
        uint8_t *exact = malloc(cases[i].text.size);

        memcpy(exact, cases[i].text.data, cases[i].text.size);
        assert_int_equal(stk_text_utf8((stk_view){exact, cases[i].text.size}, &err), STK_ECORRUPT);
        assert_int_equal(err.offset, cases[i].offset);
        free(exact);
    }
}

static void every_number_comes_back(void **state)
{
    (void)state;

    for (uint32_t point = 0; point <= 0x10ffff; point++) {
        uint8_t bytes[4];
        size_t length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
        uint32_t got = 0;

        for (size_t i = length; i-- > 1;)
            bytes[i] = (uint8_t)(0x80 | (point >> (6 * (length - 1 - i)) & 0x3f));
        bytes[0] = (uint8_t)(length == 1 ? point
                                         : (0xf00u >> length & 0xff) | point >> (6 * (length - 1)));
        if (stk__utf8_point(bytes, 4, &got) != length || got != point)
            fail_msg("U+%04X", point);
        if (length > 1)
            assert_int_equal(stk__utf8_point(bytes, length - 1, &got), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_utf8),
        cmocka_unit_test(names_the_first_bad_byte),
        cmocka_unit_test(every_number_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
