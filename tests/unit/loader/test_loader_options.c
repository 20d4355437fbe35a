/* Without this: a misspelt option is found out after hours of training, or never. */
#include "support/loader_kit.h"

enum { PER_SHARD = 20 };

static void options_out_of_range_are_named(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, 5, PER_SHARD, NULL, 0);
    stk_field_spec fields[2];
    stk_loader_options good, options;
    stk_loader *loader = NULL;
    stk_error err = STK_ERROR_INIT;
    (void)state;

    numbered_fields(fields, &good);
#define REFUSED(change, word)                                                                \
    options = good;                                                                          \
    change;                                                                                  \
    assert_int_equal(stk_loader_open_dataset(dataset, &options, &loader, &err), STK_EINVAL); \
    assert_non_null(strstr(err.text, word));                                                 \
    assert_null(loader)
    REFUSED(options.batch_size = 0, "batch_size");
    REFUSED(options.rank = 1, "rank");
    REFUSED(options.world_size = 0, "world_size");
    REFUSED(options.prefetch = 0, "prefetch");
    REFUSED(options.threads = -2, "threads");
    REFUSED(options.io_threads = 65, "io_threads");
    REFUSED(options.memory_bytes = 1, "memory");
    REFUSED(options.max_error_rate = 2, "max_error_rate");
    REFUSED(options.shuffle = STK_SHUFFLE_WEIGHTED, "weights");
    REFUSED(options.tail = STK_TAIL_DROP, "drop");
    REFUSED((options.world_size = 6, options.batch_size = 1), "allow_empty");
    REFUSED(options.struct_bytes = 3, "INIT");
#undef REFUSED
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_out_of_range_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
