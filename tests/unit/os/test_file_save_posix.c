/* Without these: half a report has its final name, a link or /dev/stdout is replaced by a file, or
 * what a killed writer left stays for ever. */
#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <stoker/os.h>

#include "support/temp_tree.h"
#include "support/test.h"

static stk_status save(const char *path, const char *text, stk_error *err)
{
    return stk_file_save(path, (stk_view){text, strlen(text)}, err);
}

static void a_file_is_replaced_by_a_whole_one(void **state)
{
    const char *path = in_folder(*state, "x.json");
    int fds = fd_count();
    struct stat found;
    mode_t mask = umask(027);

    assert_int_equal(save(path, "first", NULL), STK_OK);
    assert_holds(path, "first");
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0640);
    assert_int_equal(save(path, "second", NULL), STK_OK);
    assert_holds(path, "second");
    assert_int_equal(stk_file_save(path, (stk_view){NULL, 0}, NULL), STK_OK);
    assert_holds(path, "");
    assert_int_equal(count_entries(*state), 1);
    assert_int_equal(fd_count(), fds);
    umask(mask);
}

static void a_path_may_lie_in_the_working_folder(void **state)
{
    int here = open(".", O_RDONLY | O_DIRECTORY);

    assert_true(here >= 0);
    assert_int_equal(chdir(*state), 0);
    assert_int_equal(save("x.json", "text", NULL), STK_OK);
    assert_int_equal(fchdir(here), 0);
    close(here);
    assert_holds(in_folder(*state, "x.json"), "text");
}

static void a_link_stays_and_its_file_is_replaced(void **state)
{
    const char *far = in_folder(*state, "far"), *file = in_folder(*state, "far/x.json");
    const char *link = in_folder(*state, "link"), *second = in_folder(*state, "far/second");
    struct stat found;

    make_folder(far);
    assert_int_equal(symlink("far/second", link), 0);
    assert_int_equal(symlink("x.json", second), 0);
    for (int i = 0; i < 2; i++) { /* x.json is not there at first */
        assert_int_equal(save(link, i == 0 ? "first" : "second", NULL), STK_OK);
        assert_holds(file, i == 0 ? "first" : "second");
        assert_int_equal(lstat(link, &found), 0);
        assert_true(S_ISLNK(found.st_mode));
        assert_int_equal(lstat(second, &found), 0);
        assert_true(S_ISLNK(found.st_mode));
    }
    assert_int_equal(count_entries(*state), 2);
    assert_int_equal(count_entries(far), 2);
}

static void links_in_a_circle_are_an_error(void **state)
{
    const char *a = in_folder(*state, "a");
    stk_error err = STK_ERROR_INIT;

    assert_int_equal(symlink("b", a), 0);
    assert_int_equal(symlink("a", in_folder(*state, "b")), 0);
    assert_int_equal(save(a, "text", &err), STK_ESOURCE);
    assert_int_equal(err.os_errno, ELOOP);
    assert_int_equal(count_entries(*state), 2);
}

/* As `stoker verify --save /dev/stdout >> log` does. */
static void the_name_of_an_open_file_is_written_to(void **state)
{
    const char *path = in_folder(*state, "log");
    int fd = open(path, O_WRONLY | O_CREAT, 0666);
    char names[2][64];

    assert_true(fd >= 0);
    snprintf(names[0], sizeof names[0], "/proc/self/fd/%d", fd);
    snprintf(names[1], sizeof names[1], "/dev/fd/%d", fd);
    assert_int_equal(symlink(names[1], in_folder(*state, "stdout")), 0);
    assert_int_equal(write(fd, "a", 1), 1);
    assert_int_equal(save(names[0], "bb", NULL), STK_OK);
    assert_int_equal(write(fd, "c", 1), 1);
    assert_int_equal(save(in_folder(*state, "stdout"), "dd", NULL), STK_OK);
    assert_int_equal(write(fd, "e", 1), 1);
    assert_holds(path, "abbcdde");
    assert_int_equal(count_entries(*state), 2);
    close(fd);
}

static void what_is_no_regular_file_is_written_to(void **state)
{
    const char *path = in_folder(*state, "pipe");
    stk_error err = STK_ERROR_INIT;
    int ends[2], got;
    char byte;
    pid_t pid;

    assert_int_equal(mkfifo(path, 0666), 0);
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        char text[16] = "";
        int fd = open(path, O_RDONLY);

        got = (int)read(fd, text, sizeof text);
        _exit(got == 4 && memcmp(text, "text", 4) == 0 && read(fd, &byte, 1) == 0 ? 0 : 1);
    }
    assert_int_equal(save(path, "text", NULL), STK_OK);
    assert_int_equal(waitpid(pid, &got, 0), pid);
    assert_int_equal(got, 0);
    close(ends[0]);
    close(ends[1]);

    assert_int_equal(save("/dev/full", "text", &err), STK_ESOURCE);
    assert_int_equal(err.os_errno, ENOSPC);
    assert_string_equal(err.source, "/dev/full");
    assert_int_equal(err.stage, STK_STAGE_WRITE);
    make_folder(in_folder(*state, "folder"));
    assert_int_equal(save(in_folder(*state, "folder"), "text", &err), STK_ESOURCE);
    assert_int_equal(err.os_errno, EISDIR);
    assert_int_equal(count_entries(*state), 2);
}

static void failures_name_the_path_and_leave_nothing(void **state)
{
    const char *path = in_folder(*state, "gone/x.json"), *file = in_folder(*state, "file");
    stk_error err = STK_ERROR_INIT;
    char *name = malloc(6000);

    assert_int_equal(save(path, "text", &err), STK_ESOURCE);
    assert_int_equal(err.os_errno, ENOENT);
    assert_string_equal(err.source, path);
    assert_int_equal(err.stage, STK_STAGE_WRITE);
    save_text(file, "mine");
    assert_int_equal(save(in_folder(*state, "file/x.json"), "text", &err), STK_ESOURCE);
    assert_int_equal(err.os_errno, ENOTDIR);
    assert_non_null(name);
    memset(name, 'n', 5999);
    name[5999] = '\0';
    assert_int_equal(save(name, "text", &err), STK_ESOURCE);
    assert_int_equal(err.os_errno, ENAMETOOLONG);
    name[256] = '\0'; /* a byte over what a folder takes */
    assert_int_equal(save(in_folder(*state, name), "text", &err), STK_ESOURCE);
    assert_int_equal(err.os_errno, ENAMETOOLONG);
    assert_int_equal(count_entries(*state), 1);
    assert_holds(file, "mine");
    free(name);
}

/* The process may write so many bytes to a file. */
static void limit_files(rlim_t bytes, struct rlimit *before)
{
    struct rlimit lower;

    if (getrlimit(RLIMIT_FSIZE, before) != 0)
        system_failed("ask for", "RLIMIT_FSIZE");
    lower = *before;
    lower.rlim_cur = bytes;
    if (setrlimit(RLIMIT_FSIZE, &lower) != 0)
        system_failed("set", "RLIMIT_FSIZE");
}

static void on_a_full_disk_the_old_file_stays(void **state)
{
    const char *path = in_folder(*state, "x.json");
    stk_error err = STK_ERROR_INIT;
    struct rlimit before;

    assert_int_equal(save(path, "old", NULL), STK_OK);
    signal(SIGXFSZ, SIG_IGN);
    limit_files(10, &before);
    assert_int_equal(save(path, "over ten bytes", &err), STK_ESOURCE);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(err.os_errno, EFBIG);
    assert_holds(path, "old");
    assert_int_equal(count_entries(*state), 1);
}

/* A limit that is not ignored ends the process in the middle of its file, as kill -9 does. */
static void a_writer_that_is_killed_leaves_the_old_file(void **state)
{
    const char *path = in_folder(*state, "x.json");
    int status;
    pid_t pid;

    assert_int_equal(save(path, "old", NULL), STK_OK);
    pid = fork();
    if (pid == 0) {
        struct rlimit before;

        signal(SIGXFSZ, SIG_DFL);
        limit_files(10, &before);
        _exit(save(path, "over ten bytes", NULL) == STK_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_holds(path, "old");
    assert_int_equal(save(path, "new", NULL), STK_OK);
    assert_holds(path, "new");
    assert_int_equal(count_entries(*state), 1);
}

static void any_number_may_write_the_same_name(void **state)
{
    enum { WRITERS = 6, TIMES = 20, BYTES = 20000 };

    const char *path = in_folder(*state, "x.json");
    char *text = malloc(BYTES);
    unsigned char *data;
    size_t size;

    assert_non_null(text);
    for (int i = 0; i < WRITERS; i++) {
        if (fork() != 0)
            continue;
        memset(text, 'a' + i, BYTES);
        for (int k = 0; k < TIMES; k++)
            if (stk_file_save(path, (stk_view){text, BYTES}, NULL) < 0)
                _exit(1);
        _exit(0);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;

        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    data = load_file(path, &size);
    assert_int_equal(size, BYTES);
    memset(text, data[0], BYTES);
    assert_memory_equal(data, text, BYTES);
    assert_int_equal(count_entries(*state), 1);
    free(data);
    free(text);
}

static void only_dead_drafts_are_removed(void **state)
{
    static const char *const dead[] = {
        ".x.stoker-part", ".x.stoker-part7", ".x.tar.stoker-part123456"};
    static const char *const others[] = {"x.stoker-part", ".x.stoker-part1a", ".x.stoker-partial",
        ".stoker-part", ".x", "1", "stoker-part"};
    const char *link = in_folder(*state, ".link.stoker-part");
    const char *held = in_folder(*state, ".held.stoker-part");
    int fd;

    for (size_t i = 0; i < COUNT_OF(dead); i++) {
        save_text(in_folder(*state, dead[i]), "half");
        assert_true(stk_draft_remove_dead(in_folder(*state, dead[i])));
        assert_false(file_exists(in_folder(*state, dead[i])));
        assert_false(stk_draft_remove_dead(in_folder(*state, dead[i])));
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (strcmp(others[i], ".stoker-part") == 0)
            continue;
        save_text(in_folder(*state, others[i]), "mine");
        assert_false(stk_draft_remove_dead(in_folder(*state, others[i])));
        assert_holds(in_folder(*state, others[i]), "mine");
    }
    assert_int_equal(symlink("x.stoker-part", link), 0);
    assert_false(stk_draft_remove_dead(link));
    make_folder(in_folder(*state, ".folder.stoker-part"));
    assert_false(stk_draft_remove_dead(in_folder(*state, ".folder.stoker-part")));
    save_text(held, "half");
    fd = open(held, O_WRONLY);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_false(stk_draft_remove_dead(held));
    assert_holds(held, "half");
    close(fd);
    assert_true(stk_draft_remove_dead(held));
    assert_true(file_exists(link));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_file_is_replaced_by_a_whole_one),
        WITH_FOLDER(a_path_may_lie_in_the_working_folder),
        WITH_FOLDER(a_link_stays_and_its_file_is_replaced),
        WITH_FOLDER(links_in_a_circle_are_an_error),
        WITH_FOLDER(the_name_of_an_open_file_is_written_to),
        WITH_FOLDER(what_is_no_regular_file_is_written_to),
        WITH_FOLDER(failures_name_the_path_and_leave_nothing),
        WITH_FOLDER(on_a_full_disk_the_old_file_stays),
        WITH_FOLDER(a_writer_that_is_killed_leaves_the_old_file),
        WITH_FOLDER(any_number_may_write_the_same_name),
        WITH_FOLDER(only_dead_drafts_are_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
