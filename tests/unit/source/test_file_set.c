/* Without these: a dataset of many shards runs into the limit of descriptors after an hour, and a
 * worker that was forked waits for a lock that nobody holds any more. (C88) */
#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "source/file_set.h"
#include "support/temp_tree.h"
#include "support/test.h"

enum { FILES = 200, BYTES = 1000 };

static stk__heap heap;

/* Paths "FOLDER/N". */
static size_t path_of(const void *ctx, uint32_t id, char *path, size_t capacity)
{
    return (size_t)snprintf(path, capacity, "%s/%u", (const char *)ctx, id);
}

static unsigned char byte_of(uint32_t id, size_t at)
{
    return (unsigned char)(id * 7 + at * 13);
}

static int make_files(void **state)
{
    unsigned char bytes[BYTES];
    char path[600];

    *state = make_temp_folder();
    for (uint32_t id = 0; id < FILES; id++) {
        for (size_t i = 0; i < BYTES; i++)
            bytes[i] = byte_of(id, i);
        path_of(*state, id, path, sizeof path);
        save_file(path, bytes, BYTES);
    }
    return 0;
}

static int remove_files(void **state)
{
    remove_tree(*state);
    assert_int_equal(stk__load_relaxed_u64(&heap.used_bytes), 0);
    return 0;
}

static stk__file_set *new_set(void **state)
{
    stk__file_set *set;

    assert_int_equal(stk__file_set_new(&heap, path_of, *state, &set, NULL), STK_OK);
    return set;
}

/* Read a few bytes of a file; STK_END stands for wrong ones. */
static stk_status read_some(stk__file_set *set, uint32_t id, uint64_t offset, stk_error *err)
{
    const stk__file_want want = {.id = id, .offset = offset, .indexed_bytes = BYTES};
    unsigned char got[16] = {0};
    stk_status st = stk__file_set_read(set, &want, (stk_span){got, sizeof got}, err);

    for (size_t i = 0; st == STK_OK && i < sizeof got; i++)
        if (got[i] != byte_of(id, (size_t)offset + i))
            return STK_END;
    return st;
}

static void keeps_few_files_open_however_many_there_are(void **state)
{
    stk__file_set *set = new_set(state);
    int before = fd_count();
    rng r = rng_seed();

    for (int i = 0; i < 5000; i++) {
        assert_int_equal(
            read_some(set, (uint32_t)rng_below(&r, FILES), rng_below(&r, BYTES - 16), NULL),
            STK_OK);
        assert_true(stk__file_set_count(set) <= STK__FILE_SET_OPEN);
    }
    assert_int_equal(stk__file_set_count(set), STK__FILE_SET_OPEN);
    assert_int_equal(fd_count(), before + STK__FILE_SET_OPEN);
    stk__file_set_free(set);
    assert_int_equal(fd_count(), before);
}

static void the_least_recently_used_makes_room(void **state)
{
    stk__file_set *set = new_set(state);
    char path[600];

    /* Files 0, 8, 16, ... are in one bucket of eight. */
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(read_some(set, i * 8, 0, NULL), STK_OK);
    assert_int_equal(read_some(set, 0, 0, NULL), STK_OK); /* so 8 is the oldest */
    assert_int_equal(read_some(set, 64, 0, NULL), STK_OK);
    for (uint32_t i = 0; i < 9; i++) {
        path_of(*state, i * 8, path, sizeof path);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(read_some(set, 0, 0, NULL), STK_OK); /* open: its name is not needed */
    assert_int_equal(read_some(set, 64, 0, NULL), STK_OK);
    assert_int_equal(read_some(set, 8, 0, NULL), STK_ESOURCE);
    stk__file_set_free(set);
}

/* The limit of descriptors of this process, for a while. */
static rlim_t set_limit(rlim_t limit)
{
    struct rlimit now;
    rlim_t before;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    before = now.rlim_cur;
    now.rlim_cur = limit;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
    return before;
}

typedef struct reader {
    stk__file_set *set;
    uint64_t seed;
    int wrong;
} reader;

static void *read_at_random(void *ctx)
{
    reader *mine = ctx;
    rng r = {mine->seed};

    for (int i = 0; i < 3000; i++) {
        uint32_t id = (uint32_t)rng_below(&r, 70);
        mine->wrong += read_some(mine->set, id, rng_below(&r, BYTES - 16), NULL) != STK_OK;
    }
    return NULL;
}

static int read_by_threads(stk__file_set *set)
{
    pthread_t threads[8];
    reader readers[8];
    int wrong = 0;

    for (unsigned i = 0; i < 8; i++) {
        readers[i] = (reader){.set = set, .seed = i};
        assert_int_equal(pthread_create(&threads[i], NULL, read_at_random, &readers[i]), 0);
    }
    for (unsigned i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        wrong += readers[i].wrong;
    }
    return wrong;
}

static void seventy_files_are_read_under_a_limit_of_32(void **state)
{
    stk__file_set *set = new_set(state);
    rlim_t before = set_limit(32);
    int wrong = 0;

    for (uint32_t round = 0; round < 3; round++)
        for (uint32_t id = 0; id < 70; id++)
            wrong += read_some(set, id, round, NULL) != STK_OK;
    wrong += read_by_threads(set);
    set_limit(before);
    assert_int_equal(wrong, 0);
    assert_true(stk__file_set_count(set) < 32);
    stk__file_set_free(set);
}

static void threads_read_what_is_there(void **state)
{
    stk__file_set *set = new_set(state);

    assert_int_equal(read_by_threads(set), 0);
    stk__file_set_free(set);
}

static void a_limit_that_leaves_nothing_is_named(void **state)
{
    stk__file_set *set = new_set(state);
    stk_error err = STK_ERROR_INIT;
    int spare = dup(0), used = 0, held[64];
    rlim_t before;
    stk_status st;

    assert_int_equal(read_some(set, 0, 0, NULL), STK_OK);
    before = set_limit((rlim_t)spare + 20);
    while (used < 64 && (held[used] = dup(0)) >= 0)
        used++;
    assert_int_equal(read_some(set, 1, 0, NULL), STK_OK); /* in the place of file 0 */
    assert_int_equal(stk__file_set_count(set), 1);
    assert_int_equal(read_some(set, 1, 0, NULL), STK_OK);
    stk__file_set_free(set);
    held[used] = dup(0);
    used++;
    set = new_set(state);
    st = read_some(set, 2, 0, &err);
    set_limit(before);
    while (used > 0)
        close(held[--used]);
    close(spare);
    assert_int_equal(st, STK_ESOURCE);
    assert_int_equal(err.os_errno, EMFILE);
    assert_non_null(strstr(err.text, "of which this dataset holds 0"));
    assert_non_null(strstr(err.source, "/2"));
    stk__file_set_free(set);
}

static void tells_files_that_changed(void **state)
{
    stk__file_set *set = new_set(state);
    stk__file_want want = {.id = 3, .offset = 990, .indexed_bytes = 1010};
    stk_error err = STK_ERROR_INIT;
    char bytes[20];

    assert_int_equal(
        stk__file_set_read(set, &want, (stk_span){bytes, sizeof bytes}, &err), STK_ECORRUPT);
    assert_string_equal(err.text, "file is shorter than its index says (1000 of 1010 bytes); it "
                                  "changed after it was indexed");
    want = (stk__file_want){.id = 4, .indexed_bytes = 999, .exact = true};
    err = (stk_error)STK_ERROR_INIT;
    assert_int_equal(
        stk__file_set_read(set, &want, (stk_span){bytes, sizeof bytes}, &err), STK_ECORRUPT);
    assert_non_null(strstr(err.text, "longer than its index says (1000 of 999 bytes)"));
    want.id = 1234567;
    err = (stk_error)STK_ERROR_INIT;
    assert_int_equal(
        stk__file_set_read(set, &want, (stk_span){bytes, sizeof bytes}, &err), STK_ESOURCE);
    assert_int_equal(err.os_errno, ENOENT);
    stk__file_set_free(set);
}

/* What the page cache holds is read without waiting; what is not there says so. */
static void try_read_reads_or_says_again(void **state)
{
    stk__file_set *set = new_set(state);
    stk__file_want want = {.id = 5, .offset = 0, .indexed_bytes = BYTES};
    unsigned char bytes[BYTES];
    stk_status st;

    assert_int_equal(read_some(set, 5, 0, NULL), STK_OK);
    st = stk__file_set_try_read(set, &want, (stk_span){bytes, sizeof bytes}, NULL);
    assert_true(st == STK_OK || st == STK_AGAIN); /* some file systems cannot tell */
    if (st == STK_OK)
        assert_int_equal(bytes[999], byte_of(5, 999));
    want.offset = 995;
    assert_int_equal(stk__file_set_try_read(set, &want, (stk_span){bytes, 10}, NULL), STK_AGAIN);
    want.id = 1234567;
    assert_int_equal(stk__file_set_try_read(set, &want, (stk_span){bytes, 10}, NULL), STK_ESOURCE);
    stk__file_set_free(set);
}

typedef struct noise {
    stk__file_set *set;
    stk__atomic_u32 stop;
    stk__atomic_u32 wrong;
} noise;

static void *make_noise(void *ctx)
{
    noise *n = ctx;

    for (uint32_t id = 0; stk__load_acquire_u32(&n->stop) == 0; id = (id + 1) % FILES)
        if (read_some(n->set, id, 0, NULL) != STK_OK)
            stk__add_relaxed_u32(&n->wrong, 1);
    return NULL;
}

/* Locks may be held at any moment of a fork: the child must not wait for them. */
static void a_forked_child_goes_on_reading(void **state)
{
    noise n = {0};
    pthread_t threads[3];
    int failed = 0;

    if (UNDER_TSAN)
        skip();
    n.set = new_set(state);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_noise, &n), 0);
    for (int round = 0; round < 60; round++) {
        pid_t pid = fork();
        int status = 1;

        if (pid == 0) {
            alarm(20); /* a child that waits for ever is ended, and seen */
            for (uint32_t id = 0; id < FILES; id++)
                if (read_some(n.set, id, 1, NULL) != STK_OK)
                    _exit(1);
            _exit(read_by_threads(n.set) == 0 ? 0 : 2);
        }
        assert_true(waitpid(pid, &status, 0) == pid);
        failed += status != 0;
    }
    stk__store_release_u32(&n.stop, 1);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failed, 0);
    assert_int_equal(stk__load_acquire_u32(&n.wrong), 0);
    stk__file_set_free(n.set);
}

#define WITH_FILES(test) cmocka_unit_test_setup_teardown(test, make_files, remove_files)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILES(keeps_few_files_open_however_many_there_are),
        WITH_FILES(the_least_recently_used_makes_room),
        WITH_FILES(seventy_files_are_read_under_a_limit_of_32),
        WITH_FILES(threads_read_what_is_there),
        WITH_FILES(a_limit_that_leaves_nothing_is_named),
        WITH_FILES(tells_files_that_changed),
        WITH_FILES(try_read_reads_or_says_again),
        WITH_FILES(a_forked_child_goes_on_reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
