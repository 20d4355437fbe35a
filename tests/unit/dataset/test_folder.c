/* Without these: labels of a folder tree are not those of torchvision's ImageFolder, a class that
 * is empty moves all others, and a folder that changed is read by its old index. */
#include <stoker/dataset.h>

#include "dataset/dataset.h"
#include "dataset/folder.h"
#include "support/describe.h"
#include "support/temp_tree.h"
#include "support/test.h"

static int make_place(void **state)
{
    *state = make_temp_folder();
    setenv("XDG_CACHE_HOME", in_folder(*state, ".cache"), 1);
    make_folder(in_folder(*state, "d"));
    return 0;
}

static int remove_place(void **state)
{
    remove_tree(*state);
    return 0;
}

/* Files with their name as contents, or folders ("x/"), below d; in this order. */
static void put(const char *place, const char *names)
{
    char *copy = strdup(names), *rest = copy, *name;

    while ((name = strsep(&rest, " ")) != NULL) {
        char path[600];
        size_t length = strlen(name);

        snprintf(path, sizeof path, "%s/d/%s", place, name);
        for (char *slash = path + strlen(place) + 3; (slash = strchr(slash, '/')) != NULL;
            *slash++ = '/') {
            *slash = '\0';
            if (!file_exists(path))
                make_folder(path);
        }
        if (name[length - 1] != '/') {
            const char *base = strrchr(name, '/');
            save_text(path, base == NULL ? name : base + 1);
        }
    }
    free(copy);
}

static stk_dataset *open_d(const char *place, const stk_dataset_options *options)
{
    const char *where = in_folder(place, "d");
    stk_error err = STK_ERROR_INIT;
    stk_dataset *ds = NULL;
    char line[1024];

    if (stk_dataset_open(&where, 1, options, &ds, &err) < 0) {
        stk_error_format(&err, line, sizeof line);
        fail_msg("%s", line);
    }
    return ds;
}

static stk_status fails(const char *where, stk_error *err)
{
    stk_dataset *ds = NULL;
    stk_status st = stk_dataset_open(&where, 1, NULL, &ds, err);

    stk_dataset_unref(ds);
    return st;
}

static void a_folder_of_folders_has_classes(void **state)
{
    stk_dataset *ds;

    put(*state, "dog/2.jpg dog/1.jpg cat/b.jpg cat/a.jpg Zebra/z.png");
    ds = open_d(*state, NULL);
    assert_described(ds, "Zebra/z png=z.png #0\n"
                         "cat/a jpg=a.jpg #1\n"
                         "cat/b jpg=b.jpg #1\n"
                         "dog/1 jpg=1.jpg #2\n"
                         "dog/2 jpg=2.jpg #2\n");
    assert_int_equal(stk_dataset_class_count(ds), 3);
    assert_string_equal(stk_dataset_class(ds, 0), "Zebra");
    assert_string_equal(stk_dataset_class(ds, 2), "dog");
    assert_null(stk_dataset_class(ds, 3));
    assert_int_equal(stk_dataset_shard_count(ds), 3);
    assert_string_equal(stk_dataset_shard_name(ds, 1), "cat");
    assert_int_equal(stk_dataset_shard_start(ds, 2), 3);
    stk_dataset_unref(ds);
}

/* os.walk sorted by folder, then names: what ImageFolder's make_dataset does. */
static void order_is_that_of_imagefolder(void **state)
{
    stk_dataset *ds;

    put(*state, "a/x/2.jpg a/b.jpg a/x-y/1.jpg a/a.jpg a/a-1.jpg a-b/q.jpg");
    ds = open_d(*state, NULL);
    assert_described(ds, "a/a-1 jpg=a-1.jpg #0\n"
                         "a/a jpg=a.jpg #0\n"
                         "a/b jpg=b.jpg #0\n"
                         "a/x/2 jpg=2.jpg #0\n"
                         "a/x-y/1 jpg=1.jpg #0\n"
                         "a-b/q jpg=q.jpg #1\n");
    stk_dataset_unref(ds);
}

static void files_of_one_key_are_one_sample(void **state)
{
    stk_dataset *ds;
    stk_sample_field field;
    char path[600];

    put(*state, "c/a.jpg c/a.json c/ab.jpg c/a.seg.PNG c/a-b.jpg c/s/a.jpg");
    ds = open_d(*state, NULL);
    assert_described(ds, "c/a-b jpg=a-b.jpg #0\n"
                         "c/a jpg=a.jpg json=a.json seg.png=a.seg.PNG #0\n"
                         "c/ab jpg=ab.jpg #0\n"
                         "c/s/a jpg=a.jpg #0\n");
    assert_int_equal(stk_dataset_sample_field(ds, 1, 2, &field, NULL), STK_OK);
    assert_int_equal(stk_dataset_source_path(ds, field.source, path, sizeof path),
        strlen(in_folder(*state, "d/c/a.seg.PNG")));
    assert_string_equal(path, in_folder(*state, "d/c/a.seg.PNG"));
    assert_memory_equal(field.name.data, "c/a.seg.PNG", field.name.size);
    stk_dataset_unref(ds);
}

static void a_flat_folder_has_no_classes(void **state)
{
    stk_dataset *ds;

    put(*state, "2.jpg 1.jpg 1.json README empty/");
    ds = open_d(*state, NULL);
    assert_described(ds, "1 jpg=1.jpg json=1.json\n2 jpg=2.jpg\n");
    assert_int_equal(stk_dataset_class_count(ds), 0);
    assert_string_equal(stk_dataset_shard_name(ds, 0), "d");
    assert_true(has_note(ds, "1 file without an extension was left out; the first is README"));
    stk_dataset_unref(ds);
}

static void an_empty_class_keeps_its_number(void **state)
{
    stk_dataset *ds;

    put(*state, "a/1.jpg b/ c/sub/2.jpg stray.txt d/noext");
    ds = open_d(*state, NULL);
    assert_described(ds, "a/1 jpg=1.jpg #0\nc/sub/2 jpg=2.jpg #2\n");
    assert_int_equal(stk_dataset_class_count(ds), 4);
    assert_int_equal(stk_dataset_shard_start(ds, 1), 1);
    assert_int_equal(stk_dataset_shard_start(ds, 2), 1);
    assert_true(has_note(ds, "class folder b holds no file, and keeps its number"));
    assert_true(has_note(ds, "class folder d holds no file"));
    assert_true(has_note(ds, "1 file beside the class folders was left out"));
    stk_dataset_unref(ds);
}

static void hidden_names_are_left_out(void **state)
{
    stk_dataset *ds;

    put(*state, "a/1.jpg a/.2.jpg .git/x.jpg a/.hid/3.jpg a/x.tar.stoker");
    ds = open_d(*state, NULL);
    assert_described(ds, "a/1 jpg=1.jpg #0\n");
    assert_int_equal(stk_dataset_class_count(ds), 1);
    stk_dataset_unref(ds);
}

static void links_are_followed_and_loops_are_not(void **state)
{
    stk_dataset *ds;

    put(*state, "a/1.jpg b/2.jpg");
    assert_int_equal(symlink("../a/1.jpg", in_folder(*state, "d/b/link.jpg")), 0);
    assert_int_equal(symlink("../b", in_folder(*state, "d/a/other")), 0);
    assert_int_equal(symlink("..", in_folder(*state, "d/a/up")), 0);
    assert_int_equal(symlink("b", in_folder(*state, "d/c")), 0);
    ds = open_d(*state, NULL);
    assert_described(ds, "a/1 jpg=1.jpg #0\n"
                         "a/other/2 jpg=2.jpg #0\n"
                         "a/other/link jpg=1.jpg #0\n"
                         "b/2 jpg=2.jpg #1\n"
                         "b/link jpg=1.jpg #1\n"
                         "c/2 jpg=2.jpg #2\n"
                         "c/link jpg=1.jpg #2\n");
    assert_true(has_note(ds, "folder a/up leads back to one that it is in"));
    stk_dataset_unref(ds);
}

static void a_dangling_link_is_a_sample_that_cannot_be_read(void **state)
{
    stk_error err = STK_ERROR_INIT;
    stk_sample_field field;
    stk_dataset *ds;

    put(*state, "a/1.jpg a/3.jpg");
    assert_int_equal(symlink("nowhere.jpg", in_folder(*state, "d/a/2.jpg")), 0);
    assert_int_equal(symlink("4.jpg", in_folder(*state, "d/a/4.jpg")), 0); /* to itself */
    assert_int_equal(symlink("nowhere", in_folder(*state, "d/a/none")), 0);
    ds = open_d(*state, NULL);
    assert_int_equal(stk_dataset_count(ds), 4);
    assert_true(has_note(ds, "a/2.jpg leads to no file"));
    assert_true(has_note(ds, "1 file without an extension was left out; the first is a/none"));
    for (uint64_t sample = 1; sample < 4; sample += 2) {
        assert_int_equal(stk_dataset_sample_field(ds, sample, 0, &field, NULL), STK_OK);
        assert_int_equal(
            stk_dataset_read(ds, field.source, 0, (stk_span){NULL, 0}, &err), STK_ESOURCE);
        assert_string_equal(err.source, in_folder(*state, sample == 1 ? "d/a/2.jpg" : "d/a/4.jpg"));
    }
    stk_dataset_unref(ds);
}

static void dots_of_names_do_not_make_one_sample_of_many(void **state)
{
    stk_dataset *ds;

    put(*state, "a/2020.01.01.jpg a/2020.01.02.jpg a/2020.01.02.txt a/cat.0.jpg a/cat.1.jpg");
    ds = open_d(*state, NULL);
    assert_described(ds, "a/2020.01.01 jpg=2020.01.01.jpg #0\n"
                         "a/2020.01.02 jpg=2020.01.02.jpg txt=2020.01.02.txt #0\n"
                         "a/cat.0 jpg=cat.0.jpg #0\n"
                         "a/cat.1 jpg=cat.1.jpg #0\n");
    stk_dataset_unref(ds);
}

/* In the order of names a.m.jpg stands between a.jpg and a.seg.png. */
static void fields_of_one_sample_are_together_whatever_stands_between(void **state)
{
    stk_dataset *ds;

    put(*state, "x/a.0.jpg x/a.0.seg.png x/a.1.jpg x/a.jpg x/a.seg.png x/a.txt x/a-b.jpg "
                "x/a.jpg.json x/a.m.jpg x/a.x.jpg x/b.a.jpg");
    ds = open_d(*state, NULL);
    assert_described(ds, "x/a-b jpg=a-b.jpg #0\n"
                         "x/a.0 jpg=a.0.jpg seg.png=a.0.seg.png #0\n"
                         "x/a.1 jpg=a.1.jpg #0\n"
                         "x/a jpg=a.jpg jpg.json=a.jpg.json seg.png=a.seg.png txt=a.txt #0\n"
                         "x/a.m jpg=a.m.jpg #0\n"
                         "x/a.x jpg=a.x.jpg #0\n"
                         "x/b.a jpg=b.a.jpg #0\n");
    stk_dataset_unref(ds);
}

static void a_field_twice_names_the_file(void **state)
{
    stk_error err = STK_ERROR_INIT;

    put(*state, "a/1.JPG a/1.jpg");
    assert_int_equal(fails(in_folder(*state, "d"), &err), STK_EFIELD);
    assert_string_equal(err.key, "a/1");
    assert_non_null(strstr(err.text, "a/1.jpg"));
}

static void a_folder_without_samples_is_an_error(void **state)
{
    stk_error err = STK_ERROR_INIT;

    put(*state, "README a/ .hidden.jpg");
    assert_int_equal(fails(in_folder(*state, "d"), &err), STK_ESOURCE);
    assert_string_equal(err.source, in_folder(*state, "d"));
    err = (stk_error)STK_ERROR_INIT;
    assert_int_equal(fails(in_folder(*state, "gone"), &err), STK_ESOURCE);
    assert_string_equal(err.source, in_folder(*state, "gone"));
    assert_int_equal(err.os_errno, 2);
}

static void classes_of_several_trees_are_joined(void **state)
{
    const char *where[2];
    stk_dataset *ds = NULL;

    put(*state, "one/dog/1.jpg one/cat/2.jpg two/dog/3.jpg two/ape/4.jpg");
    where[0] = in_folder(*state, "d/one");
    where[1] = in_folder(*state, "d/two/");
    assert_int_equal(stk_dataset_open(where, 2, NULL, &ds, NULL), STK_OK);
    assert_described(ds, "cat/2 jpg=2.jpg #1\n"
                         "dog/1 jpg=1.jpg #2\n"
                         "ape/4 jpg=4.jpg #0\n"
                         "dog/3 jpg=3.jpg #2\n");
    assert_int_equal(stk_dataset_class_count(ds), 3);
    stk_dataset_unref(ds);
}

static void listed_files_are_samples_by_themselves(void **state)
{
    const char *where[2];
    stk_dataset *ds = NULL;
    stk_error err = STK_ERROR_INIT;

    put(*state, "p/a.jpg p/a.json q/b.jpg q/noext");
    where[0] = in_folder(*state, "d/p/*");
    where[1] = in_folder(*state, "d/q/*");
    assert_int_equal(stk_dataset_open(where, 2, NULL, &ds, NULL), STK_OK);
    assert_described(ds, "p/a jpg=a.jpg\np/a json=a.json\nq/b jpg=b.jpg\n");
    assert_true(has_note(ds, "q/noext"));
    stk_dataset_unref(ds);
    where[0] = in_folder(*state, "d/p/a.jpg");
    assert_int_equal(stk_dataset_open(where, 1, NULL, &ds, NULL), STK_OK);
    assert_described(ds, "a jpg=a.jpg\n");
    stk_dataset_unref(ds);
    where[0] = in_folder(*state, "d/q/noext");
    assert_int_equal(stk_dataset_open(where, 1, NULL, &ds, &err), STK_ESOURCE);
    assert_int_equal(stk_dataset_open(where, 0, NULL, &ds, &err), STK_EINVAL);
}

static uint64_t index_inode(const char *place)
{
    struct stat found;

    return stat(in_folder(place, "d/.stoker-index"), &found) == 0 ? (uint64_t)found.st_ino : 0;
}

static void the_index_is_used_again_until_a_name_changes(void **state)
{
    stk_dataset_options required = STK_DATASET_OPTIONS_INIT;
    const char *where = in_folder(*state, "d");
    stk_error err = STK_ERROR_INIT;
    uint64_t inode, before[2], after[2];
    stk_dataset *ds;

    required.index = STK_INDEX_REQUIRE;
    put(*state, "a/1.jpg b/2.jpg");
    assert_int_equal(stk_dataset_open(&where, 1, &required, &ds, &err), STK_EINDEX);
    assert_string_equal(err.text, "there is no index");
    ds = open_d(*state, NULL);
    stk_dataset_fingerprint(ds, before);
    stk_dataset_unref(ds);
    inode = index_inode(*state);
    assert_true(inode != 0);
    ds = open_d(*state, &required);
    assert_described(ds, "a/1 jpg=1.jpg #0\nb/2 jpg=2.jpg #1\n");
    stk_dataset_fingerprint(ds, after);
    assert_memory_equal(before, after, sizeof before);
    stk_dataset_unref(ds);
    assert_int_equal(index_inode(*state), inode);

    put(*state, "b/.hidden"); /* no data: the index is as good as before */
    ds = open_d(*state, &required);
    stk_dataset_unref(ds);

    put(*state, "b/3.jpg");
    assert_int_equal(stk_dataset_open(&where, 1, &required, &ds, &err), STK_EINDEX);
    assert_non_null(strstr(err.text, "d/b has other files"));
    ds = open_d(*state, NULL);
    assert_described(ds, "a/1 jpg=1.jpg #0\nb/2 jpg=2.jpg #1\nb/3 jpg=3.jpg #1\n");
    stk_dataset_fingerprint(ds, after);
    assert_memory_not_equal(before, after, sizeof before);
    stk_dataset_unref(ds);

    assert_int_equal(unlink(in_folder(*state, "d/b/2.jpg")), 0);
    assert_int_equal(unlink(in_folder(*state, "d/b/3.jpg")), 0);
    assert_int_equal(unlink(in_folder(*state, "d/b/.hidden")), 0);
    assert_int_equal(rmdir(in_folder(*state, "d/b")), 0);
    assert_int_equal(stk_dataset_open(&where, 1, &required, &ds, &err), STK_EINDEX);
    ds = open_d(*state, NULL);
    assert_described(ds, "a/1 jpg=1.jpg #0\n");
    stk_dataset_unref(ds);
}

/* A folder whose time is old is trusted by it; one that was touched is listed, and still the same.
 */
static void old_times_are_trusted_and_new_ones_are_not(void **state)
{
    struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    struct timespec other[2] = {{.tv_sec = 1100000000}, {.tv_sec = 1100000000}};
    stk_dataset_options required = STK_DATASET_OPTIONS_INIT;
    const char *b = in_folder(*state, "d/b");
    const char *where = in_folder(*state, "d");
    stk_dataset *ds;

    required.index = STK_INDEX_REQUIRE;
    put(*state, "a/1.jpg b/2.jpg");
    assert_int_equal(utimensat(AT_FDCWD, b, old, 0), 0);
    stk_dataset_unref(open_d(*state, NULL));

    /* The same old time with other names: nobody looks. This is what trusting means. */
    put(*state, "b/3.jpg");
    assert_int_equal(utimensat(AT_FDCWD, b, old, 0), 0);
    ds = open_d(*state, &required);
    assert_int_equal(stk_dataset_count(ds), 2);
    stk_dataset_unref(ds);

    assert_int_equal(utimensat(AT_FDCWD, b, other, 0), 0);
    assert_int_equal(stk_dataset_open(&where, 1, &required, &ds, NULL), STK_EINDEX);
    assert_int_equal(unlink(in_folder(*state, "d/b/3.jpg")), 0);
    assert_int_equal(utimensat(AT_FDCWD, b, other, 0), 0);
    ds = open_d(*state, &required);
    stk_dataset_unref(ds);
}

static void a_file_of_another_size_is_refused_when_it_is_read(void **state)
{
    stk_error err = STK_ERROR_INIT;
    stk_sample_field field;
    char bytes[16];
    stk_dataset *ds;

    put(*state, "a/1.jpg a/2.jpg a/3.jpg");
    ds = open_d(*state, NULL);
    save_text(in_folder(*state, "d/a/1.jpg"), "longer than before");
    save_text(in_folder(*state, "d/a/2.jpg"), "less");
    assert_int_equal(unlink(in_folder(*state, "d/a/3.jpg")), 0);
    assert_int_equal(stk_dataset_sample_field(ds, 0, 0, &field, NULL), STK_OK);
    assert_int_equal(
        stk_dataset_read(ds, field.source, 0, (stk_span){bytes, 5}, &err), STK_ECORRUPT);
    assert_string_equal(err.text,
        "file is longer than its index says (18 of 5 bytes); it changed after it was indexed");
    assert_string_equal(err.source, in_folder(*state, "d/a/1.jpg"));
    err = (stk_error)STK_ERROR_INIT;
    assert_int_equal(
        stk_dataset_read(ds, field.source + 1, 0, (stk_span){bytes, 5}, &err), STK_ECORRUPT);
    assert_string_equal(err.text,
        "file is shorter than its index says (4 of 5 bytes); it changed after it was indexed");
    err = (stk_error)STK_ERROR_INIT;
    assert_int_equal(
        stk_dataset_read(ds, field.source + 2, 0, (stk_span){bytes, 5}, &err), STK_ESOURCE);
    assert_int_equal(err.os_errno, 2);
    assert_string_equal(err.source, in_folder(*state, "d/a/3.jpg"));
    assert_int_equal(err.stage, STK_STAGE_READ);
    stk_dataset_unref(ds);
}

static void a_folder_of_tars_is_those_shards(void **state)
{
    static const char zeros[1024];
    stk_error err = STK_ERROR_INIT;
    const char *where[2];
    stk_dataset *ds;

    save_file(in_folder(*state, "d/b.tar"), zeros, sizeof zeros);
    save_file(in_folder(*state, "d/a.TAR"), zeros, sizeof zeros);
    put(*state, "a_stats.json .c.tar");
    for (int round = 0; round < 2; round++) { /* the second time with indexes beside */
        ds = open_d(*state, NULL);
        assert_int_equal(stk_dataset_shard_count(ds), 2);
        assert_string_equal(stk_dataset_shard_name(ds, 0), "a.TAR");
        assert_string_equal(stk_dataset_shard_name(ds, 1), "b.tar");
        stk_dataset_unref(ds);
    }
    assert_true(file_exists(in_folder(*state, "d/b.tar.stoker")));
    where[0] = in_folder(*state, "d");
    where[1] = in_folder(*state, "d/a_stats.json");
    assert_int_equal(stk_dataset_open(where, 2, NULL, &ds, &err), STK_EINVAL);
    assert_non_null(strstr(err.text, "a_stats.json"));
}

static void shards_in_folders_of_a_folder_are_no_classes(void **state)
{
    stk_error err = STK_ERROR_INIT;

    put(*state, "train/0.tar train/1.tar val/0.tar");
    assert_int_equal(fails(in_folder(*state, "d"), &err), STK_EINVAL);
    assert_non_null(strstr(err.text, "*/*.tar"));
}

static void tells_tars_by_name(void **state)
{
    (void)state;

    assert_true(stk__is_tar_name("x.tar"));
    assert_true(stk__is_tar_name("x.TAR.gz"));
    assert_true(stk__is_tar_name("x.tgz"));
    assert_false(stk__is_tar_name("x.tar.stoker"));
    assert_false(stk__is_tar_name("tar"));
    assert_false(stk__is_tar_name("x.star.jpg"));
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(a_folder_of_folders_has_classes),
        WITH_PLACE(order_is_that_of_imagefolder),
        WITH_PLACE(files_of_one_key_are_one_sample),
        WITH_PLACE(a_flat_folder_has_no_classes),
        WITH_PLACE(an_empty_class_keeps_its_number),
        WITH_PLACE(hidden_names_are_left_out),
        WITH_PLACE(links_are_followed_and_loops_are_not),
        WITH_PLACE(a_dangling_link_is_a_sample_that_cannot_be_read),
        WITH_PLACE(dots_of_names_do_not_make_one_sample_of_many),
        WITH_PLACE(fields_of_one_sample_are_together_whatever_stands_between),
        WITH_PLACE(a_field_twice_names_the_file),
        WITH_PLACE(a_folder_without_samples_is_an_error),
        WITH_PLACE(classes_of_several_trees_are_joined),
        WITH_PLACE(listed_files_are_samples_by_themselves),
        WITH_PLACE(the_index_is_used_again_until_a_name_changes),
        WITH_PLACE(old_times_are_trusted_and_new_ones_are_not),
        WITH_PLACE(a_file_of_another_size_is_refused_when_it_is_read),
        WITH_PLACE(a_folder_of_tars_is_those_shards),
        WITH_PLACE(shards_in_folders_of_a_folder_are_no_classes),
        cmocka_unit_test(tells_tars_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
