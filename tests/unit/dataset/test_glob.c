/* Without these: a pattern takes shards that it should not, or one line of stars stops a job for
 * ever.
 */
#include "dataset/glob.h"
#include "support/test.h"

static void matches_names(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool match;
    } cases[] = {
        {"*", "a", true},
        {"*", "", true},
        {"*", ".a", false},
        {".*", ".a", true},
        {"\\.a", ".a", true},
        {"?", "a", true},
        {"?", "", false},
        {"?", ".", false},
        {"a*b*c", "aXXbYYc", true},
        {"a*b*c", "aXXbYY", false},
        {"*a", "aaaa", true},
        {"*ab", "aab", true},
        {"**", "x", true},
        {"a**", "a", true},
        {"[abc]", "b", true},
        {"[abc]", "d", false},
        {"[a-c]x", "bx", true},
        {"[!a-c]", "b", false},
        {"[^a-c]", "d", true},
        {"[]]", "]", true},
        {"[!]]", "]", false},
        {"[a-]", "-", true},
        {"[", "[", true},
        {"[a", "[a", true},
        {"[a", "a", false},
        {"a[", "a[", true},
        {"[\\]]", "]", true},
        {"\\*", "*", true},
        {"\\*", "x", false},
        {"a\\", "a\\", true},
        {"*.tar", "x.tar", true},
        {"*.tar", "x.tar.gz", false},
        {"[\x80-\xff]", "\xe9", true},
        {"caf?.tar", "caf\xe9.tar", true},
        {"[c-a]", "b", false},
        {"", "", true},
        {"", "a", false},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk_view pattern = {cases[i].pattern, strlen(cases[i].pattern)};
        if (stk__glob_match(pattern, cases[i].name) != cases[i].match)
            fail_msg("%s against %s", cases[i].pattern, cases[i].name);
    }
}

/* A pattern of many stars must not take exponential time. */
static void many_stars_are_no_trap(void **state)
{
    const char *pattern = "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*ab";
    char name[2001];
    (void)state;

    memset(name, 'a', 2000);
    name[2000] = '\0';
    assert_false(stk__glob_match((stk_view){pattern, strlen(pattern)}, name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_names),
        cmocka_unit_test(many_stars_are_no_trap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
