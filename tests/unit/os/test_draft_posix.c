/* Without these: half a file has its final name, what a killed writer left stays for ever, or the
 * file of a living writer is taken away from it. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "os/draft.h"
#include "support/temp_tree.h"
#include "support/test.h"

typedef stk_status creating(stk__draft *draft, const char *path, stk_error *err);

static creating *const both[] = {stk__draft_create, stk__draft_create_named};

static void begin(creating *create, stk__draft *draft, const char *path, const char *text)
{
    *draft = (stk__draft)STK__DRAFT_NONE;
    assert_int_equal(create(draft, path, NULL), STK_OK);
    assert_int_equal(
        stk__file_write(&draft->file, path, (stk_view){text, strlen(text)}, NULL), STK_OK);
}

static void has_its_name_when_it_is_published(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    int fds = fd_count();

    for (int i = 0; i < 2; i++) {
        stk__draft draft;
        char bytes[3];
        size_t got;

        save_text(path, "old");
        begin(both[i], &draft, path, "new");
        assert_holds(path, "old");
        assert_int_equal(
            stk__file_read_at(&draft.file, path, 0, (stk_span){bytes, 3}, &got, NULL), STK_OK);
        assert_memory_equal(bytes, "new", 3);
        assert_int_equal(stk__draft_publish(&draft, path, NULL), STK_OK);
        assert_holds(path, "new");
        stk__draft_fini(&draft); /* nothing any more */
        assert_holds(path, "new");
        assert_int_equal(count_entries(*state), 1);
        begin(both[i], &draft, path, "newer");
        stk__draft_fini(&draft);
        assert_holds(path, "new");
        assert_int_equal(count_entries(*state), 1);
        assert_int_equal(fd_count(), fds);
    }
}

/* A writer that is killed with its draft on the disk. */
static void kill_a_writer(creating *create, const char *path)
{
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        stk__draft draft = STK__DRAFT_NONE;

        if (create(&draft, path, NULL) >= 0 &&
            stk__file_write(&draft.file, path, (stk_view){"half", 4}, NULL) >= 0 &&
            write(ready[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ready[0]);
    close(ready[1]);
}

static void what_a_killed_writer_left_the_next_one_removes(void **state)
{
    const char *path = in_folder(*state, "x.tar");

    for (int i = 0; i < 2; i++) {
        stk__draft draft;

        kill_a_writer(stk__draft_create_named, path);
        assert_true(file_exists(in_folder(*state, ".x.tar.stoker-part")));
        assert_false(file_exists(path));
        begin(both[i], &draft, path, "whole");
        assert_int_equal(stk__draft_publish(&draft, path, NULL), STK_OK);
        assert_holds(path, "whole");
        assert_int_equal(count_entries(*state), 1);
        assert_int_equal(unlink(path), 0);
    }
}

static void a_killed_writer_without_a_name_leaves_nothing(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    stk__draft draft;
    bool named;

    begin(stk__draft_create, &draft, path, "");
    named = draft.hidden[0] != '\0';
    stk__draft_fini(&draft);
    if (named)
        skip(); /* this file system has no such files */
    kill_a_writer(stk__draft_create, path);
    assert_int_equal(count_entries(*state), 0);
}

static void living_writers_are_left_alone(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    stk__draft drafts[6];
    char text[2] = "0";

    for (int i = 0; i < 6; i++, text[0]++) /* more than are looked at */
        begin(both[i != 3], &drafts[i], path, text);
    for (int i = 5; i >= 0; i--) {
        text[0]--;
        assert_int_equal(stk__draft_publish(&drafts[i], path, NULL), STK_OK);
        assert_holds(path, text);
    }
    assert_int_equal(count_entries(*state), 1);
}

static void what_is_no_draft_stays(void **state)
{
    const char *path = in_folder(*state, "x.tar"), *mine = in_folder(*state, "mine");
    stk__draft draft;

    save_text(mine, "mine");
    assert_int_equal(symlink(mine, in_folder(*state, ".x.tar.stoker-part")), 0);
    make_folder(in_folder(*state, ".x.tar.stoker-part1"));
    save_text(in_folder(*state, ".y.tar.stoker-part"), "of another");
    begin(stk__draft_create_named, &draft, path, "x");
    assert_int_equal(stk__draft_publish(&draft, path, NULL), STK_OK);
    assert_int_equal(count_entries(*state), 5);
    assert_holds(mine, "mine");
}

/* It never gives its name to a file that is not its own. */
static void a_draft_that_lost_its_name_is_not_published(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    stk_error err = STK_ERROR_INIT;
    stk__draft draft;

    begin(stk__draft_create_named, &draft, path, "x");
    assert_int_equal(unlink(draft.hidden), 0);
    save_text(draft.hidden, "of another");
    assert_int_equal(stk__draft_publish(&draft, path, &err), STK_ESOURCE);
    assert_int_equal(err.os_errno, ENOENT);
    assert_string_equal(err.source, path);
    stk__draft_fini(&draft);
    assert_false(file_exists(path));
    assert_holds(in_folder(*state, ".x.tar.stoker-part"), "of another");
}

static void failures_name_the_final_path(void **state)
{
    const char *path = in_folder(*state, "gone/x.tar");

    for (int i = 0; i < 2; i++) {
        stk_error err = STK_ERROR_INIT;
        stk__draft draft = STK__DRAFT_NONE;

        assert_int_equal(both[i](&draft, path, &err), STK_ESOURCE);
        assert_int_equal(err.os_errno, ENOENT);
        assert_string_equal(err.source, path);
        stk__draft_fini(&draft);
    }
}

static void long_names_have_drafts_too(void **state)
{
    char name[256];
    const char *path;

    memset(name, 'n', 255);
    name[255] = '\0';
    path = in_folder(*state, name);
    for (int i = 0; i < 2; i++) {
        stk__draft draft;

        begin(both[i], &draft, path, "x");
        assert_int_equal(stk__draft_publish(&draft, path, NULL), STK_OK);
        assert_holds(path, "x");
    }
    assert_int_equal(count_entries(*state), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(has_its_name_when_it_is_published),
        WITH_FOLDER(what_a_killed_writer_left_the_next_one_removes),
        WITH_FOLDER(a_killed_writer_without_a_name_leaves_nothing),
        WITH_FOLDER(living_writers_are_left_alone),
        WITH_FOLDER(what_is_no_draft_stays),
        WITH_FOLDER(a_draft_that_lost_its_name_is_not_published),
        WITH_FOLDER(failures_name_the_final_path),
        WITH_FOLDER(long_names_have_drafts_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
