/* Without these: a failed read, write or allocation in the middle of a shard leaks, hands out wrong
 * bytes, or leaves half a shard behind: each operation of a whole pass fails once. */
#include "base/fault.h"
#include "support/read_tar.h"

static const stk_status expected[STK__FAULT_COUNT] = {
    [STK__FAULT_ALLOC] = STK_ENOMEM,
    [STK__FAULT_OPEN] = STK_ESOURCE,
    [STK__FAULT_READ] = STK_ESOURCE,
    [STK__FAULT_WRITE] = STK_ESOURCE,
};

/* Long names of both kinds, members smaller and larger than the window, links from far behind. */
static void make_archive(made_tar *t)
{
    enum { LARGE = 3 << 20 };

    char name[300];
    char *data = calloc(1, LARGE);

    assert_non_null(data);
    memset(data, 'd', LARGE);
    memset(name, 'n', sizeof name);
    tar_pax(t, 'g', "comment", "made by a test");
    tar_text(t, "a.jpg", "first");
    tar_named(t, name, sizeof name, "pax", 3);
    tar_put_head(t, &(tar_head){.name = "././@LongLink", .size = sizeof name, .type = 'L'});
    tar_put(t, name, sizeof name);
    tar_pad(t);
    tar_file(t, "cut", data, 700);
    tar_put_head(t, &(tar_head){.name = "name", .prefix = "prefix"});
    tar_file(t, "large.bin", data, LARGE);
    tar_file(t, "larger.bin", data, LARGE);
    for (int i = 0; i < 20; i++) /* the window moves while their names are views of it */
        tar_file(t, "medium.bin", data, 130000);
    tar_link(t, "l.jpg", '1', "a.jpg");
    tar_link(t, "l.bin", '1', "large.bin");
    tar_text(t, "z.jpg", "last");
    tar_end(t);
    free(data);
}

/* Read it all; whatever fails, what was handed out before is right. */
static stk_status read_all(
    stk__heap *heap, const char *path, bool data, tar_story *story, stk_error *err)
{
    stk_tar_options options = STK_TAR_OPTIONS_INIT;
    stk__file file = STK__FILE_NONE;
    stk_tar *tar = NULL;
    stk_member member;
    stk_status st;

    options.data = data;
    story->used = 0;
    story->text[0] = '\0';
    st = stk__file_open(&file, path, err);
    if (st >= 0)
        st = stk__tar_open_file(heap, &file, path, &options, &tar, err);
    while (st == STK_OK) {
        st = stk_tar_next(tar, &member, err);
        if (st == STK_OK)
            story_member(story, &member, data, false);
    }
    stk_tar_close(tar);
    stk__file_fini(&file);
    return st;
}

static void check_reading(const char *path, stk__fault fault, bool data)
{
    tar_story *whole = malloc(sizeof *whole), *part = malloc(sizeof *part);
    uint32_t nth = 0;
    bool struck;

    assert_true(whole != NULL && part != NULL);
    assert_int_equal(read_all(&(stk__heap){0}, path, data, whole, NULL), STK_END);
    do { /* fail the first of its kind, the second, ... until there is none left to fail */
        stk__heap heap = {0};
        stk_error err = STK_ERROR_INIT;
        int fds = fd_count();
        stk_status st;

        stk__fault_arm(fault, ++nth);
        st = read_all(&heap, path, data, part, &err);
        struck = stk__fault_disarm();

        assert_int_equal(st, struck ? expected[fault] : STK_END);
        assert_memory_equal(part->text, whole->text, part->used);
        assert_true(struck || part->used == whole->used);
        assert_string_equal(err.source, struck ? path : "");
        assert_int_equal(heap.used_bytes, 0);
        assert_int_equal(fd_count(), fds);
    } while (struck);
    assert_true(nth > 1); /* this fault lies on the path at all */
    free(whole);
    free(part);
}

static void reading_survives_every_fault(void **state)
{
    static const stk__fault faults[] = {STK__FAULT_ALLOC, STK__FAULT_OPEN, STK__FAULT_READ};
    char *folder = make_temp_folder();
    const char *path = in_folder(folder, "t.tar");
    made_tar t = {0};
    (void)state;

    make_archive(&t);
    save_file(path, t.data, t.size);
    tar_free(&t);
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        check_reading(path, faults[i], true);
        check_reading(path, faults[i], false);
    }
    remove_tree(folder);
}

static void opening_by_path_survives_every_fault(void **state)
{
    static const stk__fault faults[] = {STK__FAULT_ALLOC, STK__FAULT_OPEN, STK__FAULT_READ};
    char *folder = make_temp_folder();
    const char *path = in_folder(folder, "t.tar");
    made_tar t = {0};
    (void)state;

    tar_text(&t, "a.jpg", "x");
    tar_end(&t);
    save_file(path, t.data, t.size);
    tar_free(&t);
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        uint32_t nth = 0;
        bool struck;
        do {
            stk_error err = STK_ERROR_INIT;
            stk_tar *tar = NULL;
            int fds = fd_count();

            stk__fault_arm(faults[i], ++nth);
            stk_status st = stk_tar_open(path, NULL, &tar, &err);
            struck = stk__fault_disarm();

            assert_int_equal(st, struck ? expected[faults[i]] : STK_OK);
            assert_true(struck == (tar == NULL));
            assert_string_equal(err.source, struck ? path : "");
            stk_tar_close(tar);
            assert_int_equal(fd_count(), fds);
        } while (struck);
        assert_true(nth > 1);
    }
    remove_tree(folder);
}

/* An archive with all that the writer does, from opening to its final name. */
static stk_status write_all(const char *path, stk_error *err)
{
    static char data[3 << 20], name[300];
    stk_tar_writer *writer = NULL;
    stk_status st = stk_tar_writer_open(path, 0, &writer, err);

    if (st < 0)
        return st;
    memset(name, 'n', sizeof name);
    memcpy(name + 290, ".jpg", 4);
    st = stk_tar_writer_add(writer, (stk_view){"a.jpg", 5}, (stk_view){"x", 1}, err);
    if (st >= 0)
        st = stk_tar_writer_add(writer, (stk_view){name, 294}, (stk_view){"y", 1}, err);
    if (st >= 0)
        st = stk_tar_writer_add(writer, (stk_view){"b.bin", 5}, (stk_view){data, sizeof data}, err);
    for (int i = 0; st >= 0 && i < 20; i++) {
        char small[32];
        int length = snprintf(small, sizeof small, "m%d.bin", i);

        st = stk_tar_writer_add(
            writer, (stk_view){small, (size_t)length}, (stk_view){data, 130000}, err);
    }
    if (st < 0) {
        assert_int_equal(stk_tar_writer_finish(writer, NULL), st); /* it stays failed */
        return st;
    }
    return stk_tar_writer_finish(writer, err);
}

static void writing_survives_every_fault(void **state)
{
    static const stk__fault faults[] = {
        STK__FAULT_ALLOC, STK__FAULT_OPEN, STK__FAULT_READ, STK__FAULT_WRITE};
    (void)state;

    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        uint32_t nth = 0;
        bool struck;
        do {
            char *folder = make_temp_folder();
            const char *path = in_folder(folder, "t.tar");
            stk_error err = STK_ERROR_INIT;
            int fds = fd_count();

            stk__fault_arm(faults[i], ++nth);
            stk_status st = write_all(path, &err);
            struck = stk__fault_disarm();

            assert_int_equal(st, struck ? expected[faults[i]] : STK_OK);
            assert_int_equal(err.status, struck ? expected[faults[i]] : STK_OK);
            assert_int_equal(count_entries(folder), struck ? 0 : 2); /* archive and index */
            assert_int_equal(fd_count(), fds);
            remove_tree(folder);
        } while (struck);
        assert_true(nth > 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_survives_every_fault),
        cmocka_unit_test(opening_by_path_survives_every_fault),
        cmocka_unit_test(writing_survives_every_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
