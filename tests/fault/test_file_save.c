/* Without these: a small file, a shard or an index that fails to be written at whatever point
 * leaves half of itself or takes the old one along, and on file systems without O_TMPFILE nobody
 * knows. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <stoker/archive.h>
#include <stoker/os.h>

#include "base/fault.h"
#include "support/temp_tree.h"
#include "support/test.h"

/* What the file system says to O_TMPFILE: it can; it cannot; the kernel is older than the flag. */
static const int refusals[] = {0, EOPNOTSUPP, EISDIR};

static stk_status save(const char *path, const char *text, stk_error *err)
{
    return stk_file_save(path, (stk_view){text, strlen(text)}, err);
}

/* Fail the first of its kind, the second, ...; @return how many there are. */
static uint32_t fail_each(const char *folder, const char *path, stk__fault fault)
{
    uint32_t nth = 0;
    bool struck;

    do {
        stk_error err = STK_ERROR_INIT;
        int fds = fd_count();
        stk_status st;

        assert_int_equal(save(path, "old", NULL), STK_OK);
        stk__fault_arm(fault, ++nth);
        st = save(path, "new", &err);
        struck = stk__fault_disarm();

        assert_int_equal(st, struck ? STK_ESOURCE : STK_OK);
        assert_string_equal(err.source, struck ? path : "");
        assert_int_equal(err.stage, struck ? STK_STAGE_WRITE : STK_STAGE_NONE);
        assert_holds(path, struck ? "old" : "new");
        assert_int_equal(count_entries(folder), 1);
        assert_int_equal(fd_count(), fds);
    } while (struck);
    return nth - 1;
}

static void a_small_file_survives_every_fault(void **state)
{
    char *folder = make_temp_folder();
    const char *path = in_folder(folder, "x.json");
    (void)state;

    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        stk__fault_refuse_unnamed(refusals[i]);
        assert_true(fail_each(folder, path, STK__FAULT_OPEN) >= 1);
        assert_true(fail_each(folder, path, STK__FAULT_WRITE) >= 3);    /* write, sync, rename */
        assert_int_equal(fail_each(folder, path, STK__FAULT_ALLOC), 0); /* it needs no memory */
        stk__fault_refuse_unnamed(0);
    }
    remove_tree(folder);
}

static void what_is_written_to_as_it_is_survives_too(void **state)
{
    (void)state;
    for (int fault = STK__FAULT_OPEN; fault <= STK__FAULT_WRITE; fault += 2) {
        stk_error err = STK_ERROR_INIT;

        stk__fault_arm((stk__fault)fault, 1);
        assert_int_equal(save("/dev/null", "text", &err), STK_ESOURCE);
        assert_true(stk__fault_disarm());
        assert_string_equal(err.source, "/dev/null");
    }
    assert_int_equal(save("/dev/null", "text", NULL), STK_OK);
}

/* A shard and its index, so that every writer of drafts is met. */
static stk_status write_shard(const char *path)
{
    stk_tar_writer *writer = NULL;
    stk_status st = stk_tar_writer_open(path, 0, &writer, NULL);

    if (st >= 0 && stk_tar_writer_add(writer, (stk_view){"a.txt", 5}, (stk_view){"a", 1}, NULL) < 0)
        fail();
    return st >= 0 ? stk_tar_writer_finish(writer, NULL) : st;
}

static void without_unnamed_files_all_is_written_alike(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        char *folder = make_temp_folder();
        uint32_t nth = 0;
        bool struck;

        stk__fault_refuse_unnamed(refusals[i]);
        do {
            const char *path = in_folder(folder, "t.tar");
            stk_status st;

            stk__fault_arm(STK__FAULT_WRITE, ++nth);
            st = write_shard(path);
            struck = stk__fault_disarm();
            assert_int_equal(st, struck ? STK_ESOURCE : STK_OK);
            assert_int_equal(count_entries(folder), struck ? 0 : 2);
        } while (struck);
        stk__fault_refuse_unnamed(0);
        assert_true(nth > 6); /* both are written, synced and renamed */
        remove_tree(folder);
    }
}

/* End a child in the middle of its file, as kill -9 does: a limit that nobody handles. */
static void be_killed_in(stk_status (*write_it)(const char *path), const char *path)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        struct rlimit limit = {.rlim_cur = 10, .rlim_max = RLIM_INFINITY};

        signal(SIGXFSZ, SIG_DFL);
        if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(1);
        limit.rlim_cur = 10;
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(1);
        _exit(write_it(path) >= 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGXFSZ);
}

static stk_status save_much(const char *path)
{
    return save(path, "over ten bytes", NULL);
}

/* The longest name that a folder takes, mostly of characters of three bytes: the draft's is cut,
 * and not in the middle of one. */
static const char *longest_name(void)
{
    static char name[256];

    memset(name, 'n', 255);
    for (size_t i = 1; i < 253; i += 3) /* 120 bytes end within one */
        memcpy(name + i, "\xe2\x82\xac", 3);
    return name;
}

static bool is_whole_utf8(const char *name)
{
    size_t euro = 0;

    for (const char *p = strchr(name, '\xe2'); p != NULL; p = strchr(p + 1, '\xe2'), euro++)
        if (p[1] != '\x82' || p[2] != '\xac')
            return false;
    return euro > 0;
}

/* Is there a draft, and is its name one that any file system takes? */
static void assert_has_a_draft(const char *folder)
{
    DIR *list = opendir(folder);
    const struct dirent *entry;
    int drafts = 0;

    assert_non_null(list);
    while ((entry = readdir(list)) != NULL) {
        if (strstr(entry->d_name, ".stoker-part") == NULL)
            continue;
        drafts++;
        assert_true(strlen(entry->d_name) <= 143);
        assert_true(strchr(entry->d_name, '\xe2') == NULL || is_whole_utf8(entry->d_name));
    }
    closedir(list);
    assert_int_equal(drafts, 1);
}

static void the_next_writer_removes_what_a_killed_one_left(void **state)
{
    const char *const names[] = {"x.json", longest_name()};
    (void)state;

    for (size_t i = 1; i < COUNT_OF(refusals); i++) {
        stk__fault_refuse_unnamed(refusals[i]);
        for (size_t n = 0; n < COUNT_OF(names); n++) {
            char *folder = make_temp_folder();
            const char *path = in_folder(folder, names[n]);

            assert_int_equal(save(path, "old", NULL), STK_OK);
            be_killed_in(save_much, path);
            assert_has_a_draft(folder);
            assert_holds(path, "old");
            be_killed_in(save_much, path); /* it takes the name of the one before */
            assert_has_a_draft(folder);
            assert_int_equal(save(path, "new", NULL), STK_OK);
            assert_holds(path, "new");
            assert_int_equal(count_entries(folder), 1);
            remove_tree(folder);
        }
        stk__fault_refuse_unnamed(0);
    }
}

static void a_shard_is_written_after_one_that_was_killed(void **state)
{
    (void)state;
    for (size_t i = 1; i < COUNT_OF(refusals); i++) {
        char *folder = make_temp_folder();
        const char *path = in_folder(folder, "t.tar");

        stk__fault_refuse_unnamed(refusals[i]);
        be_killed_in(write_shard, path);
        assert_has_a_draft(folder);
        assert_int_equal(count_entries(folder), 1);
        assert_int_equal(write_shard(path), STK_OK);
        assert_int_equal(count_entries(folder), 2);
        stk__fault_refuse_unnamed(0);
        remove_tree(folder);
    }
}

/* Two of them, over and over: nobody takes the draft of the other, and none is left. */
static void two_writers_at_once_do_not_meet(void **state)
{
    enum { TIMES = 100, BYTES = 5000 };

    static char text[2][BYTES];
    char *folder = make_temp_folder();
    const char *path = in_folder(folder, longest_name());
    pid_t pid;
    int status;
    (void)state;

    memset(text[0], 'a', BYTES);
    memset(text[1], 'b', BYTES);
    stk__fault_refuse_unnamed(EOPNOTSUPP);
    pid = fork();
    for (int i = 0; i < TIMES; i++) {
        stk_status st = stk_file_save(path, (stk_view){text[pid == 0], BYTES}, NULL);

        if (pid == 0 && st < 0)
            _exit(1);
        assert_int_equal(st, STK_OK);
        if (pid != 0) {
            size_t size;
            unsigned char *seen = load_file(path, &size);

            assert_int_equal(size, BYTES);
            assert_memory_equal(seen, text[seen[0] == 'b'], BYTES);
            free(seen);
        }
    }
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(count_entries(folder), 1);
    stk__fault_refuse_unnamed(0);
    remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_file_survives_every_fault),
        cmocka_unit_test(what_is_written_to_as_it_is_survives_too),
        cmocka_unit_test(without_unnamed_files_all_is_written_alike),
        cmocka_unit_test(the_next_writer_removes_what_a_killed_one_left),
        cmocka_unit_test(a_shard_is_written_after_one_that_was_killed),
        cmocka_unit_test(two_writers_at_once_do_not_meet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
