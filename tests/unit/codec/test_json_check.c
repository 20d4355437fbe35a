/* Without these: a file that json.loads() takes is refused here, or one that it refuses is found
 * out in the middle of an epoch. Field case C70. */
#include <stoker/codec.h>

#include "support/test.h"

#define BYTES(literal) {.data = (literal), .size = sizeof(literal) - 1}

static stk_status check(stk_view text, stk_error *err)
{
    uint8_t *exact = malloc(text.size > 0 ? text.size : 1);
    stk_status st;

    memcpy(exact, text.data, text.size);
    st = stk_json_check((stk_view){exact, text.size}, NULL, err);
    free(exact);
    return st;
}

static void takes_json(void **state)
{
    static const stk_view cases[] = {
        BYTES("{\"k\":1}"),
        BYTES("\xef\xbb\xbf{\"k\":1}\n"),
        BYTES("{\"k\":1}\n\n"),
        BYTES("\xff\xfe{\0\"\0k\0\"\0:\0"
              "1\0}\0"),
        BYTES("\xfe\xff\0{\0}"),
        BYTES("{\0}\0"),
        BYTES("\0{\0}"),
        BYTES("1\0"),
        BYTES("\0"
              "1"),
        BYTES("\0\0\0{\0\0\0}"),
        BYTES("{\0\0\0}\0\0\0"),
        BYTES("\xff\xfe\0\0"
              "1\0\0\0"),
        BYTES("\0\0\xfe\xff\0\0\0"
              "1"),
        BYTES(" [ ] "),
        BYTES("[1,-0,0.5,-1.25e+10,1E-2,true,false,null,\"\",{}]"),
        BYTES("[NaN,Infinity,-Infinity]"),
        BYTES("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD800\""),
        BYTES("\"\xf0\x9f\x9a\x82\xc3\xa9\x7f\""),
        BYTES("\"\xed\xa0\x80\""), /* a lone surrogate: Python takes it */
        BYTES("[[[{\"a\":[{\"b\":[[]]}]}]]]"),
        BYTES("{\"a\" : 1 , \"a\" : 2}"),
        BYTES("1e400"),
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk_error err = STK_ERROR_INIT;

        if (check(cases[i], &err) < 0)
            fail_msg("case %zu: %s at %u", i, err.text, (unsigned)err.offset);
    }
}

static void refuses_the_rest_with_its_place(void **state)
{
    static const struct {
        stk_view text;
        uint64_t offset;
    } cases[] = {
        {BYTES(""), 0},
        {BYTES("  "), 2},
        {BYTES("{"), 1},
        {BYTES("["), 1},
        {BYTES("[1,]"), 3},
        {BYTES("[,1]"), 1},
        {BYTES("[1 2]"), 3},
        {BYTES("[1}"), 2},
        {BYTES("{\"a\":1]"), 6},
        {BYTES("{\"a\":1,}"), 7},
        {BYTES("{a:1}"), 1},
        {BYTES("{\"a\" 1}"), 5},
        {BYTES("{\"a\":}"), 5},
        {BYTES("01"), 1},
        {BYTES("-"), 1},
        {BYTES("-x"), 1},
        {BYTES("1."), 2},
        {BYTES(".5"), 0},
        {BYTES("1e"), 2},
        {BYTES("+1"), 0},
        {BYTES("tru"), 3},
        {BYTES("trux"), 3},
        {BYTES("nan"), 1},
        {BYTES("-Inf"), 4},
        {BYTES("\"abc"), 4},
        {BYTES("\"a\nb\""), 2},
        {BYTES("\"\\x\""), 2},
        {BYTES("\"\\u12g4\""), 5},
        {BYTES("'a'"), 0},
        {BYTES("{} {}"), 3},
        {BYTES("1 // no"), 2},
        {BYTES("\"\xff\""), 1},
        {BYTES("\xef\xbb\xbf\xef\xbb\xbf"
               "1"),
            3},
        {BYTES("{\0}"), 1}, /* three bytes are UTF-8 */
        {BYTES("\xff\xfe"
               "1\0x"),
            4},                               /* half a unit of UTF-16 */
        {BYTES("\0\0\xfe\xff\0\x11\0\0"), 4}, /* U+110000 */
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk_error err = STK_ERROR_INIT;
        stk_status st = check(cases[i].text, &err);

        if (st != STK_ECORRUPT || err.offset != cases[i].offset)
            fail_msg("case %zu: %s at %u, expected %u (%s)", i, stk_status_name(st),
                (unsigned)err.offset, (unsigned)cases[i].offset, err.text);
    }
}

static void nesting_has_a_limit_and_no_stack(void **state)
{
    enum { DEEP = 1 << 17 };

    char *text = malloc(2 * DEEP);
    stk_limits limits = STK_LIMITS_INIT;
    stk_error err = STK_ERROR_INIT;
    (void)state;

    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    assert_int_equal(stk_json_check((stk_view){text, 2 * DEEP}, NULL, &err), STK_ELIMIT);
    assert_int_equal(err.offset, 512);
    assert_non_null(strstr(err.text, "max_depth"));
    assert_int_equal(stk_json_check((stk_view){text + DEEP - 512, 1024}, NULL, &err), STK_OK);
    limits.max_depth = UINT32_MAX;
    assert_int_equal(
        stk_json_check((stk_view){text + DEEP - 65536, 2 * 65536}, &limits, &err), STK_OK);
    assert_int_equal(stk_json_check((stk_view){text, 2 * DEEP}, &limits, &err), STK_ELIMIT);
    free(text);
}

/* Objects and arrays in any order, each closed by its own kind. */
static void kinds_of_containers_are_remembered(void **state)
{
    rng r = rng_seed();
    (void)state;

    for (int round = 0; round < 300; round++) {
        char text[6000], kinds[300];
        size_t depth = 1 + rng_below(&r, COUNT_OF(kinds)), used = 0;

        for (size_t i = 0; i < depth; i++) {
            const char *begin;

            kinds[i] = rng_below(&r, 2) > 0;
            begin = kinds[i] ? "{\"k\":" : "[1,";
            memcpy(text + used, begin, strlen(begin));
            used += strlen(begin);
        }
        text[used++] = '0';
        for (size_t i = depth; i-- > 0;)
            text[used++] = kinds[i] ? '}' : ']';
        assert_int_equal(check((stk_view){text, used}, NULL), STK_OK);
        used -= 1 + rng_below(&r, depth);
        text[used] = text[used] == '}' ? ']' : '}';
        assert_int_equal(check((stk_view){text, used + 1}, NULL), STK_ECORRUPT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_json),
        cmocka_unit_test(refuses_the_rest_with_its_place),
        cmocka_unit_test(nesting_has_a_limit_and_no_stack),
        cmocka_unit_test(kinds_of_containers_are_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
