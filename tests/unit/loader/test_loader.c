/* Without these: samples are lost or doubled, order depends on threads, kept batches are
 * overwritten. */
#include <sys/wait.h>

#include "support/loader_kit.h"

enum { COUNT = 103, PER_SHARD = 20, ROOM = 4 * COUNT };

static void every_sample_comes_once_and_in_one_order_for_any_threads(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, PER_SHARD, NULL, 0);
    static const stk_shuffle orders[] = {STK_SHUFFLE_NONE, STK_SHUFFLE_FULL, STK_SHUFFLE_SHARDS};
    static const int32_t threads[] = {0, 1, 4};
    (void)state;

    for (size_t o = 0; o < COUNT_OF(orders); o++) {
        int64_t first[2][ROOM], labels[ROOM];
        bool seen[COUNT] = {false};

        for (size_t t = 0; t < COUNT_OF(threads); t++) {
            stk_field_spec fields[2];
            stk_loader_options options;
            stk_loader *loader;

            numbered_fields(fields, &options);
            options.shuffle = orders[o];
            options.shuffle_window = 2;
            options.batch_size = 8;
            options.threads = threads[t];
            options.seed = 7;
            loader = open_numbered(dataset, &options);
            for (int epoch = 0; epoch < 2; epoch++) {
                size_t count = rest_of_epoch(loader, t == 0 ? first[epoch] : labels, NULL, NULL);
                assert_int_equal(count, COUNT);
                if (t > 0)
                    assert_memory_equal(labels, first[epoch], COUNT * sizeof labels[0]);
            }
            assert_int_equal(stk_loader_epoch(loader), 2);
            stk_loader_close(loader);
        }
        for (size_t i = 0; i < COUNT; i++) {
            assert_false(seen[first[1][i]]);
            seen[first[1][i]] = true;
        }
        if (orders[o] == STK_SHUFFLE_NONE)
            assert_int_equal(first[0][5], 5);
        else
            assert_memory_not_equal(first[0], first[1], COUNT * sizeof labels[0]);
    }
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

/* The very same, with every read by way of the I/O threads. */
static void reads_that_wait_change_nothing(void **state)
{
    char *folder = make_temp_folder();
    static const unsigned bad[] = {50};
    stk_dataset *dataset = numbered(folder, COUNT, PER_SHARD, bad, 1);
    stk_field_spec fields[2];
    stk_loader_options options;
    stk_loader_stats stats;
    int64_t warm[ROOM], cold[ROOM];
    (void)state;

    numbered_fields(fields, &options);
    options.shuffle = STK_SHUFFLE_FULL;
    options.batch_size = 7;
    options.threads = 3;
    options.on_error = STK_ON_ERROR_SKIP;
    stk_loader *loader = open_numbered(dataset, &options);
    rest_of_epoch(loader, warm, NULL, NULL);
    stk_loader_close(loader);
    assert_int_equal(setenv("STOKER_READ", "threads", 1), 0);
    loader = open_numbered(dataset, &options);
    assert_int_equal(unsetenv("STOKER_READ"), 0);
    for (int epoch = 0; epoch < 3; epoch++) {
        assert_int_equal(stk_loader_set_epoch(loader, 0, NULL), STK_OK);
        assert_int_equal(rest_of_epoch(loader, cold, NULL, NULL), COUNT - 1);
        assert_memory_equal(cold, warm, (COUNT - 1) * sizeof cold[0]);
    }
    stk_loader_get_stats(loader, &stats);
    assert_true(stats.cold_reads > 0);
    assert_int_equal(stk_loader_set_epoch(loader, 5, NULL), STK_OK); /* and dropped in mid-flight */
    stk_loader_close(loader);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

static void ranks_share_one_order(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, PER_SHARD, NULL, 0);
    stk_field_spec fields[2];
    stk_loader_options options;
    int64_t alone[ROOM], ranks[4][ROOM];
    size_t sizes[4][64], batches[4], at[4] = {0}, expected = 0;
    stk_loader *loader;
    (void)state;

    numbered_fields(fields, &options);
    options.shuffle = STK_SHUFFLE_FULL;
    options.batch_size = 12;
    loader = open_numbered(dataset, &options);
    assert_int_equal(rest_of_epoch(loader, alone, NULL, NULL), COUNT);
    stk_loader_close(loader);
    options.batch_size = 3;
    options.world_size = 4;
    for (uint32_t rank = 0; rank < 4; rank++) {
        options.rank = rank;
        loader = open_numbered(dataset, &options);
        rest_of_epoch(loader, ranks[rank], sizes[rank], &batches[rank]);
        assert_int_equal(batches[rank], stk_loader_steps(loader));
        assert_int_equal(batches[rank], batches[0]);
        stk_loader_close(loader);
    }
    for (size_t step = 0; step < batches[0]; step++) { /* all ranks of a step, in rank order */
        for (uint32_t rank = 0; rank < 4; rank++) {
            for (size_t i = 0; i < sizes[rank][step]; i++)
                assert_int_equal(ranks[rank][at[rank]++], alone[expected++]);
        }
    }
    assert_int_equal(expected, COUNT);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

static void a_kept_batch_is_never_overwritten(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, PER_SHARD, NULL, 0);
    stk_field_spec fields[2];
    stk_loader_options options;
    stk_batch *kept[11];
    (void)state;

    numbered_fields(fields, &options);
    options.batch_size = 10;
    options.threads = 2;
    stk_loader *loader = open_numbered(dataset, &options);
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        assert_int_equal(stk_loader_next(loader, &kept[i], NULL), STK_OK);
    stk_loader_close(loader); /* batches outlive it */
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        int64_t labels[10];
        size_t count = append_labels(kept[i], labels, 0);
        for (size_t k = 0; k < count; k++)
            assert_int_equal(labels[k], i * 10 + k);
        stk_batch_unref(kept[i]);
    }
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

static void steady_state_allocates_nothing(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, PER_SHARD, NULL, 0);
    stk_field_spec fields[2];
    stk_loader_options options;
    stk_loader_stats before, after;
    int64_t labels[ROOM];
    (void)state;

    numbered_fields(fields, &options);
    options.shuffle = STK_SHUFFLE_FULL;
    options.batch_size = 10;
    options.threads = 2;
    stk_loader *loader = open_numbered(dataset, &options);
    for (int epoch = 0; epoch < 3; epoch++)
        rest_of_epoch(loader, labels, NULL, NULL);
    stk_loader_get_stats(loader, &before);
    for (int epoch = 0; epoch < 20; epoch++)
        rest_of_epoch(loader, labels, NULL, NULL);
    stk_loader_get_stats(loader, &after);
    assert_int_equal(after.allocations, before.allocations);
    assert_int_equal(after.memory_peak_bytes, before.memory_peak_bytes);
    stk_loader_close(loader);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

static void at_computes_any_sample_again(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, PER_SHARD, NULL, 0);
    stk_field_spec fields[2];
    stk_loader_options options;
    int64_t labels[ROOM], one[1];
    stk_batch *batch;
    (void)state;

    numbered_fields(fields, &options);
    options.shuffle = STK_SHUFFLE_FULL;
    options.batch_size = 10;
    stk_loader *loader = open_numbered(dataset, &options);
    rest_of_epoch(loader, labels, NULL, NULL);
    for (uint64_t i = 0; i < COUNT; i += 7) {
        uint64_t sample;
        assert_int_equal(stk_loader_at(loader, 0, i, &batch, NULL), STK_OK);
        append_labels(batch, one, 0);
        stk_batch_unref(batch);
        assert_int_equal(one[0], labels[i]);
        assert_int_equal(stk_loader_order(loader, 0, i, &sample, NULL), STK_OK);
        assert_int_equal(sample, labels[i]);
    }
    assert_int_equal(stk_loader_at(loader, 0, COUNT, &batch, NULL), STK_ERANGE);
    stk_loader_close(loader);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

static void a_forked_child_is_told_and_does_not_hang(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, PER_SHARD, NULL, 0);
    stk_field_spec fields[2];
    stk_loader_options options;
    stk_batch *batch, *kept;
    (void)state;

    numbered_fields(fields, &options);
    options.batch_size = 10;
    options.threads = 2;
    stk_loader *loader = open_numbered(dataset, &options);
    assert_int_equal(stk_loader_next(loader, &kept, NULL), STK_OK);
    for (int i = 0; i < 20; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            stk_error err = STK_ERROR_INIT;
            alarm(10);
            bool told = stk_loader_next(loader, &batch, &err) == STK_EFORK;
            stk_batch_unref(kept);
            stk_loader_close(loader);
            _exit(told && strstr(err.text, "forked") != NULL ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    stk_batch_unref(kept);
    stk_loader_close(loader);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

static void a_timed_wait_answers_again_and_loses_nothing(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, PER_SHARD, NULL, 0);
    stk_field_spec fields[2];
    stk_loader_options options;
    int64_t labels[ROOM];
    size_t count = 0;
    stk_status st;
    (void)state;

    numbered_fields(fields, &options);
    options.batch_size = 10;
    options.threads = 1;
    stk_loader *loader = open_numbered(dataset, &options);
    do {
        stk_batch *batch = NULL;
        st = stk_loader_next_timed(loader, 0, &batch, NULL);
        if (st == STK_OK) {
            count = append_labels(batch, labels, count);
            stk_batch_unref(batch);
        }
    } while (st == STK_OK || st == STK_AGAIN);
    assert_int_equal(st, STK_END);
    assert_int_equal(count, COUNT);
    stk_loader_close(loader);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

static void closing_and_restarting_at_any_moment_is_clean(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, PER_SHARD, NULL, 0);
    stk_field_spec fields[2];
    stk_loader_options options;
    rng r = rng_seed();
    (void)state;

    numbered_fields(fields, &options);
    options.batch_size = 4;
    options.threads = 3;
    for (int round = 0; round < 60; round++) {
        stk_loader *loader = open_numbered(dataset, &options);
        uint64_t takes = rng_below(&r, 30);
        for (uint64_t i = 0; i < takes; i++) {
            stk_batch *batch = NULL;
            if (stk_loader_next(loader, &batch, NULL) == STK_OK)
                stk_batch_unref(batch);
            if (rng_below(&r, 5) == 0)
                assert_int_equal(stk_loader_set_epoch(loader, rng_below(&r, 3), NULL), STK_OK);
        }
        stk_loader_close(loader);
    }
    stk_loader_close(NULL);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_comes_once_and_in_one_order_for_any_threads),
        cmocka_unit_test(reads_that_wait_change_nothing),
        cmocka_unit_test(ranks_share_one_order),
        cmocka_unit_test(a_kept_batch_is_never_overwritten),
        cmocka_unit_test(steady_state_allocates_nothing),
        cmocka_unit_test(at_computes_any_sample_again),
        cmocka_unit_test(a_forked_child_is_told_and_does_not_hang),
        cmocka_unit_test(a_timed_wait_answers_again_and_loses_nothing),
        cmocka_unit_test(closing_and_restarting_at_any_moment_is_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
