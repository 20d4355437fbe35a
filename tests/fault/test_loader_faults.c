/* Without this: one failed allocation, read or thread hangs a training job, or loses samples
 * silently. */
#include "base/fault.h"
#include "support/loader_kit.h"

enum { COUNT = 43, ROOM = 4 * COUNT };

/* One whole life of a loader. On success the labels of the epoch are checked. */
static stk_status life(stk_dataset *dataset, int32_t threads, stk_on_error policy, stk_error *err)
{
    stk_field_spec fields[2];
    stk_loader_options options;
    stk_loader *loader = NULL;
    stk_batch *batch;
    int64_t labels[ROOM];
    size_t count = 0;
    stk_status st;

    numbered_fields(fields, &options);
    options.batch_size = 8;
    options.threads = threads;
    options.io_threads = 2;
    options.on_error = policy;
    st = stk_loader_open_dataset(dataset, &options, &loader, err);
    if (st < 0) {
        assert_null(loader);
        return st;
    }
    while ((st = stk_loader_next(loader, &batch, err)) == STK_OK) {
        count = append_labels(batch, labels, count);
        stk_batch_unref(batch);
    }
    if (st == STK_END && policy == STK_ON_ERROR_RAISE) {
        assert_int_equal(count, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(labels[i], i);
    }
    if (st == STK_END && policy == STK_ON_ERROR_SKIP)
        assert_int_equal(count + stk_loader_damage_count(loader), COUNT);
    stk_loader_close(loader);
    return st;
}

static void fail_one_after_the_other(
    stk_dataset *dataset, stk__fault fault, int32_t threads, stk_on_error policy)
{
    int fds = fd_count();
    uint32_t nth = 0;
    bool struck;

    do {
        stk_error err = STK_ERROR_INIT;

        stk__fault_arm(fault, ++nth);
        stk_status st = life(dataset, threads, policy, &err);
        struck = stk__fault_disarm();
        if (!struck)
            assert_int_equal(st, STK_END);
        else
            assert_true(st == STK_END || st == STK_ENOMEM || st == STK_ESOURCE || st == STK_EBUSY);
        if (st < 0)
            assert_true(err.text[0] != '\0');
        assert_true(fd_count() <= fds + 4); /* the files of the dataset stay open */
    } while (struck && nth < 2000);
    assert_true(nth > 1 || fault == STK__FAULT_OPEN || fault == STK__FAULT_THREAD);
    assert_true(nth < 2000);
    print_message(
        "fault %d, %d threads, policy %d: %u points\n", (int)fault, threads, (int)policy, nth - 1);
}

static void a_loader_survives_every_fault(void **state)
{
    static const unsigned bad[] = {5, 30};
    static const stk__fault faults[] = {
        STK__FAULT_ALLOC, STK__FAULT_READ, STK__FAULT_OPEN, STK__FAULT_THREAD};
    char *folder = make_temp_folder(), *bad_folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, 20, NULL, 0);
    stk_dataset *damaged = numbered(bad_folder, COUNT, 20, bad, COUNT_OF(bad));
    (void)state;

    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        for (int32_t threads = 0; threads <= 2; threads += 2) {
            fail_one_after_the_other(dataset, faults[i], threads, STK_ON_ERROR_RAISE);
            fail_one_after_the_other(damaged, faults[i], threads, STK_ON_ERROR_SKIP);
            fail_one_after_the_other(damaged, faults[i], threads, STK_ON_ERROR_REPLACE);
        }
        assert_int_equal(setenv("STOKER_READ", "threads", 1), 0);
        fail_one_after_the_other(dataset, faults[i], 2, STK_ON_ERROR_RAISE);
        assert_int_equal(unsetenv("STOKER_READ"), 0);
    }
    stk_dataset_unref(dataset);
    stk_dataset_unref(damaged);
    remove_tree(folder);
    remove_tree(bad_folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loader_survives_every_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
