/* Without these: a compressed shard fails as "bad header", a pipe or a folder hangs or reads as
 * empty, and a failed opening leaks a descriptor each epoch. */
#include <errno.h>
#include <sys/stat.h>

#include "support/read_tar.h"

static int set_up(void **state)
{
    *state = make_temp_folder();
    return 0;
}

static int tear_down(void **state)
{
    remove_tree(*state);
    return 0;
}

/* Opening fails so, and leaves nothing behind. */
static void check_refused(const char *path, stk_status status, const char *part_of_text)
{
    stk_error err = STK_ERROR_INIT;
    stk_tar *tar = NULL;
    int fds = fd_count();

    assert_int_equal(stk_tar_open(path, NULL, &tar, &err), status);
    assert_null(tar);
    assert_int_equal(err.status, status);
    assert_string_equal(err.source, path);
    if (strstr(err.text, part_of_text) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, part_of_text);
    assert_int_equal(fd_count(), fds);
    assert_int_equal(stk_tar_open(path, NULL, &tar, NULL), status); /* without details, too */
}

static void names_the_compression_and_what_to_do(void **state)
{
    static const struct {
        const char *start;
        size_t size;
        const char *name, *tool;
    } marks[] = {
        {"\x1f\x8b\x08", 3, "gzip", "gzip -d"},
        {"\x28\xb5\x2f\xfd", 4, "zstd", "zstd -d"},
        {"\x50\x2a\x4d\x18", 4, "zstd", "zstd -d"}, /* a frame to be skipped stands first */
        {"\x5f\x2a\x4d\x18", 4, "zstd", "zstd -d"},
        {"\xfd\x37zXZ\0", 6, "xz", "xz -d"},
        {"BZh9", 4, "bzip2", "bzip2 -d"},
        {"\x04\x22\x4d\x18", 4, "lz4", "lz4 -d"},
        {"PK\3\4", 4, "zip", "unzip"},
    };

    static const size_t sizes[] = {40, 512, 3000};
    char bytes[3000];

    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        for (size_t k = 0; k < COUNT_OF(sizes); k++) {
            const char *path = in_folder(*state, "shard.tar");

            memset(bytes, 0x5a, sizeof bytes);
            memcpy(bytes, marks[i].start, marks[i].size);
            save_file(path, bytes, sizes[k]);
            check_refused(path, STK_ENOTSUP, marks[i].name);
            check_refused(path, STK_ENOTSUP, marks[i].tool);
        }
    }
}

/* The mark of bzip2 and of others may begin a member's name. */
static void a_valid_header_comes_first(void **state)
{
    const stk_tar_options options = STK_TAR_OPTIONS_INIT;
    tar_story *story = malloc(sizeof *story);
    made_tar t = {0};

    tar_text(&t, "BZh91AY.jpg", "x");
    tar_text(&t, "PK\3\4.jpg", "y");
    tar_end(&t);
    read_tar_with(story, in_folder(*state, "t.tar"), &t, options);
    assert_string_equal(story->text, "file BZh91AY.jpg \"x\"\nfile PK\3\4.jpg \"y\"\nend\n");
    tar_free(&t);
    free(story);
}

static void refuses_what_is_no_tar(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    char text[2000];

    save_text(path, "");
    check_refused(path, STK_ECORRUPT, "empty file");
    save_text(path, "short");
    check_refused(path, STK_ECORRUPT, "after 5 of its 512 bytes");
    memset(text, 'x', sizeof text);
    save_file(path, text, sizeof text);
    check_refused(path, STK_ECORRUPT, "not a tar header");
    memcpy(text + 257, "ustar", 6);
    save_file(path, text, sizeof text);
    check_refused(path, STK_ECORRUPT, "checksum");
}

static void refuses_what_is_no_file(void **state)
{
    const char *pipe_path = in_folder(*state, "pipe");
    stk_error err = STK_ERROR_INIT;
    stk_tar *tar = NULL;

    check_refused(in_folder(*state, "missing.tar"), STK_ESOURCE, "open");
    assert_int_equal(stk_tar_open(in_folder(*state, "missing.tar"), NULL, &tar, &err), STK_ESOURCE);
    assert_int_equal(err.os_errno, ENOENT);
    assert_int_equal(stk_tar_open(*state, NULL, &tar, &err), STK_ESOURCE);
    assert_int_equal(err.os_errno, EISDIR);
    check_refused("/dev/null", STK_ESOURCE, "regular");
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    int writer = open(pipe_path, O_RDWR | O_CLOEXEC); /* or opening it would wait for one */
    check_refused(pipe_path, STK_ESOURCE, "regular");
    close(writer);
}

static void a_reader_over_an_open_file_leaves_it_open(void **state)
{
    const stk_tar_options options = STK_TAR_OPTIONS_INIT;
    const char *path = in_folder(*state, "t.tar");
    stk__heap heap = {.ceiling_bytes = 1 << 20};
    stk__file file = STK__FILE_NONE;
    stk_error err = STK_ERROR_INIT;
    stk_member member;
    stk_tar *tar = NULL;
    made_tar t = {0};

    tar_text(&t, "a.jpg", "x");
    tar_end(&t);
    save_file(path, t.data, t.size);
    tar_free(&t);
    assert_int_equal(stk__file_open(&file, path, &err), STK_OK);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(stk__tar_open_file(&heap, &file, path, &options, &tar, &err), STK_OK);
        assert_int_equal(stk_tar_next(tar, &member, &err), STK_OK);
        assert_int_equal(member.data.size, 1);
        stk_tar_close(tar);
        assert_int_equal(heap.used_bytes, 0);
    }
    stk__file_fini(&file);
}

static void closing_nothing_is_fine(void **state)
{
    (void)state;
    stk_tar_close(NULL);
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(names_the_compression_and_what_to_do),
        IN_A_FOLDER(a_valid_header_comes_first),
        IN_A_FOLDER(refuses_what_is_no_tar),
        IN_A_FOLDER(refuses_what_is_no_file),
        IN_A_FOLDER(a_reader_over_an_open_file_leaves_it_open),
        cmocka_unit_test(closing_nothing_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
