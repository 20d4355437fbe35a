/* Without these: a damaged sample ends a run that asked to go on, or samples vanish without
 * account. */
#include "support/loader_kit.h"

enum { COUNT = 50, ROOM = 4 * COUNT };

static const unsigned bad[] = {3, 4, 17, 48, 49};

static void skip_fills_from_the_end_and_counts(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, 20, bad, COUNT_OF(bad));
    static const int32_t threads[] = {0, 1, 4};
    (void)state;

    for (size_t t = 0; t < COUNT_OF(threads); t++) {
        stk_field_spec fields[2];
        stk_loader_options options;
        int64_t labels[ROOM];
        size_t sizes[16], batches;
        stk_damage damage;

        numbered_fields(fields, &options);
        options.batch_size = 8;
        options.on_error = STK_ON_ERROR_SKIP;
        options.threads = threads[t];
        stk_loader *loader = open_numbered(dataset, &options);
        for (int epoch = 0; epoch < 2; epoch++) {
            assert_int_equal(rest_of_epoch(loader, labels, sizes, &batches), COUNT - 5);
            assert_int_equal(batches, 6);
            assert_int_equal(sizes[0], 8);
            assert_int_equal(sizes[5], 5);
            assert_int_equal(labels[3], 47); /* 49 and 48 were tried, and are damaged themselves */
            assert_int_equal(labels[4], 46);
            assert_int_equal(labels[17], 45);
            assert_int_equal(labels[44], 44);
        }
        assert_int_equal(stk_loader_damage_count(loader), 10);
        assert_int_equal(stk_loader_get_damage(loader, 0, &damage, NULL), STK_OK);
        assert_string_equal(damage.error.key, "000003");
        assert_string_equal(damage.error.field, "cls");
        assert_int_equal(damage.error.status, STK_ECORRUPT);
        assert_true(damage.error.has_offset);
        assert_int_equal(damage.error.offset, 12 * 512); /* blocks: 3 + 4 + 4, its header */
        assert_int_equal(damage.substitute, 49);
        assert_int_equal(stk_loader_get_damage(loader, 10, &damage, NULL), STK_ERANGE);
        stk_loader_close(loader);
    }
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

static void replace_is_a_pure_function_of_the_damaged_sample(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, 20, bad, COUNT_OF(bad));
    stk_field_spec fields[2];
    stk_loader_options options;
    int64_t alone[ROOM], ranks[2][ROOM], labels[ROOM];
    (void)state;

    numbered_fields(fields, &options);
    options.batch_size = 10;
    options.shuffle = STK_SHUFFLE_FULL;
    options.on_error = STK_ON_ERROR_REPLACE;
    stk_loader *loader = open_numbered(dataset, &options);
    assert_int_equal(rest_of_epoch(loader, alone, NULL, NULL), COUNT);
    assert_int_equal(stk_loader_damage_count(loader), 5);
    stk_loader_close(loader);
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < COUNT_OF(bad); k++)
            assert_int_not_equal(alone[i], bad[k]);
    options.threads = 0;
    loader = open_numbered(dataset, &options);
    rest_of_epoch(loader, labels, NULL, NULL);
    assert_memory_equal(labels, alone, COUNT * sizeof labels[0]);
    stk_loader_close(loader);
    options.batch_size = 5;
    options.world_size = 2;
    for (options.rank = 0; options.rank < 2; options.rank++) {
        loader = open_numbered(dataset, &options);
        assert_int_equal(rest_of_epoch(loader, ranks[options.rank], NULL, NULL), COUNT / 2);
        stk_loader_close(loader);
    }
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(alone[i], ranks[i / 5 % 2][i / 10 * 5 + i % 5]);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

static void raise_names_the_place_and_the_loader_goes_on(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, 20, bad, COUNT_OF(bad));
    stk_field_spec fields[2];
    stk_loader_options options;
    stk_error err = STK_ERROR_INIT;
    stk_batch *batch;
    char line[1024];
    (void)state;

    numbered_fields(fields, &options);
    options.batch_size = 2;
    options.threads = 2;
    stk_loader *loader = open_numbered(dataset, &options);
    assert_int_equal(stk_loader_next(loader, &batch, &err), STK_OK);
    stk_batch_unref(batch);
    for (int i = 0; i < 2; i++) { /* the position stays before the step */
        assert_int_equal(stk_loader_next(loader, &batch, &err), STK_ECORRUPT);
        stk_error_format(&err, line, sizeof line);
        assert_non_null(strstr(line, "numbered-0000.tar, sample 000003, field cls, byte 6,144"));
        assert_int_equal(err.sample, 3);
        assert_int_equal(stk_loader_step(loader), 1);
    }
    assert_int_equal(stk_loader_set_epoch(loader, 0, NULL), STK_OK);
    assert_int_equal(stk_loader_next(loader, &batch, &err), STK_OK);
    stk_batch_unref(batch);
    stk_loader_close(loader);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

static void budgets_end_a_run_that_loses_too_much(void **state)
{
    unsigned many[40];
    char *folder = make_temp_folder();
    stk_dataset *dataset;
    stk_field_spec fields[2];
    stk_loader_options options;
    stk_error err = STK_ERROR_INIT;
    stk_batch *batch;
    stk_status st;
    size_t rows = 0;
    (void)state;

    for (unsigned i = 0; i < 40; i++)
        many[i] = 100 + 2 * i;
    dataset = numbered(folder, 300, 50, many, 40);
    numbered_fields(fields, &options);
    options.batch_size = 10;
    options.on_error = STK_ON_ERROR_SKIP;
    options.max_errors = 4;
    stk_loader *loader = open_numbered(dataset, &options);
    while ((st = stk_loader_next(loader, &batch, &err)) == STK_OK) {
        rows += stk_batch_rows(batch);
        stk_batch_unref(batch);
    }
    assert_int_equal(st, STK_EBUDGET);
    assert_int_equal(rows, 100);
    assert_non_null(strstr(err.text, "max_errors is 4"));
    assert_string_equal(err.key, "000108");
    assert_int_equal(stk_loader_next(loader, &batch, &err), STK_EBUDGET); /* and stays so */
    stk_loader_close(loader);
    options.max_errors = UINT64_MAX;
    options.max_error_rate = 0.05;
    loader = open_numbered(dataset, &options);
    while ((st = stk_loader_next(loader, &batch, &err)) == STK_OK)
        stk_batch_unref(batch);
    assert_int_equal(st, STK_EBUDGET);
    assert_non_null(strstr(err.text, "max_error_rate is 0.05"));
    stk_loader_close(loader);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

static void known_damage_is_not_touched(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, 20, bad, COUNT_OF(bad));
    const uint64_t known[] = {49, 3, 4, 17, 48, 20}; /* 20 is well, but listed */
    stk_field_spec fields[2];
    stk_loader_options options;
    int64_t labels[ROOM];
    (void)state;

    numbered_fields(fields, &options);
    options.batch_size = 10;
    options.known_damage = known;
    options.known_damage_count = COUNT_OF(known);
    stk_loader *loader = open_numbered(dataset, &options); /* raise: nothing is left to raise for */
    assert_int_equal(rest_of_epoch(loader, labels, NULL, NULL), COUNT - 6);
    for (size_t i = 0; i < COUNT - 6; i++)
        assert_int_not_equal(labels[i], 20);
    stk_loader_close(loader);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

static void an_epoch_of_nothing_but_damage_is_an_error(void **state)
{
    unsigned all[20];
    char *folder = make_temp_folder();
    stk_dataset *dataset;
    stk_field_spec fields[2];
    stk_loader_options options;
    stk_error err = STK_ERROR_INIT;
    stk_batch *batch;
    (void)state;

    for (unsigned i = 0; i < 20; i++)
        all[i] = i;
    dataset = numbered(folder, 20, 20, all, 20);
    numbered_fields(fields, &options);
    options.batch_size = 4;
    options.on_error = STK_ON_ERROR_SKIP;
    stk_loader *loader = open_numbered(dataset, &options);
    assert_int_equal(stk_loader_next(loader, &batch, &err), STK_EBUDGET);
    assert_non_null(strstr(err.text, "all 20 samples"));
    stk_loader_close(loader);
    options.on_error = STK_ON_ERROR_REPLACE;
    loader = open_numbered(dataset, &options);
    assert_true(stk_loader_next(loader, &batch, &err) < 0);
    stk_loader_close(loader);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

static void a_resumed_run_skips_as_the_whole_one_did(void **state)
{
    char *folder = make_temp_folder();
    stk_dataset *dataset = numbered(folder, COUNT, 20, bad, COUNT_OF(bad));
    stk_field_spec fields[2];
    stk_loader_options options;
    int64_t whole[ROOM], rest[ROOM];
    (void)state;

    numbered_fields(fields, &options);
    options.batch_size = 6;
    options.on_error = STK_ON_ERROR_SKIP;
    stk_loader *loader = open_numbered(dataset, &options);
    assert_int_equal(rest_of_epoch(loader, whole, NULL, NULL), COUNT - 5);
    for (size_t taken = 0; taken < 8; taken++) {
        stk_loader_state saved;
        stk_loader *other = open_numbered(dataset, &options);

        assert_int_equal(stk_loader_set_epoch(loader, 0, NULL), STK_OK);
        for (size_t i = 0; i < taken; i++) {
            stk_batch *batch;
            assert_int_equal(stk_loader_next(loader, &batch, NULL), STK_OK);
            stk_batch_unref(batch);
        }
        stk_loader_get_state(loader, &saved);
        assert_int_equal(stk_loader_set_state(other, &saved, NULL), STK_OK);
        assert_int_equal(rest_of_epoch(other, rest, NULL, NULL), COUNT - 5 - taken * 6);
        assert_memory_equal(rest, whole + taken * 6, (COUNT - 5 - taken * 6) * sizeof rest[0]);
        stk_loader_close(other);
    }
    stk_loader_close(loader);
    stk_dataset_unref(dataset);
    remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skip_fills_from_the_end_and_counts),
        cmocka_unit_test(replace_is_a_pure_function_of_the_damaged_sample),
        cmocka_unit_test(raise_names_the_place_and_the_loader_goes_on),
        cmocka_unit_test(budgets_end_a_run_that_loses_too_much),
        cmocka_unit_test(known_damage_is_not_touched),
        cmocka_unit_test(an_epoch_of_nothing_but_damage_is_an_error),
        cmocka_unit_test(a_resumed_run_skips_as_the_whole_one_did),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
