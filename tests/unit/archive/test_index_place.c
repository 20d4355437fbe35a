/* Without these: a shard that was written anew is read by its old index (C28), an index is made
 * anew by every process because nobody found a place for it, or two of them tear one file apart. */
#include <sys/wait.h>

#include "archive/index_place.h"
#include "archive/index_tar.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "support/make_tar.h"
#include "support/temp_tree.h"
#include "support/test.h"

static stk__heap heap;

static int make_place(void **state)
{
    *state = make_temp_folder();
    setenv("XDG_CACHE_HOME", in_folder(*state, "cache"), 1);
    return 0;
}

static int remove_place(void **state)
{
    remove_tree(*state);
    assert_int_equal(stk__load_relaxed_u64(&heap.used_bytes), 0);
    return 0;
}

static void save_members(const char *path, const char *first, const char *data, time_t seconds)
{
    struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    made_tar t = {0};

    tar_text(&t, first, data);
    tar_text(&t, "b.bin", "B");
    tar_end(&t);
    save_file(path, t.data, t.size);
    tar_free(&t);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static stk_status find(const char *path, uint32_t flags, stk__index **out, stk_error *err)
{
    stk__index_source now;
    const stk__index_sought sought = {.path = path,
        .kind = STK__INDEX_TAR,
        .flags = flags,
        .check = stk__index_check_tar,
        .ctx = &now};
    stk__file file;

    *out = NULL;
    assert_int_equal(stk__file_open(&file, path, NULL), STK_OK);
    assert_int_equal(stk__index_source_of(&file, path, &now, NULL), STK_OK);
    stk__file_fini(&file);
    return stk__index_find(&heap, &sought, out, err);
}

/* Make the index and keep it. */
static void keep(const char *path, uint32_t flags)
{
    stk__index *index;

    assert_int_equal(stk__index_tar(&heap, path, flags, NULL, NULL, &index, NULL), STK_OK);
    assert_int_equal(stk__index_keep(index, path, NULL), STK_OK);
    stk__index_close(index);
}

static void assert_stale(const char *path, const char *why)
{
    stk_error err = STK_ERROR_INIT;
    stk__index *index;

    assert_int_equal(find(path, 0, &index, &err), STK_EINDEX);
    assert_null(index);
    assert_non_null(strstr(err.text, why));
}

/* C28 */
static void a_shard_that_was_written_anew_is_noticed(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    stk__index *index;

    save_members(path, "a.bin", "AAAA", 1000);
    assert_stale(path, "there is no index");
    keep(path, 0);
    assert_int_equal(find(path, 0, &index, NULL), STK_OK);
    stk__index_close(index);
    save_members(path, "a.bin", "AAAA", 2000);
    assert_stale(path, "the file was written to after its index was made");
    save_members(path, "c.bin", "AAAA", 1000);
    assert_stale(path, "the file has other bytes than the one indexed");
    save_members(
        path, "a.bin", "BBBB", 1000); /* the same layout, other data: that is in the ends */
    assert_stale(path, "other bytes");
    {
        char longer[700] = {0};
        memset(longer, 'A', sizeof longer - 1);
        save_members(path, "a.bin", longer, 1000);
    }
    assert_stale(path, "the index is of a file of 3072 bytes; it has 3584 now");
    save_members(path, "a.bin", "AAAA", 1000);
    assert_int_equal(find(path, 0, &index, NULL), STK_OK);
    stk__index_close(index);
}

static void options_have_indexes_of_their_own(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    stk__index *index;

    save_members(path, "a.BIN", "AAAA", 1000);
    keep(path, STK__INDEX_KEEP_CASE);
    assert_false(file_exists(in_folder(*state, "x.tar.stoker")));
    assert_int_equal(find(path, 0, &index, NULL), STK_EINDEX);
    assert_int_equal(find(path, STK__INDEX_KEEP_CASE, &index, NULL), STK_OK);
    assert_int_equal(index->flags, STK__INDEX_KEEP_CASE);
    stk__index_close(index);
    keep(path, 0);
    keep(path, STK__INDEX_CONCATENATED);
    assert_int_equal(count_entries(in_folder(*state, "cache/stoker")), 2);
    assert_int_equal(find(path, 0, &index, NULL), STK_OK);
    assert_int_equal(index->flags, 0);
    stk__index_close(index);
    assert_int_equal(find(path, STK__INDEX_KEEP_CASE, &index, NULL), STK_OK);
    stk__index_close(index);
    /* One that was made with the wrong options and lies beside the data is not taken. */
    assert_int_equal(
        stk__index_tar(&heap, path, STK__INDEX_KEEP_CASE, NULL, NULL, &index, NULL), STK_OK);
    assert_int_equal(stk__index_save(index, in_folder(*state, "x.tar.stoker"), NULL), STK_OK);
    stk__index_close(index);
    assert_stale(path, "made with other options");
}

/* The folder of the data takes no file: here, because one of its name is in the way. */
static void an_index_goes_to_the_cache_where_the_folder_takes_none(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    stk_error err = STK_ERROR_INIT;
    stk__index *index;

    save_members(path, "a.bin", "AAAA", 1000);
    make_folder(in_folder(*state, "x.tar.stoker"));
    make_folder(in_folder(*state, "x.tar.stoker/in"));
    keep(path, 0);
    assert_int_equal(count_entries(in_folder(*state, "cache/stoker")), 1);
    assert_int_equal(find(path, 0, &index, NULL), STK_OK);
    stk__index_close(index);
    assert_int_equal(chdir(*state), 0);
    assert_int_equal(find("./x.tar", 0, &index, NULL), STK_OK); /* the same file by another path */
    stk__index_close(index);

    /* Nowhere at all. */
    setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
    assert_int_equal(stk__index_tar(&heap, path, 0, NULL, NULL, &index, NULL), STK_OK);
    assert_int_equal(stk__index_keep(index, path, &err), STK_ESOURCE);
    assert_int_equal(err.status, STK_ESOURCE);
    stk__index_close(index);
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", in_folder(*state, "home"), 1);
    make_folder(in_folder(*state, "home"));
    keep(path, 0);
    assert_int_equal(count_entries(in_folder(*state, "home/.cache/stoker")), 1);
}

static void a_damaged_index_is_as_good_as_none(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    const char *beside = in_folder(*state, "x.tar.stoker");
    size_t size;
    unsigned char *bytes;

    save_members(path, "a.bin", "AAAA", 1000);
    keep(path, 0);
    bytes = load_file(beside, &size);
    bytes[40] ^= 1;
    save_file(beside, bytes, size);
    assert_stale(path, "the header of the index is damaged");
    save_file(beside, bytes, 100);
    assert_stale(path, "no index of Stoker");
    save_file(beside, "", 0);
    assert_stale(path, "no index of Stoker");
    free(bytes);
}

static stk_status check_kept(const char *path, stk_error *err)
{
    *err = (stk_error)STK_ERROR_INIT;
    return stk__index_check_kept(&heap, STK__INDEX_TAR, path, 0, err);
}

static void a_kept_index_is_checked_where_it_would_be_found(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    const char *beside = in_folder(*state, "x.tar.stoker");
    stk_error err;
    size_t size;
    unsigned char *bytes;

    save_members(path, "a.bin", "AAAA", 1000);
    assert_int_equal(check_kept(path, &err), STK_OK); /* none */
    keep(path, 0);
    assert_int_equal(check_kept(path, &err), STK_OK);
    save_members(path, "a.bin", "BBBB", 2000);
    assert_int_equal(check_kept(path, &err), STK_OK); /* stale, and whole */
    bytes = load_file(beside, &size);
    bytes[size - 1] ^= 0x10;
    save_file(beside, bytes, size);
    assert_int_equal(check_kept(path, &err), STK_EINDEX);
    assert_string_equal(err.source, beside);
    assert_non_null(strstr(err.text, "NAMES of the index is damaged"));
    save_file(beside, bytes, 100);
    assert_int_equal(check_kept(path, &err), STK_EINDEX);

    /* One of a later version is not ours to judge; the one in the cache counts then. */
    bytes[size - 1] ^= 0x10;
    stk__put_le32(bytes + 8, 3);
    stk__put_le32(bytes + 156, stk__crc32c(0, bytes, 156));
    save_file(beside, bytes, size);
    assert_int_equal(check_kept(path, &err), STK_OK);
    assert_stale(path, "the index has version 3");
    free(bytes);
}

static void a_damaged_index_in_the_cache_is_found_too(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    char in_cache[4096], command[8192];
    stk_error err;

    save_members(path, "a.bin", "AAAA", 1000);
    make_folder(in_folder(*state, "x.tar.stoker"));
    make_folder(in_folder(*state, "x.tar.stoker/in"));
    keep(path, 0);
    assert_int_equal(check_kept(path, &err), STK_OK);
    snprintf(in_cache, sizeof in_cache, "%s", in_folder(*state, "cache/stoker"));
    snprintf(command, sizeof command, "for f in %s/*.stoker; do printf x >>\"$f\"; done", in_cache);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): the name is a hash */
    assert_int_equal(check_kept(path, &err), STK_EINDEX);
    assert_memory_equal(err.source, in_cache, strlen(in_cache));
}

/* Processes that index the same shard at once: whoever looks meets a whole index or none. */
static void several_processes_may_keep_it_at_once(void **state)
{
    const char *path = in_folder(*state, "x.tar");
    stk__index *index;
    int failed = 0;

    save_members(path, "a.bin", "AAAA", 1000);
    for (int child = 0; child < 6; child++) {
        pid_t pid = fork();

        if (pid == 0) {
            for (int round = 0; round < 40; round++) {
                stk__index *made, *found;
                stk_error err = STK_ERROR_INIT;

                if (stk__index_tar(&heap, path, 0, NULL, NULL, &made, NULL) < 0 ||
                    stk__index_keep(made, path, NULL) < 0)
                    _exit(1);
                stk__index_close(made);
                if (find(path, 0, &found, &err) < 0 || stk__index_verify(found, NULL) < 0)
                    _exit(2);
                stk__index_close(found);
            }
            _exit(0);
        }
    }
    for (int child = 0; child < 6; child++) {
        int status = 1;

        assert_true(wait(&status) > 0);
        failed += status != 0;
    }
    assert_int_equal(failed, 0);
    assert_int_equal(count_entries(*state), 2); /* the shard and its index: nothing else stays */
    assert_int_equal(find(path, 0, &index, NULL), STK_OK);
    stk__index_close(index);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(a_shard_that_was_written_anew_is_noticed),
        WITH_PLACE(options_have_indexes_of_their_own),
        WITH_PLACE(an_index_goes_to_the_cache_where_the_folder_takes_none),
        WITH_PLACE(a_damaged_index_is_as_good_as_none),
        WITH_PLACE(a_kept_index_is_checked_where_it_would_be_found),
        WITH_PLACE(a_damaged_index_in_the_cache_is_found_too),
        WITH_PLACE(several_processes_may_keep_it_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
