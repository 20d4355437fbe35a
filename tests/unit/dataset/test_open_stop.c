/* Without these: Ctrl-C during the first indexing of a large dataset is heard minutes later, or a
 * file system that hangs takes the caller along. */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include <stoker/archive.h>
#include <stoker/dataset.h>

#include "archive/index_tar.h"
#include "dataset/folder.h"
#include "support/temp_tree.h"
#include "support/test.h"

static void write_shard(const char *path, int samples)
{
    stk_tar_writer *writer;

    assert_int_equal(stk_tar_writer_open(path, 0, &writer, NULL), STK_OK);
    for (int i = 0; i < samples; i++) {
        char name[32];
        int size = snprintf(name, sizeof name, "%05d.txt", i);

        assert_int_equal(
            stk_tar_writer_add(writer, (stk_view){name, (size_t)size}, (stk_view){"x", 1}, NULL),
            STK_OK);
    }
    assert_int_equal(stk_tar_writer_finish(writer, NULL), STK_OK);
}

/* Whoever opens a file under a lease makes the kernel tell its holder. */
static volatile sig_atomic_t hangs;

static void note_hang(int number)
{
    (void)number;
    hangs = 1;
}

/* A caller that counts how often it is asked, and gives up what hangs, if it does at all. */
typedef struct asked {
    int times;
    bool gives_up;
} asked;

static bool ask(void *ctx)
{
    asked *a = ctx;

    a->times++;
    return a->gives_up && hangs;
}

static stk_status open_asking(const char *path, asked *a, stk_dataset **dataset, stk_error *err)
{
    stk_dataset_options options = STK_DATASET_OPTIONS_INIT;

    options.stop = ask;
    options.stop_ctx = a;
    return stk_dataset_open(&path, 1, &options, dataset, err);
}

static void who_never_says_so_gets_the_same(void **state)
{
    const char *path = in_folder(*state, "s.tar");
    asked never = {.gives_up = false};
    stk_dataset *plain, *asking;
    uint64_t prints[2][2];

    write_shard(path, 100);
    assert_int_equal(open_asking(path, &never, &asking, NULL), STK_OK);
    assert_int_equal(stk_dataset_open(&path, 1, NULL, &plain, NULL), STK_OK);
    stk_dataset_fingerprint(plain, prints[0]);
    stk_dataset_fingerprint(asking, prints[1]);
    assert_memory_equal(prints[0], prints[1], sizeof prints[0]);
    assert_int_equal(stk_dataset_count(asking), 100);
    stk_dataset_unref(plain);
    stk_dataset_unref(asking);
}

static void failures_are_told_as_ever(void **state)
{
    const char *path = in_folder(*state, "gone.tar"), *none = NULL;
    stk_dataset_options options = STK_DATASET_OPTIONS_INIT;
    asked never = {.gives_up = false};
    stk_error err = STK_ERROR_INIT;
    stk_dataset *dataset = NULL;

    assert_int_equal(open_asking(path, &never, &dataset, &err), STK_ESOURCE);
    assert_string_equal(err.source, path);
    assert_int_equal(err.os_errno, ENOENT);
    assert_int_equal(open_asking(path, &never, &dataset, NULL), STK_ESOURCE);
    options.stop = ask;
    options.stop_ctx = &never;
    assert_int_equal(stk_dataset_open(&none, 1, &options, &dataset, &err), STK_EINVAL);
    assert_int_equal(stk_dataset_open(&none, 0, &options, &dataset, &err), STK_EINVAL);
    assert_null(dataset);
}

static int threads(void)
{
    return count_entries("/proc/self/task");
}

static void pause_for(long ms)
{
    struct timespec wait = {.tv_nsec = ms * 1000000};

    nanosleep(&wait, NULL);
}

/* Whoever opens a file under a lease waits until its holder lets go: a disk that hangs. */
static void a_file_system_that_hangs_is_left_alone(void **state)
{
    const char *path = in_folder(*state, "s.tar");
    asked impatient = {.gives_up = true}, never = {.gives_up = false};
    stk_error err = STK_ERROR_INIT;
    stk_dataset *dataset = NULL;
    int fd, before = threads();

    write_shard(path, 10);
    assert_int_equal(unlink(in_folder(*state, "s.tar.stoker")), 0);
    signal(SIGIO, note_hang);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    if (fcntl(fd, F_SETLEASE, F_WRLCK) != 0)
        skip(); /* this file system has no leases */
    assert_int_equal(open_asking(path, &impatient, &dataset, &err), STK_ESTOPPED);
    assert_true(impatient.times > 0);
    assert_int_equal(err.status, STK_ESTOPPED);
    assert_null(dataset);
    assert_int_equal(threads(), before + 1); /* it hangs still */
    assert_int_equal(fcntl(fd, F_SETLEASE, F_UNLCK), 0);
    close(fd);
    for (int i = 0; threads() > before; i++) {
        assert_true(i < 3000);
        pause_for(10);
    }
    assert_int_equal(count_entries(*state), 1); /* it made no index any more */
    assert_int_equal(open_asking(path, &never, &dataset, NULL), STK_OK);
    assert_int_equal(stk_dataset_count(dataset), 10);
    stk_dataset_unref(dataset);
}

static void indexing_ends_between_two_members_or_names(void **state)
{
    const char *path = in_folder(*state, "s.tar"), *files = in_folder(*state, "files");
    stk__stop stop = {.told = 0};
    stk__heap heap = {0};
    stk__index *index = NULL;

    write_shard(path, 10);
    make_folder(files);
    save_text(in_folder(*state, "files/a.txt"), "x");
    for (uint32_t told = 0; told < 2; told++) {
        stk_status want = told ? STK_ESTOPPED : STK_OK;

        stk__store_release_u32(&stop.told, told);
        assert_int_equal(stk__index_tar(&heap, path, 0, NULL, &stop, &index, NULL), want);
        stk__index_close(index);
        index = NULL;
        assert_int_equal(
            stk__index_tar(&heap, path, STK__INDEX_LENIENT, NULL, &stop, &index, NULL), want);
        stk__index_close(index);
        index = NULL;
        assert_int_equal(stk__folder_index(&heap, files, 0, &stop, &index, NULL), want);
        stk__index_close(index);
        index = NULL;
        assert_int_equal(
            stk__folder_index(&heap, files, STK__INDEX_LENIENT, &stop, &index, NULL), want);
        stk__index_close(index);
        index = NULL;
        assert_int_equal(heap.used_bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(who_never_says_so_gets_the_same),
        WITH_FOLDER(failures_are_told_as_ever),
        WITH_FOLDER(a_file_system_that_hangs_is_left_alone),
        WITH_FOLDER(indexing_ends_between_two_members_or_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
