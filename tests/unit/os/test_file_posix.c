/* Without these: a read stops short at a signal or at 2 GiB, a killed writer leaves half a file
 * under a final name, or an error does not say which file it was. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "base/fault.h"
#include "os/file.h"
#include "support/temp_tree.h"
#include "support/test.h"

/* A folder for each test. */
static int make_folder_of_test(void **state)
{
    *state = make_temp_folder();
    return 0;
}

static int remove_folder_of_test(void **state)
{
    remove_tree(*state);
    return 0;
}

static void assert_failed(
    stk_status st, const stk_error *err, stk_status want, int os_errno, const char *source)
{
    assert_int_equal(st, want);
    assert_int_equal(err->status, want);
    assert_int_equal(err->os_errno, os_errno);
    assert_string_equal(err->source, source);
    assert_true(err->text[0] != '\0');
}

static void opens_reads_and_closes(void **state)
{
    const char *path = in_folder(*state, "a.bin");
    stk__file file = STK__FILE_NONE;
    stk__file_stat found;
    char data[16];
    size_t got = 99;
    int fds = fd_count();

    save_text(path, "0123456789");
    assert_int_equal(stk__file_open(&file, path, NULL), STK_OK);
    assert_int_equal(stk__file_stat_of(&file, path, &found, NULL), STK_OK);
    assert_int_equal(found.size_bytes, 10);
    assert_true(found.regular && !found.folder && found.mtime_ns > 0);
    assert_int_equal(stk__file_read_at(&file, path, 3, (stk_span){data, 4}, &got, NULL), STK_OK);
    assert_int_equal(got, 4);
    assert_memory_equal(data, "3456", 4);
    assert_int_equal(stk__file_read_at(&file, path, 8, (stk_span){data, 16}, &got, NULL), STK_OK);
    assert_int_equal(got, 2); /* the end of the file */
    assert_int_equal(stk__file_read_at(&file, path, 99, (stk_span){data, 16}, &got, NULL), STK_OK);
    assert_int_equal(got, 0);
    assert_int_equal(stk__file_read_at(&file, path, 0, (stk_span){NULL, 0}, &got, NULL), STK_OK);
    assert_int_equal(got, 0);
    stk__file_will_need(&file, 0, 10);
    stk__file_fini(&file);
    stk__file_fini(&file);
    assert_int_equal(file.fd, -1);
    assert_int_equal(fd_count(), fds);
}

/* What is in memory may be read without waiting; what cannot be told is STK_AGAIN, never less. */
static void reads_without_waiting_all_or_nothing(void **state)
{
    const char *path = in_folder(*state, "a.bin");
    stk__file file = STK__FILE_NONE;
    char data[16];
    size_t got = 99;
    stk_status st;

    save_text(path, "0123456789");
    assert_int_equal(stk__file_open(&file, path, NULL), STK_OK);
    st = stk__file_try_read_at(&file, path, 2, (stk_span){data, 8}, &got, NULL);
    assert_true(st == STK_AGAIN || (st == STK_OK && got == 8 && memcmp(data, "23456789", 8) == 0));
    got = 99;
    assert_int_equal(
        stk__file_try_read_at(&file, path, 5, (stk_span){data, 16}, &got, NULL), STK_AGAIN);
    assert_int_equal(got, 99);
    assert_int_equal(
        stk__file_try_read_at(&file, path, 50, (stk_span){data, 1}, &got, NULL), STK_AGAIN);
    stk__file_fini(&file);
}

static void failures_name_the_file(void **state)
{
    const char *missing = in_folder(*state, "missing"), *folder = *state;
    const char *under = in_folder(*state, "plain/under");
    stk__file file = STK__FILE_NONE;
    stk__file_stat found;
    stk_error err;
    char data[4];
    size_t got;
    stk_status st;

    save_text(in_folder(*state, "plain"), "x");
    st = stk__file_open(&file, missing, &err);
    assert_failed(st, &err, STK_ESOURCE, ENOENT, missing);
    assert_string_equal(err.text, "could not open the file: no such file or folder");
    st = stk__file_open(&file, under, &err);
    assert_failed(st, &err, STK_ESOURCE, ENOTDIR, under);
    st = stk__path_stat(missing, &found, &err);
    assert_failed(st, &err, STK_ESOURCE, ENOENT, missing);
    assert_int_equal(stk__file_open(&file, folder, NULL), STK_OK); /* a folder opens, */
    st = stk__file_read_at(&file, folder, 0, (stk_span){data, 4}, &got, &err);
    assert_failed(st, &err, STK_ESOURCE, EISDIR, folder); /* and cannot be read */
    assert_int_equal(stk__file_stat_of(&file, folder, &found, NULL), STK_OK);
    assert_true(found.folder && !found.regular);
    stk__file_fini(&file);
    st = stk__file_read_at(&file, missing, 0, (stk_span){data, 4}, &got, &err);
    assert_failed(st, &err, STK_ESOURCE, EBADF, missing);
    st = stk__file_stat_of(&file, missing, &found, &err);
    assert_failed(st, &err, STK_ESOURCE, EBADF, missing);
    st = stk__file_sync(&file, missing, &err);
    assert_failed(st, &err, STK_ESOURCE, EBADF, missing);
    st = stk__file_write(&file, missing, (stk_view){"x", 1}, &err);
    assert_failed(st, &err, STK_ESOURCE, EBADF, missing);
}

static void writes_under_one_name_and_ends_under_another(void **state)
{
    const char *part = in_folder(*state, "out.part"), *final = in_folder(*state, "out");
    stk__file file = STK__FILE_NONE;
    stk_error err;
    unsigned char *data;
    size_t size;
    stk_status st;

    save_text(final, "old");
    assert_int_equal(stk__file_create(&file, part, NULL), STK_OK);
    assert_int_equal(stk__file_write(&file, part, (stk_view){"hello ", 6}, NULL), STK_OK);
    assert_int_equal(stk__file_write(&file, part, (stk_view){NULL, 0}, NULL), STK_OK);
    assert_int_equal(stk__file_write(&file, part, (stk_view){"world", 5}, NULL), STK_OK);
    assert_int_equal(stk__file_sync(&file, part, NULL), STK_OK);
    stk__file_fini(&file);
    st = stk__file_create(&file, part, &err);
    assert_failed(st, &err, STK_EEXIST, EEXIST, part);
    assert_int_equal(file.fd, -1);
    assert_int_equal(stk__path_rename(part, final, NULL), STK_OK); /* replaces the old one */
    assert_false(file_exists(part));
    data = load_file(final, &size);
    assert_int_equal(size, 11);
    assert_memory_equal(data, "hello world", 11);
    free(data);
    st = stk__path_rename(part, final, &err);
    assert_failed(st, &err, STK_ESOURCE, ENOENT, final);
    assert_int_equal(stk__path_remove(final, NULL), STK_OK);
    assert_int_equal(stk__path_remove(final, NULL), STK_OK); /* missing is fine */
    assert_false(file_exists(final));
    st = stk__path_remove(*state, &err);
    assert_int_equal(st, STK_ESOURCE); /* a folder is no file */
}

static void ignore_signal(int number)
{
    (void)number;
}

/* A limit on the size of files stands for a full disk: the rest of a write must fail, not vanish.
 */
static void a_full_disk_is_an_error(void **state)
{
    const char *path = in_folder(*state, "full");
    struct rlimit before, small;
    stk__file file = STK__FILE_NONE;
    stk_error err = STK_ERROR_INIT;
    static char data[5000];
    stk_status st;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 3000;
    assert_int_equal(stk__file_create(&file, path, NULL), STK_OK);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    st = stk__file_write(&file, path, (stk_view){data, sizeof data}, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_failed(st, &err, STK_ESOURCE, EFBIG, path);
    stk__file_fini(&file);
}

/* A timer that interrupts whatever can be interrupted. */
static void signals_do_not_cut_a_write(void **state)
{
    const struct sigaction action = {.sa_handler = ignore_signal};
    const struct itimerval every = {.it_interval = {.tv_usec = 500}, .it_value = {.tv_usec = 500}};
    const struct itimerval never = {.it_value = {.tv_usec = 0}};
    static char data[1 << 20];
    const char *path = in_folder(*state, "signals");
    stk__file file = STK__FILE_NONE;
    stk__file_stat found;

    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
    assert_int_equal(stk__file_create(&file, path, NULL), STK_OK);
    for (int i = 0; i < 8; i++)
        assert_int_equal(stk__file_write(&file, path, (stk_view){data, sizeof data}, NULL), STK_OK);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(stk__file_stat_of(&file, path, &found, NULL), STK_OK);
    assert_int_equal(found.size_bytes, 8 * sizeof data);
    stk__file_fini(&file);
}

/* Offsets past 4 GiB, in a file that is nearly all hole. */
static void offsets_have_64_bits(void **state)
{
    const char *path = in_folder(*state, "sparse");
    const uint64_t far = (5ull << 30) + 7;
    stk__file file = STK__FILE_NONE;
    stk__file_stat found;
    char data[8] = "";
    size_t got;
    FILE *made;

    made = fopen(path, "wb");
    assert_non_null(made);
    assert_int_equal(fseeko(made, (off_t)far, SEEK_SET), 0);
    assert_int_equal(fputs("END", made) < 0, 0);
    assert_int_equal(fclose(made), 0);
    assert_int_equal(stk__file_open(&file, path, NULL), STK_OK);
    assert_int_equal(stk__file_stat_of(&file, path, &found, NULL), STK_OK);
    assert_true(found.size_bytes == far + 3);
    assert_int_equal(stk__file_read_at(&file, path, far, (stk_span){data, 8}, &got, NULL), STK_OK);
    assert_int_equal(got, 3);
    assert_memory_equal(data, "END", 3);
    assert_int_equal(
        stk__file_read_at(&file, path, UINT64_MAX - 1, (stk_span){data, 8}, &got, NULL),
        STK_ESOURCE); /* no offset of any file; and no wrap to its start */
    stk__file_fini(&file);
}

static void maps_whole_files(void **state)
{
    const char *path = in_folder(*state, "map"), *empty = in_folder(*state, "empty");
    stk__file file = STK__FILE_NONE;
    stk_view map = {NULL, 99};

    save_text(path, "0123456789");
    save_text(empty, "");
    assert_int_equal(stk__file_open(&file, path, NULL), STK_OK);
    assert_int_equal(stk__file_map(&file, path, &map, NULL), STK_OK);
    stk__file_fini(&file); /* the map lives on */
    assert_int_equal(map.size, 10);
    assert_memory_equal(map.data, "0123456789", 10);
    stk__file_unmap(&map);
    assert_null(map.data);
    stk__file_unmap(&map);
    assert_int_equal(stk__file_open(&file, empty, NULL), STK_OK);
    assert_int_equal(stk__file_map(&file, empty, &map, NULL), STK_OK);
    assert_int_equal(map.size, 0);
    stk__file_unmap(&map);
    stk__file_fini(&file);
}

/* The names of a folder, and the status that the third one gets. */
typedef struct listing {
    char names[8][32];
    int count;
    stk_status third;
} listing;

static stk_status note_name(void *ctx, const char *name, stk_error *err)
{
    listing *l = ctx;

    (void)err;
    snprintf(l->names[l->count++], sizeof l->names[0], "%s", name);
    return l->count == 3 ? l->third : STK_OK;
}

static void lists_and_makes_folders(void **state)
{
    char folder[600], missing[600], plain[600];
    listing l = {.count = 0};
    stk_error err = STK_ERROR_INIT;
    stk_status st;
    int fds = fd_count(), marks = 0;

    snprintf(folder, sizeof folder, "%s/list", (const char *)*state);
    snprintf(missing, sizeof missing, "%s/missing", (const char *)*state);
    snprintf(plain, sizeof plain, "%s/plain", (const char *)*state);
    assert_int_equal(stk__folder_make(folder, NULL), STK_OK);
    assert_int_equal(stk__folder_make(folder, NULL), STK_OK); /* existing is fine */
    save_text(plain, "");
    st = stk__folder_make(plain, &err);
    assert_failed(st, &err, STK_ESOURCE, ENOTDIR, plain); /* unless it is no folder */
    st = stk__folder_make(in_folder(missing, "x"), &err);
    assert_int_equal(st, STK_ESOURCE);
    save_text(in_folder(folder, "a"), "");
    save_text(in_folder(folder, ".b"), "");
    save_text(in_folder(folder, "..c"), "");
    assert_int_equal(stk__folder_list(folder, note_name, &l, NULL), STK_OK);
    assert_int_equal(l.count, 3);
    for (int i = 0; i < 3; i++) {
        marks |= strcmp(l.names[i], "a") == 0 ? 1 : 0;
        marks |= strcmp(l.names[i], ".b") == 0 ? 2 : 0;
        marks |= strcmp(l.names[i], "..c") == 0 ? 4 : 0;
    }
    assert_int_equal(marks, 7);
    save_text(in_folder(folder, "d"), "");
    l = (listing){.third = STK_ELIMIT};
    assert_int_equal(stk__folder_list(folder, note_name, &l, NULL), STK_ELIMIT); /* ends it */
    assert_int_equal(l.count, 3);
    st = stk__folder_list(missing, note_name, &l, &err);
    assert_failed(st, &err, STK_ESOURCE, ENOENT, missing);
    st = stk__folder_list(plain, note_name, &l, &err);
    assert_failed(st, &err, STK_ESOURCE, ENOTDIR, plain);
    assert_int_equal(fd_count(), fds);
}

#if defined(STK__FAULTS)

static void each_seam_can_be_made_to_fail(void **state)
{
    const char *path = in_folder(*state, "a"), *made = in_folder(*state, "b");
    stk__file file = STK__FILE_NONE;
    stk_view map;
    char data[4];
    size_t got;
    stk_error err = STK_ERROR_INIT;
    stk_status st;
    listing l = {.count = 0};

    save_text(path, "0123");
    stk__fault_arm(STK__FAULT_OPEN, 1);
    assert_failed(stk__file_open(&file, path, &err), &err, STK_ESOURCE, EIO, path);
    stk__fault_arm(STK__FAULT_OPEN, 1);
    assert_failed(stk__file_create(&file, made, &err), &err, STK_ESOURCE, EIO, made);
    assert_false(file_exists(made));
    stk__fault_arm(STK__FAULT_OPEN, 1);
    st = stk__folder_list(*state, note_name, &l, &err);
    assert_failed(st, &err, STK_ESOURCE, EIO, *state);
    assert_true(stk__fault_disarm());
    assert_int_equal(stk__file_open(&file, path, NULL), STK_OK);
    stk__fault_arm(STK__FAULT_READ, 2);
    assert_int_equal(stk__file_read_at(&file, path, 0, (stk_span){data, 4}, &got, NULL), STK_OK);
    st = stk__file_read_at(&file, path, 0, (stk_span){data, 4}, &got, &err);
    assert_failed(st, &err, STK_ESOURCE, EIO, path);
    stk__fault_arm(STK__FAULT_READ, 1);
    st = stk__file_try_read_at(&file, path, 0, (stk_span){data, 4}, &got, &err);
    assert_failed(st, &err, STK_ESOURCE, EIO, path);
    stk__fault_arm(STK__FAULT_MAP, 1);
    assert_failed(stk__file_map(&file, path, &map, &err), &err, STK_ESOURCE, ENOMEM, path);
    stk__fault_arm(STK__FAULT_WRITE, 1);
    errno = 0;
    assert_failed(stk__path_rename(path, made, &err), &err, STK_ESOURCE, EIO, made);
    assert_true(file_exists(path));
    stk__file_fini(&file);
    assert_int_equal(stk__file_create(&file, made, NULL), STK_OK);
    stk__fault_arm(STK__FAULT_WRITE, 1);
    st = stk__file_write(&file, made, (stk_view){"x", 1}, &err);
    assert_failed(st, &err, STK_ESOURCE, ENOSPC, made);
    assert_true(stk__fault_disarm());
    stk__file_fini(&file);
}

#endif

#define IN_FOLDER(test) \
    cmocka_unit_test_setup_teardown(test, make_folder_of_test, remove_folder_of_test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(opens_reads_and_closes),
        IN_FOLDER(reads_without_waiting_all_or_nothing),
        IN_FOLDER(failures_name_the_file),
        IN_FOLDER(writes_under_one_name_and_ends_under_another),
        IN_FOLDER(a_full_disk_is_an_error),
        IN_FOLDER(signals_do_not_cut_a_write),
        IN_FOLDER(offsets_have_64_bits),
        IN_FOLDER(maps_whole_files),
        IN_FOLDER(lists_and_makes_folders),
#if defined(STK__FAULTS)
        IN_FOLDER(each_seam_can_be_made_to_fail),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
