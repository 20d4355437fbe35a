/* Without these: which of two damaged shards is named depends on the number of threads, an index is
 * made anew at each opening, and a dataset that was moved is another one to a saved state. */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <stoker/dataset.h>

#include "dataset/dataset.h"
#include "support/describe.h"
#include "support/make_tar.h"
#include "support/temp_tree.h"
#include "support/test.h"

enum { SHARDS = 70, SAMPLES = 5 };

/* Seventy shards of five samples: sample n has the text n. */
static void save_shards(const char *place, const char *folder)
{
    char path[600], name[32], text[16];

    make_folder(in_folder(place, folder));
    for (int shard = 0; shard < SHARDS; shard++) {
        made_tar t = {0};

        for (int i = 0; i < SAMPLES; i++) {
            snprintf(name, sizeof name, "%05d.txt", shard * SAMPLES + i);
            snprintf(text, sizeof text, "%d", shard * SAMPLES + i);
            tar_text(&t, name, text);
        }
        tar_end(&t);
        snprintf(path, sizeof path, "%s/%s/s-%03d.tar", place, folder, shard);
        save_file(path, t.data, t.size);
        tar_free(&t);
    }
}

static int make_place(void **state)
{
    *state = make_temp_folder();
    setenv("XDG_CACHE_HOME", in_folder(*state, ".cache"), 1);
    save_shards(*state, "d");
    return 0;
}

static int remove_place(void **state)
{
    remove_tree(*state);
    return 0;
}

static stk_status open_shards(
    void **state, const stk_dataset_options *options, stk_dataset **out, stk_error *err)
{
    const char *where = in_folder(*state, "d/s-{000..069}.tar");

    *out = NULL;
    return stk_dataset_open(&where, 1, options, out, err);
}

static int read_number(const stk_dataset *ds, uint64_t sample)
{
    char text[16] = "";
    stk_sample_field field;

    if (stk_dataset_sample_field(ds, sample, 0, &field, NULL) != STK_OK ||
        field.size_bytes >= sizeof text ||
        stk_dataset_read(ds, field.source, field.offset, (stk_span){text, (size_t)field.size_bytes},
            NULL) != STK_OK)
        return -1;
    return atoi(text);
}

static void assert_is_all_there(const stk_dataset *ds)
{
    stk_sample sample;

    assert_int_equal(stk_dataset_count(ds), SHARDS * SAMPLES);
    assert_int_equal(stk_dataset_shard_count(ds), SHARDS);
    for (uint64_t i = 0; i < SHARDS * SAMPLES; i++) {
        assert_int_equal(read_number(ds, i), i);
        assert_int_equal(stk_dataset_sample(ds, i, &sample, NULL), STK_OK);
        assert_int_equal(sample.shard, i / SAMPLES);
    }
}

static void any_number_of_threads_makes_the_same_dataset(void **state)
{
    uint64_t print[2], first[2] = {0, 0};

    for (int32_t threads = 0; threads <= 9; threads += 3) {
        stk_dataset_options options = STK_DATASET_OPTIONS_INIT;
        stk_dataset *ds;

        options.threads = threads;
        options.index = STK_INDEX_MEMORY;
        assert_int_equal(open_shards(state, &options, &ds, NULL), STK_OK);
        assert_is_all_there(ds);
        stk_dataset_fingerprint(ds, print);
        if (threads == 0)
            memcpy(first, print, sizeof first);
        assert_memory_equal(print, first, sizeof first);
        stk_dataset_unref(ds);
    }
    assert_int_equal(count_entries(in_folder(*state, "d")), SHARDS); /* memory only */
}

static void the_first_damaged_shard_is_the_one_named(void **state)
{
    static const int damaged[] = {61, 17, 40, 18};
    char path[600];

    for (size_t i = 0; i < COUNT_OF(damaged); i++) {
        snprintf(path, sizeof path, "%s/d/s-%03d.tar", (char *)*state, damaged[i]);
        assert_int_equal(truncate(path, 1000), 0);
    }
    for (int32_t threads = 1; threads <= 8; threads++) {
        stk_dataset_options options = STK_DATASET_OPTIONS_INIT;
        stk_error err = STK_ERROR_INIT;
        stk_dataset *ds;

        options.threads = threads;
        assert_int_equal(open_shards(state, &options, &ds, &err), STK_ECORRUPT);
        assert_null(ds);
        assert_string_equal(err.shard, "s-017.tar");
    }
}

static void the_modes_of_indexes(void **state)
{
    stk_dataset_options options = STK_DATASET_OPTIONS_INIT;
    stk_error err = STK_ERROR_INIT;
    struct stat before, after;
    const char *index = in_folder(*state, "d/s-007.tar.stoker");
    stk_dataset *ds;

    options.index = STK_INDEX_REQUIRE;
    assert_int_equal(open_shards(state, &options, &ds, &err), STK_EINDEX);
    assert_string_equal(err.shard, "s-000.tar");
    options.index = STK_INDEX_AUTO;
    assert_int_equal(open_shards(state, &options, &ds, NULL), STK_OK);
    assert_is_all_there(ds);
    stk_dataset_unref(ds);
    assert_int_equal(stat(index, &before), 0);
    options.index = STK_INDEX_REQUIRE;
    assert_int_equal(open_shards(state, &options, &ds, NULL), STK_OK);
    assert_is_all_there(ds);
    assert_int_equal(stk_dataset_check_index(ds, NULL), STK_OK);
    stk_dataset_unref(ds);
    assert_int_equal(stat(index, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino); /* it was used, not made */
    options.index = STK_INDEX_REBUILD;
    assert_int_equal(open_shards(state, &options, &ds, NULL), STK_OK);
    stk_dataset_unref(ds);
    assert_int_equal(stat(index, &after), 0);
    assert_int_not_equal(before.st_ino, after.st_ino);

    assert_int_equal(unlink(index), 0);
    make_folder(index); /* in the way */
    make_folder(in_folder(*state, "d/s-007.tar.stoker/in"));
    setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
    assert_int_equal(open_shards(state, &options, &ds, &err), STK_ESOURCE);
    options.index = STK_INDEX_AUTO;
    assert_int_equal(open_shards(state, &options, &ds, NULL), STK_OK); /* it stays in memory */
    assert_is_all_there(ds);
    stk_dataset_unref(ds);
}

/* A damaged section is not seen when it is opened, is never followed out of the index, and is found
 * by the check. */
static void a_damaged_section_is_an_error_of_the_index(void **state)
{
    stk_error err = STK_ERROR_INIT;
    char index[600];
    stk_dataset_options options = STK_DATASET_OPTIONS_INIT;
    stk_dataset *ds;
    unsigned char *bytes;
    size_t size;

    snprintf(index, sizeof index, "%s/d/s-000.tar.stoker", (char *)*state);
    assert_int_equal(open_shards(state, NULL, &ds, NULL), STK_OK);
    stk_dataset_unref(ds);
    bytes = load_file(index, &size);
    options.index = STK_INDEX_REQUIRE;
    for (size_t at = 384; at < size; at += 7) { /* behind head and table */
        bytes[at] ^= 0x10;
        save_file(index, bytes, size);
        if (open_shards(state, &options, &ds, &err) >= 0) { /* padding between sections */
            for (uint64_t i = 0; i < SAMPLES; i++)
                assert_int_equal(read_number(ds, i), i);
            stk_dataset_unref(ds);
        } else {
            assert_int_equal(err.status, STK_EINDEX);
        }
        bytes[at] ^= 0x10;
    }
    bytes[size - 1] ^= 0xff;
    save_file(index, bytes, size);
    assert_int_equal(open_shards(state, &options, &ds, &err), STK_EINDEX);
    assert_int_equal(open_shards(state, NULL, &ds, &err), STK_OK); /* and is made anew */
    for (uint64_t i = 0; i < SAMPLES; i++)
        assert_int_equal(read_number(ds, i), i);
    assert_int_equal(stk_dataset_check_index(ds, &err), STK_OK);
    stk_dataset_unref(ds);
    free(bytes);
}

static void a_moved_dataset_keeps_its_fingerprint(void **state)
{
    const char *where[2];
    uint64_t before[2], after[2];
    stk_dataset *ds;

    assert_int_equal(open_shards(state, NULL, &ds, NULL), STK_OK);
    stk_dataset_fingerprint(ds, before);
    stk_dataset_unref(ds);
    assert_int_equal(rename(in_folder(*state, "d"), in_folder(*state, "moved")), 0);
    where[0] = in_folder(*state, "moved");
    assert_int_equal(stk_dataset_open(where, 1, NULL, &ds, NULL), STK_OK);
    stk_dataset_fingerprint(ds, after);
    stk_dataset_unref(ds);
    assert_memory_equal(before, after, sizeof before);

    where[0] = in_folder(*state, "moved/s-{001..069}.tar"); /* another order is another dataset */
    where[1] = in_folder(*state, "moved/s-000.tar");
    assert_int_equal(stk_dataset_open(where, 2, NULL, &ds, NULL), STK_OK);
    stk_dataset_fingerprint(ds, after);
    stk_dataset_unref(ds);
    assert_memory_not_equal(before, after, sizeof before);
}

/* C88 */
static void seventy_shards_are_read_under_a_limit_of_32(void **state)
{
    struct rlimit limit, lower;
    stk_dataset *ds;
    int before = fd_count();

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    lower = limit;
    lower.rlim_cur = 32;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &lower), 0);
    assert_int_equal(open_shards(state, NULL, &ds, NULL), STK_OK);
    for (int epoch = 0; epoch < 10; epoch++)
        assert_is_all_there(ds);
    stk_dataset_unref(ds);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(fd_count(), before);
}

typedef struct user {
    stk_dataset *ds;
    uint64_t seed;
    int wrong;
} user;

static void *use(void *ctx)
{
    user *mine = ctx;
    rng r = {mine->seed};
    char key[16];

    for (int i = 0; i < 2000; i++) {
        uint64_t sample = rng_below(&r, SHARDS * SAMPLES), found = 0;

        snprintf(key, sizeof key, "%05d", (int)sample);
        mine->wrong += read_number(mine->ds, sample) != (int)sample;
        mine->wrong += stk_dataset_find(mine->ds, (stk_view){key, 5}, &found, NULL) != STK_OK ||
                       found != sample;
    }
    return NULL;
}

static int use_by_threads(stk_dataset *ds)
{
    pthread_t threads[4];
    user users[4];
    int wrong = 0;

    for (unsigned i = 0; i < 4; i++) {
        users[i] = (user){.ds = stk_dataset_ref(ds), .seed = i};
        assert_int_equal(pthread_create(&threads[i], NULL, use, &users[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        stk_dataset_unref(ds);
        wrong += users[i].wrong;
    }
    return wrong;
}

static void threads_may_share_it(void **state)
{
    stk_dataset *ds;

    assert_int_equal(open_shards(state, NULL, &ds, NULL), STK_OK);
    assert_int_equal(use_by_threads(ds), 0);
    stk_dataset_unref(ds);
}

static void children_of_fork_may_share_it_too(void **state)
{
    stk_dataset *ds;
    pthread_t thread;
    user noise;
    int failed = 0;

    if (UNDER_TSAN)
        skip();
    assert_int_equal(open_shards(state, NULL, &ds, NULL), STK_OK);
    noise = (user){.ds = ds, .seed = 99};
    assert_int_equal(pthread_create(&thread, NULL, use, &noise), 0);
    for (int round = 0; round < 10; round++) {
        pid_t pid = fork();
        int status = 1;

        if (pid == 0) {
            alarm(30); /* a child that waits for ever is ended, and seen */
            _exit(use_by_threads(ds) == 0 ? 0 : 1);
        }
        assert_true(waitpid(pid, &status, 0) == pid);
        failed += status != 0;
    }
    pthread_join(thread, NULL);
    assert_int_equal(failed, 0);
    assert_int_equal(noise.wrong, 0);
    assert_int_equal(use_by_threads(ds), 0);
    stk_dataset_unref(ds);
}

static void options_out_of_range_are_named(void **state)
{
    stk_dataset_options options = STK_DATASET_OPTIONS_INIT;
    stk_error err = STK_ERROR_INIT;
    stk_dataset *ds;

    options.threads = -1;
    assert_int_equal(open_shards(state, &options, &ds, &err), STK_EINVAL);
    assert_non_null(strstr(err.text, "threads"));
    options.struct_bytes = 0;
    assert_int_equal(open_shards(state, &options, &ds, &err), STK_EINVAL);
    assert_non_null(strstr(err.text, "struct_bytes"));
    options.struct_bytes = offsetof(stk_dataset_options, threads); /* an older caller's */
    options.index = STK_INDEX_MEMORY;
    assert_int_equal(open_shards(state, &options, &ds, &err), STK_OK);
    assert_false(file_exists(in_folder(*state, "d/s-000.tar.stoker")));
    stk_dataset_unref(ds);
    options.struct_bytes = sizeof options;
    options.threads = 0;
    options.index = (stk_index_mode)17;
    assert_int_equal(open_shards(state, &options, &ds, &err), STK_EINVAL);
    assert_non_null(strstr(err.text, "index"));
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(any_number_of_threads_makes_the_same_dataset),
        WITH_PLACE(the_first_damaged_shard_is_the_one_named),
        WITH_PLACE(the_modes_of_indexes),
        WITH_PLACE(a_damaged_section_is_an_error_of_the_index),
        WITH_PLACE(a_moved_dataset_keeps_its_fingerprint),
        WITH_PLACE(seventy_shards_are_read_under_a_limit_of_32),
        WITH_PLACE(threads_may_share_it),
        WITH_PLACE(children_of_fork_may_share_it_too),
        WITH_PLACE(options_out_of_range_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
