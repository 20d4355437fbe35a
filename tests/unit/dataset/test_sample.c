/* Without these: a field is taken from the wrong alternative, and a sample that lacks it does not
 * say what it has. */
#include <stoker/dataset.h>

#include "dataset/dataset.h"
#include "support/describe.h"
#include "support/make_tar.h"
#include "support/temp_tree.h"
#include "support/test.h"

static int make_place(void **state)
{
    *state = make_temp_folder();
    setenv("XDG_CACHE_HOME", in_folder(*state, ".cache"), 1);
    return 0;
}

static int remove_place(void **state)
{
    remove_tree(*state);
    return 0;
}

static stk_status open_with(
    const char *where, const stk_dataset_options *options, stk_dataset **out, stk_error *err)
{
    *out = NULL;
    return stk_dataset_open(&where, 1, options, out, err);
}

/* Write the archive, open it, and let go of it. */
static stk_status open_tar(void **state, made_tar *t, const stk_dataset_options *options,
    stk_dataset **out, stk_error *err)
{
    const char *path = in_folder(*state, "x.tar");

    save_file(path, t->data, t->size);
    tar_free(t);
    return open_with(path, options, out, err);
}

static void add_listed(made_tar *t, const char *members)
{
    char *copy = strdup(members), *rest = copy, *item;

    while ((item = strsep(&rest, " ")) != NULL) {
        char *data = strrchr(item, '=');
        *data++ = '\0';
        for (char *c = item; *c != '\0'; c++)
            *c = (char)(*c == '~' ? ' ' : *c);
        tar_text(t, item, data);
    }
    free(copy);
}

static void locates_the_first_alternative_that_a_sample_has(void **state)
{
    stk_error err = STK_ERROR_INIT;
    stk_sample_field field;
    uint32_t ids[3];
    stk_dataset *ds;
    made_tar t = {0};

    add_listed(&t, "a.png=1 a.jpg=2 b.png=3 c.txt=4");
    tar_end(&t);
    assert_int_equal(open_tar(state, &t, NULL, &ds, NULL), STK_OK);
    ids[0] = stk__dataset_field_id(ds, "jpg");
    ids[1] = stk__dataset_field_id(ds, "webp");
    ids[2] = stk__dataset_field_id(ds, "png");
    assert_int_equal(ids[0], 1);
    assert_int_equal(ids[1], UINT32_MAX);
    assert_string_equal(stk_dataset_field(ds, 0), "png");
    assert_null(stk_dataset_field(ds, 3));
    assert_int_equal(stk_dataset_field_max_bytes(ds, 0), 1);

    assert_int_equal(stk__dataset_locate(ds, 0, ids, 3, &field, NULL), STK_OK);
    assert_int_equal(field.offset, 1024 + 512);
    assert_memory_equal(field.field.data, "jpg", 4);
    assert_int_equal(field.field_id, ids[0]);
    assert_int_equal(stk__dataset_locate(ds, 1, ids, 3, &field, NULL), STK_OK);
    assert_int_equal(field.offset, 2048 + 512);
    assert_int_equal(stk__dataset_locate(ds, 2, ids, 3, &field, &err), STK_EFIELD);
    assert_string_equal(err.key, "c");
    assert_string_equal(err.shard, "x.tar");
    assert_string_equal(err.field, "jpg;png");
    assert_int_equal(err.sample, 2);
    assert_non_null(strstr(err.text, "txt"));
    assert_int_equal(stk__dataset_locate(ds, 3, ids, 3, &field, &err), STK_ERANGE);
    stk_dataset_unref(ds);
}

/* The names of what is asked for and of what is there are cut, never written too far. */
static void many_fields_are_listed_as_far_as_there_is_room(void **state)
{
    stk_error err = STK_ERROR_INIT;
    stk_sample_field field;
    uint32_t ids[100];
    stk_dataset *ds;
    char name[32];
    made_tar t = {0};

    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "a.field-%d", i);
        tar_text(&t, name, "1");
        ids[i] = (uint32_t)i;
    }
    tar_text(&t, "b.other", "2");
    tar_end(&t);
    assert_int_equal(open_tar(state, &t, NULL, &ds, NULL), STK_OK);
    assert_int_equal(stk__dataset_locate(ds, 1, ids, 100, &field, &err), STK_EFIELD);
    assert_memory_equal(err.field, "field-0;field-1;", 16);
    assert_string_equal(err.text, "the sample has no such field; it has other");
    ids[0] = 100;
    assert_int_equal(stk__dataset_locate(ds, 0, ids, 1, &field, &err), STK_EFIELD);
    assert_non_null(strstr(err.text, "it has field-0, field-1, "));
    assert_int_equal(stk__dataset_locate(ds, 0, ids, 0, &field, &err), STK_EFIELD);
    stk_dataset_unref(ds);
}

static void an_index_past_the_end_says_how_many_there_are(void **state)
{
    stk_error err = STK_ERROR_INIT;
    stk_sample_field field;
    stk_sample sample;
    stk_dataset *ds;
    made_tar t = {0};

    add_listed(&t, "a.x=1 a.y=2");
    tar_end(&t);
    assert_int_equal(open_tar(state, &t, NULL, &ds, NULL), STK_OK);
    assert_int_equal(stk_dataset_sample(ds, 1, &sample, &err), STK_ERANGE);
    assert_string_equal(err.text, "sample 1 of a dataset with 1");
    assert_int_equal(stk_dataset_sample(ds, UINT64_MAX, &sample, &err), STK_ERANGE);
    assert_int_equal(stk_dataset_sample_field(ds, 0, 2, &field, &err), STK_ERANGE);
    assert_string_equal(err.text, "field 2 of a sample with 2");
    stk_dataset_unref(ds);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(locates_the_first_alternative_that_a_sample_has),
        WITH_PLACE(many_fields_are_listed_as_far_as_there_is_room),
        WITH_PLACE(an_index_past_the_end_says_how_many_there_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
