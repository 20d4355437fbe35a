/* Without these: a shard that is missing is missing in silence, shards come in the order of the
 * file system, and an index beside a shard is taken for data. */
#include "dataset/paths.h"
#include "support/temp_tree.h"
#include "support/test.h"

static stk__heap heap;

static int make_place(void **state)
{
    *state = make_temp_folder();
    return 0;
}

static int remove_place(void **state)
{
    remove_tree(*state);
    assert_int_equal(stk__load_relaxed_u64(&heap.used_bytes), 0);
    return 0;
}

/* What a pattern below the folder stands for, as names below it with blanks between. */
static void assert_expands(const char *folder, const char *pattern, const char *expected)
{
    stk__paths paths = {.heap = &heap};
    char got[1024] = "";

    assert_int_equal(stk__paths_expand(&paths, in_folder(folder, pattern), NULL), STK_OK);
    for (size_t i = 0; i < paths.count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i > 0 ? " " : "",
            paths.items[i].name + strlen(folder) + 1);
    assert_string_equal(got, expected);
    stk__paths_fini(&paths);
}

static stk_status expand(const char *pattern, stk_error *err)
{
    stk__paths paths = {.heap = &heap};
    stk_status st = stk__paths_expand(&paths, pattern, err);

    stk__paths_fini(&paths);
    return st;
}

static void expands_braces_then_globs_sorted_by_bytes(void **state)
{
    const char *folder = *state;
    static const char *const names[] = {"b-10.tar", "b-9.tar", "a.tar", "Z.tar", ".hidden.tar",
        "a.tar.stoker", "sub/x.tar", "sub/y.tar", "other/x.tar"};

    make_folder(in_folder(folder, "sub"));
    make_folder(in_folder(folder, "other"));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        save_text(in_folder(folder, names[i]), "x");
    assert_expands(folder, "*.tar", "Z.tar a.tar b-10.tar b-9.tar");
    assert_expands(folder, "a*", "a.tar");
    assert_expands(folder, "b-{9..10}.tar", "b-9.tar b-10.tar");
    assert_expands(folder, "{b,a}*.tar", "b-10.tar b-9.tar a.tar");
    assert_expands(folder, "*/x.tar", "other/x.tar sub/x.tar");
    assert_expands(folder, "*/?.tar", "other/x.tar sub/x.tar sub/y.tar");
    assert_expands(folder, "s*b/[xy].tar", "sub/x.tar sub/y.tar");
    assert_expands(folder, "s*", "sub");
    assert_expands(folder, "s*/", "sub/");
    assert_expands(folder, ".hid*", ".hidden.tar");
}

static void a_name_that_exists_is_taken_as_it_is(void **state)
{
    const char *folder = *state;

    save_text(in_folder(folder, "a[1].tar"), "x");
    save_text(in_folder(folder, "a1.tar"), "x");
    save_text(in_folder(folder, "b*.tar"), "x");
    save_text(in_folder(folder, "back\\slash.tar"), "x");
    assert_expands(folder, "a[1].tar", "a[1].tar");
    assert_expands(folder, "a[12].tar", "a1.tar");
    assert_expands(folder, "b*.tar", "b*.tar");
    assert_expands(folder, "back\\slash.tar", "back\\slash.tar");
}

static void a_missing_name_is_an_error_that_names_it(void **state)
{
    const char *folder = *state;
    stk_error err = STK_ERROR_INIT;

    save_text(in_folder(folder, "x-0.tar"), "x");
    save_text(in_folder(folder, "x-2.tar"), "x");
    assert_int_equal(expand(in_folder(folder, "x-{0..2}.tar"), &err), STK_ESOURCE);
    assert_string_equal(err.source, in_folder(folder, "x-1.tar"));
    assert_int_equal(err.os_errno, 2);
    err = (stk_error)STK_ERROR_INIT;
    assert_int_equal(expand(in_folder(folder, "y-*.tar"), &err), STK_ESOURCE);
    assert_string_equal(err.source, in_folder(folder, "y-*.tar"));
    assert_string_equal(err.text, "nothing matches the pattern");
    assert_int_equal(expand(in_folder(folder, "nowhere/*.tar"), &err), STK_ESOURCE);
    assert_int_equal(expand(in_folder(folder, "x-0.tar/*.tar"), &err), STK_ESOURCE);
    assert_int_equal(expand("", &err), STK_EINVAL);
    assert_int_equal(expand("/dev/null", &err), STK_ESOURCE);
    assert_int_equal(expand(in_folder(folder, "x-{0..2"), &err), STK_EINVAL);
}

static void urls_are_refused_by_scheme(void **state)
{
    static const char *const cases[][2] = {{"http://h/x.tar", "http"},
        {"s3://b/x-{0..1}.tar", "s3"}, {"gs://b/x.tar", "gs"}, {"pipe:cat x.tar", "pipe"},
        {"{https://h/x,y}.tar", "https"}};
    stk_error err = STK_ERROR_INIT;
    const char *path = in_folder(*state, "x.tar");
    char url[600];

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(expand(cases[i][0], &err), STK_ENOTSUP);
        assert_memory_equal(err.text, cases[i][1], strlen(cases[i][1]));
    }
    save_text(path, "x");
    snprintf(url, sizeof url, "file:%s", path);
    assert_int_equal(expand(url, &err), STK_OK);
    snprintf(url, sizeof url, "file://%s", path);
    assert_int_equal(expand(url, &err), STK_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            expands_braces_then_globs_sorted_by_bytes, make_place, remove_place),
        cmocka_unit_test_setup_teardown(
            a_name_that_exists_is_taken_as_it_is, make_place, remove_place),
        cmocka_unit_test_setup_teardown(
            a_missing_name_is_an_error_that_names_it, make_place, remove_place),
        cmocka_unit_test_setup_teardown(urls_are_refused_by_scheme, make_place, remove_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
