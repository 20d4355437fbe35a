/* Without these: "is it the data?" is answered with wrong figures. */
#include <time.h>

#include "support/loader_kit.h"

enum { COUNT = 103 };

static void figures_add_up(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, 20, NULL, 0);
    stk_field_spec fields[2];
    stk_loader_options options;
    stk_loader_stats stats;
    int64_t labels[4 * COUNT];
    (void)state;

    numbered_fields(fields, &options);
    options.batch_size = 10;
    options.threads = 0;
    stk_loader *loader = open_numbered(dataset, &options);
    stk_loader_get_stats(loader, &stats);
    assert_int_equal(stats.limit, STK_STAGE_NONE);
    rest_of_epoch(loader, labels, NULL, NULL);
    stk_loader_get_stats(loader, &stats);
    assert_int_equal(stats.samples, COUNT);
    assert_int_equal(stats.batches, 11);
    assert_int_equal(stats.stages[STK_STAGE_PLAN].count, 11);
    assert_int_equal(stats.stages[STK_STAGE_DELIVER].count, 11);
    assert_true(stats.stages[STK_STAGE_READ].count >= 11);
    assert_true(stats.stages[STK_STAGE_READ].bytes > COUNT);
    assert_true(stats.first_batch_ns > 0 && stats.first_batch_ns <= stats.elapsed_ns);
    assert_true(stats.wait_ns <= stats.elapsed_ns);
    assert_int_equal(stats.threads, 0);
    assert_true(stats.verdict[0] != '\0');
    stk_loader_close(loader);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

static void a_slow_consumer_is_named_as_the_limit(void **state)
{
    const struct timespec train = {.tv_nsec = 3000000};
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, 20, NULL, 0);
    stk_field_spec fields[2];
    stk_loader_options options;
    stk_loader_stats stats;
    stk_batch *batch;
    (void)state;

    numbered_fields(fields, &options);
    options.batch_size = 2;
    options.threads = 1;
    stk_loader *loader = open_numbered(dataset, &options);
    while (stk_loader_next(loader, &batch, NULL) == STK_OK) {
        nanosleep(&train, NULL); /* interrupted early: still slow */
        stk_batch_unref(batch);
    }
    stk_loader_get_stats(loader, &stats);
    if (stats.wait_ns < stats.elapsed_ns / 20) /* unless the machine gave the thread no time */
        assert_int_equal(stats.limit, STK_STAGE_DELIVER);
    stk_loader_close(loader);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

static void what_is_waited_for_is_said(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, 20, NULL, 0);
    stk_field_spec fields[2];
    stk_loader_options options;
    stk_batch *batch;
    char line[256], short_line[8];
    (void)state;

    numbered_fields(fields, &options);
    options.batch_size = 10;
    options.threads = 1;
    stk_loader *loader = open_numbered(dataset, &options);
    assert_int_equal(stk_loader_next(loader, &batch, NULL), STK_OK);
    stk_batch_unref(batch);
    assert_true(stk_loader_waits_for(loader, line, sizeof line) > 0);
    assert_non_null(strstr(line, "step 1 of epoch 0"));
    assert_int_equal(stk_loader_waits_for(loader, short_line, sizeof short_line), 7);
    assert_int_equal(stk_loader_waits_for(loader, NULL, 0), 0);
    stk_loader_close(loader);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_add_up),
        cmocka_unit_test(a_slow_consumer_is_named_as_the_limit),
        cmocka_unit_test(what_is_waited_for_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
