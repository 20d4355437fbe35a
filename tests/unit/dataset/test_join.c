/* Without these: the first sample of a shard is taken for the last of the one before, an empty
 * shard shifts all that follow, and labels of two trees mean different classes. */
#include "dataset/dataset.h"
#include "parts_by_hand.h"

/* Shards of these numbers of samples. */
static stk_dataset *join_tars(const uint64_t *samples, uint32_t shards)
{
    stk_dataset *ds = new_by_hand(shards, true);
    char key[32], path[32];

    for (uint32_t i = 0; i < shards; i++) {
        stk__index_build *build = new_build_for(ds);

        for (uint64_t k = 0; k < samples[i]; k++) {
            snprintf(key, sizeof key, "%u-%u", i, (unsigned)k);
            tell(build, key, "x", 512, 1);
        }
        snprintf(path, sizeof path, "some/%u.tar", i);
        set_part(ds, i, build, path);
    }
    assert_int_equal(stk__dataset_join(ds, NULL), STK_OK);
    return ds;
}

/* Every sample must come from the shard that a walk from the beginning finds. */
static void assert_found(const uint64_t *samples, uint32_t shards)
{
    stk_dataset *ds = join_tars(samples, shards);
    uint64_t sample = 0;
    char key[32];
    stk_sample found;

    for (uint32_t i = 0; i < shards; i++) {
        assert_int_equal(stk_dataset_shard_start(ds, i), sample);
        for (uint64_t k = 0; k < samples[i]; k++, sample++) {
            assert_int_equal(stk__dataset_shard_of(ds, sample), i);
            assert_int_equal(stk_dataset_sample(ds, sample, &found, NULL), STK_OK);
            snprintf(key, sizeof key, "%u-%u", i, (unsigned)k);
            assert_int_equal(found.key.size, strlen(key));
            assert_memory_equal(found.key.data, key, found.key.size);
        }
    }
    assert_int_equal(stk_dataset_count(ds), sample);
    assert_int_equal(stk_dataset_shard_start(ds, shards), sample);
    assert_int_equal(stk_dataset_shard_start(ds, UINT32_MAX), sample);
    stk_dataset_unref(ds);
}

static void every_sample_is_found_in_its_shard(void **state)
{
    static const uint64_t few[] = {1, 0, 0, 3, 0}, none[] = {0, 0}, one[] = {1}, last[] = {0, 0, 5},
                          uneven[] = {1, 1, 1, 1, 1000, 1, 0, 1};
    rng r = rng_seed();
    (void)state;

    assert_found(few, COUNT_OF(few));
    assert_found(none, COUNT_OF(none));
    assert_found(one, COUNT_OF(one));
    assert_found(last, COUNT_OF(last));
    assert_found(uneven, COUNT_OF(uneven));
    for (int round = 0; round < 300; round++) {
        uint64_t samples[60];
        uint32_t shards = 1 + (uint32_t)rng_below(&r, 60);
        uint64_t most = 1 + rng_below(&r, round % 3 == 0 ? 3 : 40);

        for (uint32_t i = 0; i < shards; i++)
            samples[i] = rng_below(&r, most + 1);
        assert_found(samples, shards);
    }
}

static void an_empty_dataset_has_nothing_to_find(void **state)
{
    stk_dataset *ds = join_tars(NULL, 0);
    stk_sample sample;
    (void)state;

    assert_int_equal(stk_dataset_count(ds), 0);
    assert_int_equal(stk_dataset_sample(ds, 0, &sample, NULL), STK_ERANGE);
    assert_int_equal(stk_dataset_shard_start(ds, 0), 0);
    stk_dataset_unref(ds);
}

static void add_class(stk__index_build *build, const char *name, int samples)
{
    char key[32];

    assert_int_equal(stk__index_build_class(build, (stk_view){name, strlen(name)}, NULL), STK_OK);
    for (int i = 0; i < samples; i++) {
        snprintf(key, sizeof key, "%s/%d", name, i);
        tell(build, key, "jpg", 0, 5);
    }
}

static void classes_of_all_trees_are_sorted_together(void **state)
{
    static const int64_t labels[] = {0, 0, 2, 3, 1, 3, 3};
    stk_dataset *ds = new_by_hand(2, false);
    stk__index_build *build = new_build_for(ds);
    stk_sample sample;
    stk_sample_field field;
    char path[64];
    (void)state;

    add_class(build, "ab", 2);
    add_class(build, "ba", 1);
    add_class(build, "c", 1);
    set_part(ds, 0, build, "one");
    build = new_build_for(ds);
    add_class(build, "b", 1);
    add_class(build, "ba", 0);
    add_class(build, "c", 2);
    set_part(ds, 1, build, "two/");
    assert_int_equal(stk__dataset_join(ds, NULL), STK_OK);
    assert_int_equal(stk_dataset_class_count(ds), 4);
    assert_string_equal(stk_dataset_class(ds, 1), "b");
    assert_string_equal(stk_dataset_class(ds, 2), "ba");
    assert_int_equal(stk_dataset_shard_count(ds), 6);
    for (uint64_t i = 0; i < COUNT_OF(labels); i++) {
        assert_int_equal(stk_dataset_sample(ds, i, &sample, NULL), STK_OK);
        assert_int_equal(sample.label, labels[i]);
    }
    assert_int_equal(stk_dataset_sample_field(ds, 4, 0, &field, NULL), STK_OK);
    assert_int_equal(field.source, 4);
    assert_int_equal(stk_dataset_source_path(ds, 4, path, sizeof path), 11);
    assert_string_equal(path, "two/b/0.jpg");
    assert_int_equal(stk_dataset_source_path(ds, 3, path, 4), 11);
    assert_string_equal(path, "one");
    assert_int_equal(stk_dataset_source_path(ds, 99, path, sizeof path), 0);
    stk_dataset_unref(ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_is_found_in_its_shard),
        cmocka_unit_test(an_empty_dataset_has_nothing_to_find),
        cmocka_unit_test(classes_of_all_trees_are_sorted_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
