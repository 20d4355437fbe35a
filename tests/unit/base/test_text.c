/* Without these: a number is printed wrong or past its buffer in the one message that mattered. */
#include <errno.h>
#include <locale.h>

#include "base/text.h"
#include "support/test.h"

static void groups_digits(void **state)
{
    static const struct {
        uint64_t number;
        const char *text;
    } cases[] = {
        {0, "0"},
        {7, "7"},
        {999, "999"},
        {1000, "1,000"},
        {8241664, "8,241,664"},
        {100000, "100,000"},
        {UINT64_MAX, "18,446,744,073,709,551,615"},
    };

    char text[32];
    (void)state;

    STK_IGNORE(setlocale(LC_ALL, "") == NULL); /* whatever it is, it must not matter */
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk__text_grouped(cases[i].number, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

static void says_bytes_in_units(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {102399, "99.9 KiB"},
        {102400, "100 KiB"},
        {1048575, "1023 KiB"},
        {2ull << 30, "2.0 GiB"},
        {UINT64_MAX, "15.9 EiB"},
    };

    char text[32];
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk__text_bytes(cases[i].bytes, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

static void never_writes_past_its_room(void **state)
{
    char text[40];
    (void)state;

    for (size_t capacity = 0; capacity < 32; capacity++) {
        memset(text, '#', sizeof text);
        stk__text_grouped(UINT64_MAX, text, capacity);
        assert_true(capacity == 0 || strlen(text) < capacity);
        assert_int_equal(text[capacity], '#');
        memset(text, '#', sizeof text);
        stk__text_bytes(1536, text, capacity);
        assert_true(capacity == 0 || strlen(text) < capacity);
        assert_int_equal(text[capacity], '#');
        memset(text, '#', sizeof text);
        stk__text_errno(ENOSPC, text, capacity);
        assert_true(capacity == 0 || strlen(text) < capacity);
        assert_int_equal(text[capacity], '#');
    }
}

static void appends_and_tells_what_it_needed(void **state)
{
    char data[8];
    stk__text text = {.data = data, .capacity = sizeof data};
    stk__text sizing = {.data = NULL, .capacity = 0};
    (void)state;

    stk__text_put(&text, "%s", "abc");
    stk__text_put(&text, "%d", 12345);
    stk__text_put(&text, "%s", "!");
    assert_string_equal(data, "abc1234");
    assert_int_equal(text.needed, 9);
    stk__text_put(&sizing, "%s", "abc");
    assert_int_equal(sizing.needed, 3);
}

static void names_system_errors(void **state)
{
    char text[64];
    (void)state;

    stk__text_errno(EACCES, text, sizeof text);
    assert_string_equal(text, "permission denied");
    stk__text_errno(12345, text, sizeof text);
    assert_string_equal(text, "system error 12345");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_digits),
        cmocka_unit_test(says_bytes_in_units),
        cmocka_unit_test(never_writes_past_its_room),
        cmocka_unit_test(appends_and_tells_what_it_needed),
        cmocka_unit_test(names_system_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
