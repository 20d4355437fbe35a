/* Without these: a killed or failed run leaves half a shard under its final name, and other readers
 * cannot read what was written. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "archive/index_tar.h"
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

static stk_tar_writer *open_writer(const char *path)
{
    stk_error err = STK_ERROR_INIT;
    stk_tar_writer *writer = NULL;

    assert_int_equal(stk_tar_writer_open(path, 1700000000, &writer, &err), STK_OK);
    return writer;
}

static stk_status add(stk_tar_writer *writer, const char *name, const char *text, stk_error *err)
{
    return stk_tar_writer_add(
        writer, (stk_view){name, strlen(name)}, (stk_view){text, strlen(text)}, err);
}

static void add_fine(stk_tar_writer *writer, const char *name, const char *text)
{
    stk_error err = STK_ERROR_INIT;

    assert_int_equal(add(writer, name, text, &err), STK_OK);
}

/* Names at every bound of the header, text in several scripts, no UTF-8, and sizes around blocks
 * and the buffer. */
static void write_all_kinds(const char *path)
{
    static const size_t lengths[] = {1, 99, 100, 101, 155, 156, 254, 255, 256, 257, 1000};
    static const char *const names[] = {"caf\xc3\xa9.txt", "cafe\xcc\x81.txt", "caf\xe9.txt",
        "a b.txt", "\xe5\x86\x99\xe7\x9c\x9f.jpg"};
    static const size_t sizes[] = {0, 1, 511, 512, 513, 70000, (1 << 20) - 512, 1 << 20, 3000000};
    stk_tar_writer *writer = open_writer(path);
    stk_error err = STK_ERROR_INIT;
    char *data = malloc(3000000);
    char name[1024];

    memset(data, 'd', 3000000);
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        memset(name, 'n', sizeof name); /* no slash: the longest need a pax header */
        assert_int_equal(stk_tar_writer_add(writer, (stk_view){name, lengths[i]},
                             (stk_view){data, lengths[i]}, &err),
            STK_OK);
        if (lengths[i] < 120)
            continue;
        name[lengths[i] - 80] = '/'; /* one: the prefix takes it up to a length */
        assert_int_equal(stk_tar_writer_add(writer, (stk_view){name, lengths[i]},
                             (stk_view){data, lengths[i]}, &err),
            STK_OK);
    }
    for (size_t i = 0; i < COUNT_OF(names); i++)
        add_fine(writer, names[i], names[i]);
    memset(name, 'u', sizeof name);
    memcpy(name + 150, "\xe9.txt", 5); /* long, and no UTF-8 */
    assert_int_equal(
        stk_tar_writer_add(writer, (stk_view){name, 155}, (stk_view){"x", 1}, &err), STK_OK);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        snprintf(name, sizeof name, "size%zu.bin", sizes[i]);
        assert_int_equal(stk_tar_writer_add(writer, (stk_view){name, strlen(name)},
                             (stk_view){data, sizes[i]}, &err),
            STK_OK);
    }
    free(data);
    assert_int_equal(stk_tar_writer_finish(writer, &err), STK_OK);
}

static void what_is_written_reads_back(void **state)
{
    stk_tar_options options = STK_TAR_OPTIONS_INIT;
    const char *path = in_folder(*state, "all.tar");
    tar_story *story = malloc(sizeof *story);

    write_all_kinds(path);
    read_by_path(story, path, options, false);
    assert_non_null(strstr(story->text, "file size3000000.bin 3000000*d\nend\n"));
    assert_non_null(strstr(story->text, "file size0.bin \"\"\n"));
    assert_non_null(strstr(story->text, "file cafe\xcc\x81.txt "));
    assert_non_null(strstr(story->text, " 1000*d\n"));
    free(story);
}

/* Run a command in the folder; its standard output and exit status. */
static int run(const char *folder, const char *command, char *output, size_t room)
{
    char line[2048];
    size_t used;
    FILE *from;

    snprintf(line, sizeof line, "cd '%s' && %s", folder, command);
    from = popen(line, "r");
    assert_non_null(from);
    used = fread(output, 1, room - 1, from);
    output[used] = '\0';
    return pclose(from);
}

/* What our reader sees, as lines "SIZE CRC NAME": other readers must print the same. */
static void print_members(const char *path, const char *to)
{
    stk_error err = STK_ERROR_INIT;
    stk_tar *tar = NULL;
    stk_member m;
    FILE *file = fopen(to, "wb");

    assert_non_null(file);
    assert_int_equal(stk_tar_open(path, NULL, &tar, &err), STK_OK);
    while (stk_tar_next(tar, &m, &err) == STK_OK) {
        fprintf(file, "%llu ", (unsigned long long)m.size_bytes);
        assert_int_equal(fwrite(m.name.data, 1, m.name.size, file), m.name.size);
        fputc('\n', file);
    }
    stk_tar_close(tar);
    assert_int_equal(fclose(file), 0);
}

static void gnu_tar_reads_the_same(void **state)
{
    char output[4096];

    write_all_kinds(in_folder(*state, "all.tar"));
    print_members(in_folder(*state, "all.tar"), in_folder(*state, "ours"));
    /* The names as bytes, the sizes by extracting: a listing would quote and pad both. */
    assert_int_equal(run(*state,
                         "tar --warning=no-unknown-keyword --quoting-style=literal -tf all.tar > "
                         "theirs && cut -d' ' -f2- ours | cmp - theirs",
                         output, sizeof output),
        0);
    assert_int_equal(run(*state,
                         "tar --warning=no-unknown-keyword -xf all.tar --to-command='wc -c' > sizes"
                         " && cut -d' ' -f1 ours | cmp - sizes",
                         output, sizeof output),
        0);
    assert_int_equal(run(*state, "tar --numeric-owner --full-time --utc -tvf all.tar size0.bin",
                         output, sizeof output),
        0);
    assert_string_equal(output, "-rw-r--r-- 0/0               0 2023-11-14 22:13:20 size0.bin\n");
}

static void python_s_tarfile_reads_the_same(void **state)
{
    static const char script[] =
        "import os, sys, tarfile\n"
        "out = open('theirs', 'wb')\n"
        "for m in tarfile.open('all.tar'):\n"
        "    data = tarfile.open('all.tar').extractfile(m).read() if m.size < 10 else None\n"
        "    assert m.isreg() and m.mode == 0o644 and m.mtime == 1700000000 and m.uid == 0\n"
        "    assert data is None or len(data) == m.size\n"
        "    out.write(b'%d %s\\n' % (m.size, m.name.encode('utf-8', 'surrogateescape')))\n";
    char output[4096];

    if (run(*state, "python3 --version", output, sizeof output) != 0)
        skip();
    write_all_kinds(in_folder(*state, "all.tar"));
    print_members(in_folder(*state, "all.tar"), in_folder(*state, "ours"));
    save_text(in_folder(*state, "list.py"), script);
    assert_int_equal(run(*state, "python3 list.py && cmp ours theirs", output, sizeof output), 0);
}

static void the_same_members_give_the_same_archive(void **state)
{
    size_t size, other_size;
    unsigned char *data, *other;

    write_all_kinds(in_folder(*state, "a.tar"));
    write_all_kinds(in_folder(*state, "b.tar"));
    data = load_file(in_folder(*state, "a.tar"), &size);
    other = load_file(in_folder(*state, "b.tar"), &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(data, other, size);
    free(data);
    free(other);
}

static void the_index_is_that_of_a_scan(void **state)
{
    const char *path = in_folder(*state, "a.tar");
    const char *scanned = in_folder(*state, "scanned.stoker");
    stk_tar_writer *writer = open_writer(path);
    stk_error err = STK_ERROR_INIT;
    stk__heap heap = {0};
    stk__index *index = NULL;
    unsigned char *data, *other;
    size_t size, other_size;
    char name[200];

    add_fine(writer, "README", "part of no sample");
    add_fine(writer, "dir/a.jpg", "one");
    add_fine(writer, "__meta__", "nor this");
    add_fine(writer, "dir/a.CLS", "1");
    memset(name, 'n', sizeof name);
    strcpy(name + 150, ".jpg"); /* a pax header stands before it */
    add_fine(writer, name, "two");
    assert_int_equal(stk_tar_writer_finish(writer, &err), STK_OK);

    assert_int_equal(stk__index_tar(&heap, path, 0, NULL, NULL, &index, &err), STK_OK);
    assert_int_equal(index->samples, 2);
    assert_int_equal(stk__index_save(index, scanned, &err), STK_OK);
    stk__index_close(index);
    data = load_file(in_folder(*state, "a.tar.stoker"), &size);
    other = load_file(scanned, &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(data, other, size);
    free(data);
    free(other);
}

static void nothing_has_the_final_name_before_it_is_whole(void **state)
{
    const char *path = in_folder(*state, "a.tar");
    stk_tar_writer *writer = open_writer(path);
    stk_error err = STK_ERROR_INIT;

    add_fine(writer, "a.jpg", "x");
    assert_false(file_exists(path));
    assert_true(count_entries(*state) <= 1); /* a hidden one, where none can be without a name */
    assert_int_equal(stk_tar_writer_bytes(writer), 1024);
    assert_int_equal(stk_tar_writer_finish(writer, &err), STK_OK);
    assert_true(file_exists(path));
    assert_int_equal(count_entries(*state), 2); /* and its index */
}

static void an_empty_archive_is_one(void **state)
{
    stk_tar_options options = STK_TAR_OPTIONS_INIT;
    const char *path = in_folder(*state, "a.tar");
    tar_story *story = malloc(sizeof *story);
    stk_error err = STK_ERROR_INIT;

    assert_int_equal(stk_tar_writer_finish(open_writer(path), &err), STK_OK);
    read_by_path(story, path, options, false);
    assert_string_equal(story->text, "end\n");
    free(story);
}

static void an_abandoned_writer_leaves_nothing(void **state)
{
    int fds = fd_count();
    stk_tar_writer *writer = open_writer(in_folder(*state, "a.tar"));

    add_fine(writer, "a.jpg", "x");
    stk_tar_writer_abandon(writer);
    stk_tar_writer_abandon(NULL);
    assert_int_equal(count_entries(*state), 0);
    assert_int_equal(fd_count(), fds);
}

static void two_writers_do_not_meet(void **state)
{
    const char *path = in_folder(*state, "a.tar");
    stk_tar_options options = STK_TAR_OPTIONS_INIT;
    tar_story *story = malloc(sizeof *story);
    stk_tar_writer *first = open_writer(path), *second = open_writer(path);
    stk_error err = STK_ERROR_INIT;

    add_fine(first, "a.jpg", "first");
    add_fine(second, "a.jpg", "second");
    assert_int_equal(stk_tar_writer_finish(second, &err), STK_OK);
    assert_int_equal(stk_tar_writer_finish(first, &err), STK_EEXIST);
    assert_string_equal(err.source, path);
    assert_int_equal(count_entries(*state), 2);
    read_by_path(story, path, options, false);
    assert_string_equal(story->text, "file a.jpg \"second\"\nend\n");
    free(story);
}

static void refuses_a_name_that_is_taken(void **state)
{
    const char *path = in_folder(*state, "a.tar");
    stk_error err = STK_ERROR_INIT;
    stk_tar_writer *writer = NULL;

    save_text(path, "mine");
    assert_int_equal(stk_tar_writer_open(path, 0, &writer, &err), STK_EEXIST);
    assert_string_equal(err.source, path);
    assert_int_equal(count_entries(*state), 1);
    assert_null(writer);
}

static void refuses_a_place_that_is_none(void **state)
{
    stk_error err = STK_ERROR_INIT;
    stk_tar_writer *writer = NULL;

    assert_int_equal(
        stk_tar_writer_open(in_folder(*state, "no/a.tar"), 0, &writer, &err), STK_ESOURCE);
    assert_int_equal(err.os_errno, ENOENT);
    assert_int_equal(
        stk_tar_writer_open(in_folder(*state, "a.tar"), 1ull << 33, &writer, &err), STK_EINVAL);
    assert_null(writer);
    assert_int_equal(count_entries(*state), 0);
}

static void refuses_names_and_goes_on(void **state)
{
    const char *path = in_folder(*state, "a.tar");
    stk_tar_options options = STK_TAR_OPTIONS_INIT;
    tar_story *story = malloc(sizeof *story);
    stk_tar_writer *writer = open_writer(path);
    stk_error err = STK_ERROR_INIT;
    char *longest = malloc(65537);

    memset(longest, 'n', 65537);
    assert_int_equal(add(writer, "", "x", &err), STK_EINVAL);
    assert_int_equal(add(writer, "d/", "x", &err), STK_EINVAL);
    assert_string_equal(err.key, "d/");
    assert_int_equal(
        stk_tar_writer_add(writer, (stk_view){"a\0b", 3}, (stk_view){"x", 1}, &err), STK_EINVAL);
    assert_int_equal(
        stk_tar_writer_add(writer, (stk_view){longest, 65537}, (stk_view){"x", 1}, &err),
        STK_EINVAL);
    assert_int_equal(stk_tar_writer_bytes(writer), 0);
    assert_int_equal(
        stk_tar_writer_add(writer, (stk_view){longest, 65536}, (stk_view){"x", 1}, &err), STK_OK);
    add_fine(writer, "a.jpg", "x");
    assert_int_equal(stk_tar_writer_finish(writer, &err), STK_OK);
    options.data = false;
    stk_tar *tar = NULL;
    stk_member member;
    assert_int_equal(stk_tar_open(path, &options, &tar, &err), STK_OK);
    assert_int_equal(stk_tar_next(tar, &member, &err), STK_OK);
    assert_int_equal(member.name.size, 65536);
    assert_int_equal(stk_tar_next(tar, &member, &err), STK_OK);
    assert_int_equal(stk_tar_next(tar, &member, &err), STK_END);
    stk_tar_close(tar);
    free(longest);
    free(story);
}

static void refuses_a_field_twice_and_stays_failed(void **state)
{
    stk_tar_writer *writer = open_writer(in_folder(*state, "a.tar"));
    stk_error err = STK_ERROR_INIT, again = STK_ERROR_INIT;

    add_fine(writer, "a.jpg", "x");
    assert_int_equal(add(writer, "a.JPG", "y", &err), STK_EFIELD);
    assert_string_equal(err.key, "a");
    assert_int_equal(add(writer, "b.jpg", "z", &again), STK_EFIELD);
    assert_string_equal(again.text, err.text);
    assert_int_equal(stk_tar_writer_finish(writer, &again), STK_EFIELD);
    assert_int_equal(count_entries(*state), 0);
}

/* A disk that is full, as far as one process can make it so: files over 64 KiB are refused. */
static void child_writes_too_much(const char *path)
{
    const struct rlimit limit = {65536, 65536};
    static char data[3 << 20];
    stk_error err = STK_ERROR_INIT;
    stk_tar_writer *writer = open_writer(path);
    stk_status st;

    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(1);
    st = stk_tar_writer_add(writer, (stk_view){"a.bin", 5}, (stk_view){data, sizeof data}, &err);
    if (st != STK_ESOURCE || err.os_errno != EFBIG || strcmp(err.source, path) != 0)
        _exit(2);
    if (stk_tar_writer_finish(writer, &err) != STK_ESOURCE)
        _exit(3);
    _exit(0);
}

static void a_full_disk_leaves_nothing(void **state)
{
    const char *path = in_folder(*state, "a.tar");
    int status = -1;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        child_writes_too_much(path);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(count_entries(*state), 0);
}

static void a_killed_run_leaves_nothing_after_the_next(void **state)
{
    const char *path = in_folder(*state, "a.tar");
    stk_error err = STK_ERROR_INIT;
    int status = -1;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        static char data[3 << 20];
        stk_tar_writer *writer = open_writer(path);

        if (stk_tar_writer_add(
                writer, (stk_view){"a.bin", 5}, (stk_view){data, sizeof data}, &err) < 0)
            _exit(1);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_false(file_exists(path));
    stk_tar_writer *writer = open_writer(path); /* nothing stands in the way of the next run */
    add_fine(writer, "a.jpg", "x");
    assert_int_equal(stk_tar_writer_finish(writer, &err), STK_OK);
    assert_true(file_exists(path));
    assert_int_equal(count_entries(*state), 2); /* and its index */
}

static void a_long_final_name_has_room_for_a_hidden_one(void **state)
{
    char name[256];
    stk_error err = STK_ERROR_INIT;

    memset(name, 'n', sizeof name);
    strcpy(name + 240, ".tar"); /* 244, and 251 of the index: within the 255 of most systems */
    assert_int_equal(stk_tar_writer_finish(open_writer(in_folder(*state, name)), &err), STK_OK);
    assert_true(file_exists(in_folder(*state, name)));
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(what_is_written_reads_back),
        IN_A_FOLDER(gnu_tar_reads_the_same),
        IN_A_FOLDER(python_s_tarfile_reads_the_same),
        IN_A_FOLDER(the_same_members_give_the_same_archive),
        IN_A_FOLDER(the_index_is_that_of_a_scan),
        IN_A_FOLDER(nothing_has_the_final_name_before_it_is_whole),
        IN_A_FOLDER(an_empty_archive_is_one),
        IN_A_FOLDER(an_abandoned_writer_leaves_nothing),
        IN_A_FOLDER(two_writers_do_not_meet),
        IN_A_FOLDER(refuses_a_name_that_is_taken),
        IN_A_FOLDER(refuses_a_place_that_is_none),
        IN_A_FOLDER(refuses_names_and_goes_on),
        IN_A_FOLDER(refuses_a_field_twice_and_stays_failed),
        IN_A_FOLDER(a_full_disk_leaves_nothing),
        IN_A_FOLDER(a_killed_run_leaves_nothing_after_the_next),
        IN_A_FOLDER(a_long_final_name_has_room_for_a_hidden_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
