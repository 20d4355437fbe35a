/* Without these: labels written by echo, by Windows or by pandas are lost or, worse, read as
 * others. Field case C72. */
#include <stoker/codec.h>

#include "support/test.h"

#define BYTES(literal) {.data = (literal), .size = sizeof(literal) - 1}

static void reads_what_python_reads(void **state)
{
    static const struct {
        stk_view text;
        int64_t number;
    } cases[] = {
        {BYTES("5\n"), 5},
        {BYTES(" 5 \r\n"), 5},
        {BYTES("\t\v\f5"), 5},
        {BYTES("-5"), -5},
        {BYTES("+5"), 5},
        {BYTES("-0"), 0},
        {BYTES("007"), 7},
        {BYTES("1_000"), 1000},
        {BYTES("0_0"), 0},
        {BYTES("9223372036854775807"), INT64_MAX},
        {BYTES("-9223372036854775808"), INT64_MIN},
        {BYTES("000000000000000000000000000000000001"), 1},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t number = 99;

        assert_int_equal(stk_text_integer(cases[i].text, &number, NULL), STK_OK);
        assert_true(number == cases[i].number);
    }
}

static void refuses_the_rest_and_quotes_it(void **state)
{
    static const struct {
        stk_view text;
        uint64_t offset;
        const char *said;
    } cases[] = {
        {BYTES("5.0"), 1, "not an integer: \"5.0\""},
        {BYTES("\xef\xbb\xbf"
               "5"),
            0, "not an integer: \"\\xef\\xbb\\xbf5\""},
        {BYTES(""), 0, "no integer: \"\""},
        {BYTES(" \n"), 2, "no integer: \" \\x0a\""},
        {BYTES("5\0"), 1, "not an integer: \"5\\x00\""},
        {BYTES("0x5"), 1, "not an integer: \"0x5\""},
        {BYTES("9999999999999999999999999"), 0,
            "integer does not fit int64: \"9999999999999999999999999\""},
        {BYTES("9223372036854775808"), 0, "integer does not fit int64: \"9223372036854775808\""},
        {BYTES("-9223372036854775809"), 0, "integer does not fit int64: \"-9223372036854775809\""},
        {BYTES("_1"), 0, "not an integer: \"_1\""},
        {BYTES("1_"), 2, "not an integer: \"1_\""},
        {BYTES("1__0"), 2, "not an integer: \"1__0\""},
        {BYTES("- 5"), 1, "not an integer: \"- 5\""},
        {BYTES("+-5"), 1, "not an integer: \"+-5\""},
        {BYTES("-"), 1, "not an integer: \"-\""},
        {BYTES("5 6"), 1, "not an integer: \"5 6\""},
        {BYTES("cat"), 0, "not an integer: \"cat\""},
        {BYTES("012345678901234567890123456789012345x"), 36,
            "not an integer: \"01234567890123456789012345678901...\""},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk_error err = STK_ERROR_INIT;
        int64_t number = 99;

        assert_int_equal(stk_text_integer(cases[i].text, &number, &err), STK_ECORRUPT);
        assert_true(number == 99);
        assert_string_equal(err.text, cases[i].said);
        assert_int_equal(err.offset, cases[i].offset);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_python_reads),
        cmocka_unit_test(refuses_the_rest_and_quotes_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
