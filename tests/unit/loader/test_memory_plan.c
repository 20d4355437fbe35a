/* Without these: a loader finds out that its memory does not suffice in the middle of an epoch. */
#include "support/loader_kit.h"

enum { COUNT = 60 };

static void a_plan_that_does_not_fit_is_refused_before_the_first_sample(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, 20, NULL, 0);
    stk_field_spec fields[2];
    stk_loader_options options;
    stk_loader *loader = NULL;
    stk_error err = STK_ERROR_INIT;
    (void)state;

    numbered_fields(fields, &options);
    options.batch_size = 1u << 20;
    options.memory_bytes = 16u << 20;
    assert_int_equal(stk_loader_open_dataset(dataset, &options, &loader, &err), STK_ENOMEM);
    assert_null(loader);
    assert_non_null(strstr(err.text, "2 batches of "));
    assert_non_null(strstr(err.text, "memory is 16.0 MiB"));
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

static void prefetch_is_lowered_until_it_fits_and_the_ceiling_holds(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, 20, NULL, 0);
    stk_field_spec fields[2];
    stk_loader_options options;
    stk_loader_stats few, many;
    int64_t labels[4 * COUNT];
    (void)state;

    numbered_fields(fields, &options);
    options.batch_size = 10000;
    options.threads = 1;
    options.io_threads = 1;
    options.prefetch = 16;
    options.memory_bytes = 16u << 20;
    stk_loader *loader = open_numbered(dataset, &options);
    assert_int_equal(rest_of_epoch(loader, labels, NULL, NULL), COUNT);
    stk_loader_get_stats(loader, &few);
    assert_true(few.memory_peak_bytes <= options.memory_bytes);
    stk_loader_close(loader);
    options.memory_bytes = 1u << 30;
    loader = open_numbered(dataset, &options);
    stk_loader_get_stats(loader, &many);
    assert_int_equal(many.slots, 17);
    assert_true(few.slots < many.slots);
    stk_loader_close(loader);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

/* Kept batches take slots until the ceiling; then the consumer is told, and can go on. */
static void held_slots_end_in_busy_and_not_in_a_hang(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, 20, NULL, 0);
    stk_field_spec fields[2];
    stk_loader_options options;
    stk_batch *kept[COUNT];
    stk_error err = STK_ERROR_INIT;
    size_t count = 0;
    stk_status st = STK_OK;
    (void)state;

    for (int32_t threads = 0; threads <= 2; threads += 2) {
        numbered_fields(fields, &options);
        options.batch_size = 1;
        options.threads = threads;
        options.io_threads = 1;
        options.prefetch = 1;
        options.memory_bytes = 16u << 20;
        fields[1].source = "cls"; /* text rows of a few bytes */
        stk_loader *loader = open_numbered(dataset, &options);
        stk_loader_stats stats;
        stk_loader_get_stats(loader, &stats);
        assert_true(stats.memory_bytes < options.memory_bytes);
        stk_loader_close(loader);
        options.batch_size = (uint32_t)((options.memory_bytes - stats.memory_bytes) / 5 / 200);
        loader = open_numbered(dataset, &options);
        for (count = 0; count < COUNT; count++) {
            while ((st = stk_loader_next(loader, &kept[count], &err)) == STK_END)
                ;
            if (st != STK_OK)
                break;
        }
        assert_int_equal(st, STK_EBUSY);
        assert_true(count >= 1);
        assert_non_null(strstr(err.text, "held by the consumer"));
        for (int round = 0; round < 2000; round++) { /* other threads are at any point of failing */
            stk_batch_unref(kept[count - 1]);
            while ((st = stk_loader_next(loader, &kept[count - 1], &err)) == STK_END)
                ;
            assert_int_equal(st, STK_OK);
            while ((st = stk_loader_next(loader, &kept[count], &err)) == STK_END)
                ;
            assert_int_equal(st, STK_EBUSY);
            stk_loader_get_stats(loader, &stats);
            assert_int_equal(stats.slots_held, count); /* and not what a thread tries to get */
        }
        for (size_t i = 0; i < count; i++)
            stk_batch_unref(kept[i]);
        stk_loader_close(loader);
    }
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_that_does_not_fit_is_refused_before_the_first_sample),
        cmocka_unit_test(prefetch_is_lowered_until_it_fits_and_the_ceiling_holds),
        cmocka_unit_test(held_slots_end_in_busy_and_not_in_a_hang),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
