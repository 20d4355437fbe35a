/* Without these: a folder of shards is read as a folder of files named tar, and a list of files and
 * shards becomes a dataset in which half of the samples have other fields. */
#include "dataset/plan.h"
#include "support/make_tar.h"
#include "support/temp_tree.h"
#include "support/test.h"

static stk__heap heap;

static int make_place(void **state)
{
    static const char *const files[] = {"a.jpg", "b.jpg", "c.txt", "x.tar", "y.tgz", "noext"};
    made_tar t = {0};

    *state = make_temp_folder();
    make_folder(in_folder(*state, "tars"));
    make_folder(in_folder(*state, "files"));
    for (size_t i = 0; i < COUNT_OF(files); i++)
        save_text(in_folder(*state, files[i]), "x");
    save_text(in_folder(*state, "tars/2.tar"), "x");
    save_text(in_folder(*state, "tars/1.tar"), "x");
    save_text(in_folder(*state, "tars/README"), "x");
    tar_text(&t, "a.x", "1");
    save_file(in_folder(*state, "shard"), t.data, t.size);
    tar_free(&t);
    return 0;
}

static int remove_place(void **state)
{
    remove_tree(*state);
    assert_int_equal(stk__load_relaxed_u64(&heap.used_bytes), 0);
    return 0;
}

/* A plan as text: "T x.tar, L a.jpg b.jpg, F files". */
static void assert_plan(const char *place, const char *patterns, const char *expected)
{
    stk__plan plan = {.heap = &heap};
    const char *where[8];
    char *copy = strdup(patterns), *rest = copy, *item;
    size_t count = 0;
    char got[1024] = "";

    while ((item = strsep(&rest, " ")) != NULL)
        where[count++] = in_folder(place, item);
    assert_int_equal(stk__plan_make(&plan, where, count, NULL), STK_OK);
    for (size_t i = 0; i < plan.count; i++) {
        const stk__planned *p = &plan.items[i];

        snprintf(
            got + strlen(got), sizeof got - strlen(got), "%s%c", i > 0 ? ", " : "", "TFL"[p->kind]);
        for (size_t k = 0; k < p->count; k++)
            snprintf(got + strlen(got), sizeof got - strlen(got), " %s",
                plan.paths.items[p->first + k].name + strlen(place) + 1);
    }
    assert_string_equal(got, expected);
    stk__plan_fini(&plan);
    free(copy);
}

static void tells_shards_folders_and_files_apart(void **state)
{
    assert_plan(*state, "x.tar y.tgz", "T x.tar, T y.tgz");
    assert_plan(*state, "shard", "T shard");
    assert_plan(*state, "tars x.tar", "T tars/1.tar, T tars/2.tar, T x.tar");
    assert_plan(*state, "tars/", "T tars/1.tar, T tars/2.tar");
    assert_plan(*state, "*.jpg c.txt", "L a.jpg b.jpg c.txt");
    assert_plan(*state, "a.jpg files b.jpg c.txt", "L a.jpg, F files, L b.jpg c.txt");
    assert_plan(*state, "noext", "L noext");
}

static void kinds_do_not_mix(void **state)
{
    stk__plan plan = {.heap = &heap};
    stk_error err = STK_ERROR_INIT;
    const char *where[2] = {in_folder(*state, "a.jpg"), in_folder(*state, "x.tar")};

    assert_int_equal(stk__plan_make(&plan, where, 2, &err), STK_EINVAL);
    assert_non_null(strstr(err.text, "a.jpg and x.tar"));
    stk__plan_fini(&plan);
    where[0] = NULL;
    assert_int_equal(stk__plan_make(&plan, where, 2, &err), STK_EINVAL);
    stk__plan_fini(&plan);
    assert_int_equal(stk__plan_make(&plan, where, 0, &err), STK_EINVAL);
    stk__plan_fini(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            tells_shards_folders_and_files_apart, make_place, remove_place),
        cmocka_unit_test_setup_teardown(kinds_do_not_mix, make_place, remove_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
