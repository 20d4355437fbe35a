/* Without these: a shard that was cut gives bytes that are not there, and nobody says which file.
 */
#include <stoker/dataset.h>

#include "archive/index_layout.h"
#include "base/bytes.h"
#include "base/hash.h"
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

static void reads_stay_inside_the_file_that_was_indexed(void **state)
{
    stk_error err = STK_ERROR_INIT;
    char bytes[512];
    stk_dataset *ds;
    made_tar t = {0};

    add_listed(&t, "a.x=1 b.x=2");
    tar_end(&t);
    assert_int_equal(open_tar(state, &t, NULL, &ds, NULL), STK_OK);
    assert_int_equal(stk_dataset_read(ds, 0, 3072 - 511, (stk_span){bytes, 512}, &err), STK_ERANGE);
    assert_int_equal(stk_dataset_read(ds, 0, UINT64_MAX, (stk_span){bytes, 2}, &err), STK_ERANGE);
    assert_int_equal(stk_dataset_read(ds, 1, 0, (stk_span){bytes, 1}, &err), STK_ERANGE);
    assert_int_equal(stk_dataset_read(ds, 0, 3072 - 512, (stk_span){bytes, 512}, &err), STK_OK);
    if (truncate(in_folder(*state, "x.tar"), 2000) != 0)
        fail();
    err = (stk_error)STK_ERROR_INIT;
    assert_int_equal(
        stk_dataset_read(ds, 0, 1024 + 512, (stk_span){bytes, 512}, &err), STK_ECORRUPT);
    assert_string_equal(err.text, "file is shorter than its index says (2000 of 3072 bytes); it "
                                  "changed after it was indexed");
    assert_string_equal(err.source, in_folder(*state, "x.tar"));
    stk_dataset_unref(ds);
}

/* The same as a read that may wait, or nothing. */
static void try_read_gives_the_same_bytes_or_says_again(void **state)
{
    stk_error err = STK_ERROR_INIT;
    char bytes[3072], same[3072];
    stk_dataset *ds;
    made_tar t = {0};
    stk_status st;

    add_listed(&t, "a.x=1 b.x=2");
    tar_end(&t);
    assert_int_equal(open_tar(state, &t, NULL, &ds, NULL), STK_OK);
    assert_int_equal(stk_dataset_read(ds, 0, 0, (stk_span){bytes, sizeof bytes}, NULL), STK_OK);
    st = stk__dataset_try_read(ds, 0, 0, (stk_span){same, sizeof same}, NULL);
    assert_true(st == STK_OK || st == STK_AGAIN);
    if (st == STK_OK)
        assert_memory_equal(same, bytes, sizeof bytes);
    assert_int_equal(
        stk__dataset_try_read(ds, 0, 1, (stk_span){same, sizeof same}, &err), STK_ERANGE);
    assert_int_equal(stk__dataset_try_read(ds, 7, 0, (stk_span){same, 1}, &err), STK_ERANGE);
    stk_dataset_unref(ds);
}

static void paths_are_cut_where_there_is_no_room(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    char text[600];
    stk_dataset *ds;
    made_tar t = {0};

    add_listed(&t, "a.x=1");
    tar_end(&t);
    assert_int_equal(open_tar(state, &t, NULL, &ds, NULL), STK_OK);
    assert_int_equal(stk_dataset_source_path(ds, 0, text, sizeof text), strlen(path));
    assert_string_equal(text, path);
    assert_int_equal(stk_dataset_source_path(ds, 0, text, 3), strlen(path));
    assert_memory_equal(text, path, 2);
    assert_int_equal(text[2], '\0');
    assert_int_equal(stk_dataset_source_path(ds, 0, NULL, 0), strlen(path));
    stk_dataset_unref(ds);
}

/* Put right checksums on all sections, the table and the head, as somebody who means harm would. */
static void seal(unsigned char *bytes)
{
    uint32_t sections = stk__get_le32(bytes + STK__HEAD_SECTIONS);

    for (uint32_t i = 0; i < sections; i++) {
        unsigned char *row = bytes + STK__INDEX_HEAD_BYTES + i * (size_t)STK__INDEX_SECTION_BYTES;
        uint32_t id = stk__get_le32(row);
        size_t size = (size_t)stk__get_le64(row + 16) * stk__index_entry_bytes[id];

        stk__put_le32(row + 24, stk__crc32c(0, bytes + stk__get_le64(row + 8), size));
    }
    stk__put_le32(bytes + STK__HEAD_TABLE_CRC,
        stk__crc32c(0, bytes + STK__INDEX_HEAD_BYTES, sections * (size_t)STK__INDEX_SECTION_BYTES));
    stk__put_le32(bytes + STK__HEAD_CRC, stk__crc32c(0, bytes, STK__HEAD_CRC));
}

/* A folder's index that came with the data must not lead to other files of the machine. */
static void an_index_does_not_lead_out_of_its_folder(void **state)
{
    static const char *const names[] = {"../secret.txt", "a/../../secret.txt", "/secret.txt"};
    stk_error err = STK_ERROR_INIT;
    stk_sample_field field;
    stk_dataset *ds;
    unsigned char *bytes, *at;
    char where[600];
    char text[6];
    size_t size;

    snprintf(where, sizeof where, "%s/d", (char *)*state);
    save_text(in_folder(*state, "secret.txt"), "secret");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        size_t length = strlen(names[i]);
        char stand_in[64];

        make_folder(where);
        snprintf(
            stand_in, sizeof stand_in, "%.*s.txt", (int)length - 4, "xxxxxxxxxxxxxxxxxxxxxxxx");
        save_text(in_folder(where, stand_in), "secret");
        assert_int_equal(open_with(where, NULL, &ds, NULL), STK_OK);
        stk_dataset_unref(ds);
        bytes = load_file(in_folder(where, ".stoker-index"), &size);
        at = memmem(bytes, size, stand_in, length);
        assert_non_null(at);
        memcpy(at, names[i], length);
        seal(bytes);
        save_file(in_folder(where, ".stoker-index"), bytes, size);
        free(bytes);
        assert_int_equal(open_with(where, NULL, &ds, NULL), STK_OK);
        assert_int_equal(stk_dataset_sample_field(ds, 0, 0, &field, NULL), STK_OK);
        assert_int_equal(
            stk_dataset_read(ds, field.source, 0, (stk_span){text, sizeof text}, &err), STK_EINDEX);
        stk_dataset_unref(ds);
        remove_tree(strdup(where));
    }
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(reads_stay_inside_the_file_that_was_indexed),
        WITH_PLACE(try_read_gives_the_same_bytes_or_says_again),
        WITH_PLACE(an_index_does_not_lead_out_of_its_folder),
        WITH_PLACE(paths_are_cut_where_there_is_no_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
