/* Without these: "train-{000000..000127}.tar" names other shards than everywhere else, and a typing
 * mistake in a pattern becomes a file that does not exist. */
#include "dataset/braces.h"
#include "support/temp_tree.h"
#include "support/test.h"

static stk_status names_of(const char *pattern, stk__braces **out, stk_error *err)
{
    static stk__heap heap;

    *out = NULL;
    return stk__braces_new(&heap, pattern, out, err);
}

/* C39, and some hundred random patterns: see tools/make_braces_golden.py. */
static void expands_as_braceexpand_does(void **state)
{
    size_t size, cases = 0;
    char *text =
        (char *)load_file(STK_TEST_SOURCE_DIR "/tests/golden/braces/expansions.txt", &size);
    char *rest = text, *line;
    (void)state;

    text[size] = '\0';
    while ((line = strsep(&rest, "\n")) != NULL && rest != NULL) {
        char *pattern = strsep(&line, "\t"), *name, got[256];
        stk__braces *braces;
        uint64_t count = 0;
        stk_status st = names_of(pattern, &braces, NULL);

        if (strcmp(line, "!") == 0) {
            assert_int_equal(st, STK_EINVAL);
            line = NULL;
        } else {
            assert_int_equal(st, STK_OK);
        }
        for (; (name = strsep(&line, "\t")) != NULL; count++) {
            assert_true(count < stk__braces_count(braces));
            assert_int_equal(stk__braces_get(braces, count, got, sizeof got), strlen(name));
            if (strcmp(got, name) != 0)
                print_message("name %d of %s\n", (int)count, pattern);
            assert_string_equal(got, name);
        }
        assert_true(st < 0 || count == stk__braces_count(braces));
        stk__braces_free(braces);
        cases++;
    }
    assert_true(cases > 500);
    free(text);
}

static void a_backslash_stays_before_what_is_not_special(void **state)
{
    stk__braces *braces;
    char name[64];
    (void)state;

    assert_int_equal(names_of("c:\\data\\x-{0..1}\\*.tar", &braces, NULL), STK_OK);
    assert_int_equal(stk__braces_count(braces), 2);
    stk__braces_get(braces, 1, name, sizeof name);
    assert_string_equal(name, "c:\\data\\x-1\\*.tar");
    stk__braces_free(braces);
}

static void refuses_what_is_unbalanced_and_shows_it(void **state)
{
    static const char *const cases[] = {
        "s-{0..9.tar", "s-0..9}.tar", "}{", "{a,{b}", "{a,b}}", "\\{a,b}", "{a,b\\}"};
    stk_error err = STK_ERROR_INIT;
    stk__braces *braces;
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(names_of(cases[i], &braces, &err), STK_EINVAL);
        assert_null(braces);
        assert_non_null(strstr(err.text, cases[i]));
    }
}

static void bounds_what_a_pattern_may_ask_for(void **state)
{
    stk__braces *braces;
    char deep[405], name[64];
    (void)state;

    assert_int_equal(names_of("{0..9999999}", &braces, NULL), STK_OK);
    assert_int_equal(stk__braces_count(braces), 10000000);
    stk__braces_get(braces, 9999999, name, sizeof name);
    assert_string_equal(name, "9999999");
    stk__braces_free(braces);
    assert_int_equal(names_of("{0..10000000}", &braces, NULL), STK_ELIMIT);
    assert_int_equal(names_of("{0..9999}{0..9999}", &braces, NULL), STK_ELIMIT);
    assert_int_equal(names_of("{{0..9999999},x}", &braces, NULL), STK_ELIMIT);
    assert_int_equal(
        names_of("{-999999999999999999..999999999999999999}", &braces, NULL), STK_ELIMIT);
    assert_int_equal(
        names_of("{-999999999999999999..999999999999999999..999999999999999999}", &braces, NULL),
        STK_OK);
    assert_int_equal(stk__braces_count(braces), 3);
    stk__braces_get(braces, 2, name, sizeof name);
    assert_string_equal(name, "999999999999999999");
    stk__braces_free(braces);
    assert_int_equal(names_of("{0..1000000000000000000}", &braces, NULL), STK_EINVAL);
    memset(deep, '{', 200);
    memset(deep + 200, '}', 200);
    deep[400] = '\0';
    assert_int_equal(names_of(deep, &braces, NULL), STK_EINVAL);
    memset(deep, '{', 90);
    memset(deep + 90, '}', 90);
    deep[180] = '\0';
    assert_int_equal(names_of(deep, &braces, NULL), STK_OK);
    stk__braces_free(braces);
}

static void writes_no_further_than_it_may(void **state)
{
    stk__braces *braces;
    char name[8];
    (void)state;

    assert_int_equal(names_of("{abc,d}-long", &braces, NULL), STK_OK);
    memset(name, '#', sizeof name);
    assert_int_equal(stk__braces_get(braces, 0, name, 4), 8);
    assert_memory_equal(name, "abc\0####", 8);
    assert_int_equal(stk__braces_get(braces, 1, name, 0), 6);
    assert_memory_equal(name, "abc\0####", 8);
    stk__braces_free(braces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expands_as_braceexpand_does),
        cmocka_unit_test(a_backslash_stays_before_what_is_not_special),
        cmocka_unit_test(refuses_what_is_unbalanced_and_shows_it),
        cmocka_unit_test(bounds_what_a_pattern_may_ask_for),
        cmocka_unit_test(writes_no_further_than_it_may),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
