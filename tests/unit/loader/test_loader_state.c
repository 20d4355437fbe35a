/* Without these: a resumed run repeats or loses samples, or goes on with somebody else's data. */
#include "support/loader_kit.h"

enum { COUNT = 103, PER_SHARD = 20, ROOM = 4 * COUNT };

static void a_state_goes_on_with_the_next_sample(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, PER_SHARD, NULL, 0);
    stk_field_spec fields[2];
    stk_loader_options options;
    int64_t whole[ROOM], rest[ROOM];
    (void)state;

    numbered_fields(fields, &options);
    options.shuffle = STK_SHUFFLE_FULL;
    options.batch_size = 10;
    options.threads = 2;
    stk_loader *loader = open_numbered(dataset, &options);
    rest_of_epoch(loader, rest, NULL, NULL); /* epoch 0 */
    assert_int_equal(rest_of_epoch(loader, whole, NULL, NULL), COUNT);
    for (size_t taken = 0; taken <= 11; taken++) {
        stk_loader_state saved;
        stk_loader *other;

        assert_int_equal(stk_loader_set_epoch(loader, 1, NULL), STK_OK);
        for (size_t i = 0; i < taken; i++) {
            stk_batch *batch;
            assert_int_equal(stk_loader_next(loader, &batch, NULL), STK_OK);
            stk_batch_unref(batch);
        }
        stk_loader_get_state(loader, &saved);
        options.threads = (int32_t)(taken % 3);
        other = open_numbered(dataset, &options);
        assert_int_equal(stk_loader_set_state(other, &saved, NULL), STK_OK);
        size_t left = taken * 10 < COUNT ? COUNT - taken * 10 : 0;
        assert_int_equal(rest_of_epoch(other, rest, NULL, NULL), left);
        assert_memory_equal(rest, whole + (COUNT - left), left * sizeof rest[0]);
        stk_loader_close(other);
    }
    stk_loader_close(loader);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

static void a_state_of_something_else_is_refused(void **state)
{
    char *folder = make_temp_folder(), *other_folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, PER_SHARD, NULL, 0);
    stk_dataset *other_dataset = numbered(other_folder, COUNT + 1, PER_SHARD, NULL, 0);
    stk_field_spec fields[2];
    stk_loader_options options;
    stk_loader_state saved, bent;
    stk_error err = STK_ERROR_INIT;
    (void)state;

    numbered_fields(fields, &options);
    options.batch_size = 8;
    options.world_size = 2;
    stk_loader *loader = open_numbered(dataset, &options);
    stk_loader *other = open_numbered(other_dataset, &options);
    stk_loader_get_state(loader, &saved);
    assert_int_equal(stk_loader_set_state(other, &saved, &err), STK_ESTATE);
    assert_non_null(strstr(err.text, "belongs to dataset"));
    bent = saved;
    bent.seed++;
    assert_int_equal(stk_loader_set_state(loader, &bent, NULL), STK_ESTATE);
    bent = saved;
    bent.version++;
    assert_int_equal(stk_loader_set_state(loader, &bent, NULL), STK_ESTATE);
    bent = saved;
    bent.position = 5;
    assert_int_equal(stk_loader_set_state(loader, &bent, NULL), STK_ESTATE);
    bent = saved;
    bent.batch_size = 4; /* another global batch */
    assert_int_equal(stk_loader_set_state(loader, &bent, NULL), STK_ESTATE);
    bent.world_size = 4; /* the same again: elastic */
    assert_int_equal(stk_loader_set_state(loader, &bent, NULL), STK_OK);
    bent.skipped = 1;
    assert_int_equal(stk_loader_set_state(loader, &bent, NULL), STK_ESTATE);
    stk_loader_close(other);
    stk_loader_close(loader);
    stk_dataset_unref(other_dataset);
    stk_dataset_unref(dataset);
    remove_tree(other_folder);
    remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_goes_on_with_the_next_sample),
        cmocka_unit_test(a_state_of_something_else_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
