/* Without these: members over 8 GiB end a shard early; a damaged size sends the reader anywhere. */
#include "archive/tar_number.h"
#include "support/test.h"

#define FIELD(literal) {.data = (literal), .size = sizeof(literal) - 1}

static void reads_what_writers_write(void **state)
{
    static const struct {
        stk_view text;
        uint64_t number;
    } cases[] = {
        {FIELD("00000001274\0"), 700},          /* POSIX */
        {FIELD("   1274 \0\0\0\0"), 700},       /* v7: spaces lead and end it */
        {FIELD("       1274 "), 700},           /* the same, to the last byte */
        {FIELD("777777777777"), 0777777777777}, /* no end mark */
        {FIELD("0000001274\0x"), 700},          /* what follows the end is not read */
        {FIELD("\0\0\0\0\0\0\0\0\0\0\0\0"), 0}, /* empty */
        {FIELD("           \0"), 0},            /* the same */
        {FIELD(""), 0},                         /* no field at all */
        {FIELD("\x80\0\0\0\0\0\0\2\x40\0\0\5"), 9ull << 30 | 5}, /* base-256: over 8 GiB */
        {FIELD("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff"), INT64_MAX},
        {FIELD("\xa0"), 0x20}, /* bits of the first byte count */
        {FIELD("777777777777777777777"), INT64_MAX},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t number = UINT64_MAX;

        assert_true(stk__tar_number(cases[i].text, &number));
        assert_true(number == cases[i].number);
    }
}

static void refuses_the_rest_and_touches_nothing(void **state)
{
    static const stk_view cases[] = {
        FIELD("12x45670000\0"),
        FIELD("00000001278\0"), /* 8 is no octal digit */
        FIELD("-0000001274\0"),
        FIELD("0x000001274\0"),
        FIELD("\0"
              "0000001274"), /* a number behind an end */
        FIELD("  \0 1274\0\0\0\0"),
        FIELD("\xff\xff\xff\xff\xff\xff\xff\xff"), /* base-256: minus one */
        FIELD("\xc0\0\0\0\0\0\0\0\0\0\0\0"),       /* below zero by its sign alone */
        FIELD("\x80\0\0\0\x80\0\0\0\0\0\0\0"),     /* 2^63 */
        FIELD("\xbf\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
        FIELD("1000000000000000000000"), /* 2^63 in octal */
        FIELD("7777777777777777777777777777"),
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t number = 42;

        assert_false(stk__tar_number(cases[i], &number));
        assert_int_equal(number, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_writers_write),
        cmocka_unit_test(refuses_the_rest_and_touches_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
