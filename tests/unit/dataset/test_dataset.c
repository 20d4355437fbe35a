/* Without these: a sample has another sample's bytes, samples go missing in silence, and nobody is
 * told which shard, member and byte is at fault. */
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

/* An archive, one letter of data for each name, and what comes out. */
typedef struct grouping {
    const char *members; /* "a.jpg=A b.jpg=B" */
    const char *samples;
    const char *note; /* NULL: there is none */
} grouping;

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

static void groups_members_as_webdataset_does(void **state)
{
    static const grouping cases[] = {
        /* C29 */
        {"a.seg.png=1 a.rgb.png=2 a.b.c.json=3 n~2.0~(x).mp3=4",
            "a seg.png=1 rgb.png=2 b.c.json=3\nn 2 0 (x).mp3=4\n", NULL},
        /* C30 */
        {"train.v1/22.0/1.png=1 train.v1/22.0/1.cls=2 train.v1/22.0/2.png=3",
            "train.v1/22.0/1 png=1 cls=2\ntrain.v1/22.0/2 png=3\n", NULL},
        /* C31 */
        {"a.JPG=1 a.Seg.PNG=2 a.cls=3", "a jpg=1 seg.png=2 cls=3\n", NULL},
        /* C32 */
        {"a.jpg=1 b.jpg=2 a.cls=3 b.cls=4", "a jpg=1\nb jpg=2\na cls=3\nb cls=4\n",
            "key a comes back after others: a.jpg and later a.cls"},
        /* C35 */
        {"a.jpg=1 a.txt=2 b.jpg=3 c.jpg=4 c.txt=5 c.extra=6",
            "a jpg=1 txt=2\nb jpg=3\nc jpg=4 txt=5 extra=6\n", NULL},
        /* C36, and members between that are no part of a sample */
        {"README=1 d/README=2 .hidden.jpg=3 __meta__=4 __d__/x.json=5 a.jpg=6 noext=7 a.=8",
            "a jpg=6 =8\n", NULL},
        /* C12 */
        {"._a.jpg=1 a.jpg=2 ._a.cls=3 a.cls=4", "a jpg=2 cls=4\n", NULL},
        /* C37 */
        {"a.jpg= a.cls=3 b.jpg=1", "a jpg= cls=3\nb jpg=1\n", NULL},
        /* C38 */
        {"a.json.gz=z a.cls=1", "a json.gz=z cls=1\n", NULL},
        /* keys are not folded, fields are */
        {"a.x=1 A.X=2", "a x=1\nA x=2\n", NULL},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk_dataset *ds;
        stk_dataset_note note;
        made_tar t = {0};

        add_listed(&t, cases[i].members);
        tar_end(&t);
        assert_int_equal(open_tar(state, &t, NULL, &ds, NULL), STK_OK);
        assert_described(ds, cases[i].samples);
        assert_int_equal(stk_dataset_get_note(ds, 0, &note), cases[i].note != NULL);
        if (cases[i].note != NULL)
            assert_true(has_note(ds, cases[i].note));
        stk_dataset_unref(ds);
    }
}

static void one_note_for_all_keys_that_come_back(void **state)
{
    stk_dataset *ds;
    stk_dataset_note note;
    made_tar t = {0};

    for (int round = 0; round < 3; round++)
        add_listed(&t, "a.jpg=1 b.jpg=2 c.jpg=3");
    tar_end(&t);
    assert_int_equal(open_tar(state, &t, NULL, &ds, NULL), STK_OK);
    assert_int_equal(stk_dataset_count(ds), 9);
    assert_true(stk_dataset_get_note(ds, 0, &note));
    assert_int_equal(note.offset, 3 * 1024); /* the header of the second a.jpg */
    assert_false(stk_dataset_get_note(ds, 1, &note));
    stk_dataset_unref(ds);
}

/* C33, and the clash of C31 */
static void refuses_a_field_twice_unless_it_may_be_skipped(void **state)
{
    static const char *const cases[] = {
        "a.jpg=1 a.cls=2 a.jpg=3 b.jpg=4", "a.jpg=1 a.cls=2 a.JPG=3 b.jpg=4"};
    stk_dataset_options lenient = STK_DATASET_OPTIONS_INIT;

    lenient.skip_damaged_shards = true;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk_error err = STK_ERROR_INIT;
        stk_dataset *ds;
        made_tar t = {0};

        add_listed(&t, cases[i]);
        tar_end(&t);
        assert_int_equal(open_tar(state, &t, NULL, &ds, &err), STK_EFIELD);
        assert_null(ds);
        assert_string_equal(err.key, "a");
        assert_string_equal(err.source, in_folder(*state, "x.tar"));
        assert_string_equal(err.shard, "x.tar");
        assert_true(err.has_offset);
        assert_int_equal(err.offset, 2048);
        assert_non_null(strstr(err.text, i == 0 ? "a.jpg" : "a.JPG"));

        for (int again = 0; again < 2; again++) { /* the second time from the kept index */
            assert_int_equal(open_with(in_folder(*state, "x.tar"), &lenient, &ds, NULL), STK_OK);
            assert_described(ds, "a jpg=1 cls=2\nb jpg=4\n");
            assert_true(has_note(ds, "a field that its sample has already"));
            stk_dataset_unref(ds);
        }
        /* An index with something left out is not taken for a whole one. */
        assert_int_equal(open_with(in_folder(*state, "x.tar"), NULL, &ds, NULL), STK_EFIELD);
    }
}

static void keeps_the_case_of_fields_when_asked(void **state)
{
    stk_dataset_options options = STK_DATASET_OPTIONS_INIT;
    stk_dataset *ds;
    made_tar t = {0};

    add_listed(&t, "b.jpg=1 b.JPG=2");
    tar_end(&t);
    options.keep_case = true;
    assert_int_equal(open_tar(state, &t, &options, &ds, NULL), STK_OK);
    assert_described(ds, "b jpg=1 JPG=2\n");
    stk_dataset_unref(ds);
}

/* C34 */
static void a_key_does_not_reach_over_the_end_of_a_shard(void **state)
{
    const char *where[2];
    stk_sample sample;
    stk_dataset *ds = NULL;
    made_tar t = {0};

    tar_text(&t, "s.jpg", "1");
    tar_end(&t);
    save_file(in_folder(*state, "0.tar"), t.data, t.size);
    tar_free(&t);
    tar_text(&t, "s.cls", "2");
    tar_end(&t);
    save_file(in_folder(*state, "1.tar"), t.data, t.size);
    tar_free(&t);
    where[0] = in_folder(*state, "0.tar");
    where[1] = in_folder(*state, "1.tar");
    assert_int_equal(stk_dataset_open(where, 2, NULL, &ds, NULL), STK_OK);
    assert_described(ds, "s jpg=1\ns cls=2\n");
    assert_int_equal(stk_dataset_shard_count(ds), 2);
    assert_string_equal(stk_dataset_shard_name(ds, 1), "1.tar");
    assert_null(stk_dataset_shard_name(ds, 2));
    assert_int_equal(stk_dataset_shard_start(ds, 1), 1);
    assert_int_equal(stk_dataset_shard_start(ds, 2), 2);
    assert_int_equal(stk_dataset_sample(ds, 1, &sample, NULL), STK_OK);
    assert_int_equal(sample.shard, 1);
    assert_int_equal(sample.label, -1);
    stk_dataset_unref(ds);
}

/* C14 */
static void hard_links_have_data_and_other_links_a_note(void **state)
{
    stk_dataset *ds;
    made_tar t = {0};

    tar_text(&t, "a.jpg", "AAAA");
    tar_text(&t, "a.cls", "1");
    tar_link(&t, "b.jpg", '1', "a.jpg");
    tar_text(&t, "b.cls", "2");
    tar_link(&t, "c.jpg", '2', "a.jpg");
    tar_text(&t, "c.cls", "3");
    tar_link(&t, "d.jpg", '1', "nowhere.jpg");
    tar_end(&t);
    assert_int_equal(open_tar(state, &t, NULL, &ds, NULL), STK_OK);
    assert_described(ds, "a jpg=AAAA cls=1\nb jpg=AAAA cls=2\nc cls=3\n");
    assert_true(has_note(ds, "field is a link without data: c.jpg to a.jpg"));
    assert_true(has_note(ds, "field is a link without data: d.jpg to nowhere.jpg"));
    stk_dataset_unref(ds);
}

/* C26 */
static void keys_are_bytes(void **state)
{
    stk_error err = STK_ERROR_INIT;
    stk_dataset *ds;
    uint64_t index;
    made_tar t = {0};

    tar_text(&t, "caf\xe9.jpg", "1");
    tar_text(&t, "caf\xc3\xa9.jpg", "2");
    tar_text(&t, "cafe\xcc\x81.jpg", "3");
    tar_named(&t, "a=b\nc.jpg", 9, "4", 1);
    tar_end(&t);
    assert_int_equal(open_tar(state, &t, NULL, &ds, NULL), STK_OK);
    assert_described(ds, "caf\xe9 jpg=1\ncaf\xc3\xa9 jpg=2\ncafe\xcc\x81 jpg=3\na=b\nc jpg=4\n");
    assert_int_equal(stk_dataset_find(ds, (stk_view){"a=b\nc", 5}, &index, &err), STK_OK);
    assert_int_equal(index, 3);
    stk_dataset_unref(ds);
}

/* C16, C17 */
static void a_damaged_shard_is_an_error_or_what_stands_before_the_damage(void **state)
{
    stk_dataset_options lenient = STK_DATASET_OPTIONS_INIT;
    stk_error err = STK_ERROR_INIT;
    stk_dataset *ds;
    made_tar t = {0};

    lenient.skip_damaged_shards = true;
    add_listed(&t, "k0.bin=A k1.bin=B k2.cls=1 k2.bin=C k3.bin=D");
    t.size = 3 * 1024 + 100; /* cut in the header of k2.bin */
    assert_int_equal(open_tar(state, &t, NULL, &ds, &err), STK_ECORRUPT);
    assert_string_equal(err.shard, "x.tar");
    assert_true(err.has_offset);
    assert_int_equal(open_with(in_folder(*state, "x.tar"), &lenient, &ds, NULL), STK_OK);
    assert_described(ds, "k0 bin=A\nk1 bin=B\nk2 cls=1\n");
    stk_dataset_unref(ds);

    /* A sample whose own member is cut is left out whole. */
    add_listed(&t, "k0.bin=A k1.cls=1");
    tar_put_head(&t, &(tar_head){.name = "k1.bin", .size = 5000});
    tar_put(&t, "cut", 3);
    assert_int_equal(open_tar(state, &t, NULL, &ds, &err), STK_ECORRUPT);
    assert_int_equal(open_with(in_folder(*state, "x.tar"), &lenient, &ds, NULL), STK_OK);
    assert_described(ds, "k0 bin=A\n");
    assert_true(has_note(ds, "k1.bin"));
    stk_dataset_unref(ds);
}

/* C21 */
static void an_empty_file_is_damaged_and_an_empty_archive_has_no_samples(void **state)
{
    static const char zeros[10240];
    stk_error err = STK_ERROR_INIT;
    stk_sample sample;
    stk_dataset *ds;
    const char *path = in_folder(*state, "x.tar");

    save_file(path, "", 0);
    assert_int_equal(open_with(path, NULL, &ds, &err), STK_ECORRUPT);
    assert_non_null(strstr(err.text, "empty"));
    save_file(path, zeros, sizeof zeros);
    assert_int_equal(open_with(path, NULL, &ds, NULL), STK_OK);
    assert_int_equal(stk_dataset_count(ds), 0);
    assert_int_equal(stk_dataset_sample(ds, 0, &sample, &err), STK_ERANGE);
    stk_dataset_unref(ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            groups_members_as_webdataset_does, make_place, remove_place),
        cmocka_unit_test_setup_teardown(
            one_note_for_all_keys_that_come_back, make_place, remove_place),
        cmocka_unit_test_setup_teardown(
            refuses_a_field_twice_unless_it_may_be_skipped, make_place, remove_place),
        cmocka_unit_test_setup_teardown(
            keeps_the_case_of_fields_when_asked, make_place, remove_place),
        cmocka_unit_test_setup_teardown(
            a_key_does_not_reach_over_the_end_of_a_shard, make_place, remove_place),
        cmocka_unit_test_setup_teardown(
            hard_links_have_data_and_other_links_a_note, make_place, remove_place),
        cmocka_unit_test_setup_teardown(keys_are_bytes, make_place, remove_place),
        cmocka_unit_test_setup_teardown(
            a_damaged_shard_is_an_error_or_what_stands_before_the_damage, make_place, remove_place),
        cmocka_unit_test_setup_teardown(
            an_empty_file_is_damaged_and_an_empty_archive_has_no_samples, make_place, remove_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
