/* Without these: ds["n0144"] is another sample, or the second of two with that key. */
#include "dataset/dataset.h"
#include "parts_by_hand.h"

/* Keys that collide often, in shards, against a search from the beginning. */
static void finds_what_a_search_from_the_beginning_finds(void **state)
{
    static char keys[3000][16];
    rng r = rng_seed();
    (void)state;

    for (int round = 0; round < 40; round++) {
        uint32_t parts = 1 + (uint32_t)rng_below(&r, 5);
        uint64_t most = 1 + rng_below(&r, 600), kinds = 1 + rng_below(&r, 2000), samples = 0;
        stk_dataset *ds = new_by_hand(parts, true);

        for (uint32_t part = 0; part < parts; part++) {
            stk__index_build *build = new_build_for(ds);

            for (uint64_t n = rng_below(&r, most); n > 0; n--) {
                snprintf(keys[samples], sizeof keys[0], "k%u", (unsigned)rng_below(&r, kinds));
                stk__index_build_break(build);
                tell(build, keys[samples], "x", 512, 1);
                samples++;
            }
            set_part(ds, part, build, "x.tar");
        }
        assert_int_equal(stk__dataset_join(ds, NULL), STK_OK);
        assert_int_equal(stk_dataset_count(ds), samples);
        for (uint64_t kind = 0; kind < kinds; kind++) {
            uint64_t expected = 0, got = UINT64_MAX;
            char key[16];
            int length = snprintf(key, sizeof key, "k%u", (unsigned)kind);
            stk_status st = stk_dataset_find(ds, (stk_view){key, (size_t)length}, &got, NULL);

            while (expected < samples && strcmp(keys[expected], key) != 0)
                expected++;
            assert_int_equal(st, expected < samples ? STK_OK : STK_EFIELD);
            assert_true(st != STK_OK || got == expected);
        }
        stk_dataset_unref(ds);
    }
}

static void an_unknown_key_is_named(void **state)
{
    stk_dataset *ds = new_by_hand(1, true);
    stk__index_build *build = new_build_for(ds);
    stk_error err = STK_ERROR_INIT;
    uint64_t index = 42;
    (void)state;

    tell(build, "", "x", 512, 1);
    tell(build, "a", "x", 512, 1);
    set_part(ds, 0, build, "x.tar");
    assert_int_equal(stk__dataset_join(ds, NULL), STK_OK);
    assert_int_equal(stk_dataset_find(ds, (stk_view){"ab", 2}, &index, &err), STK_EFIELD);
    assert_string_equal(err.key, "ab");
    assert_int_equal(index, 42);
    assert_int_equal(stk_dataset_find(ds, (stk_view){NULL, 0}, &index, &err), STK_OK);
    assert_int_equal(index, 0);
    stk_dataset_unref(ds);
    ds = new_by_hand(0, true);
    assert_int_equal(stk__dataset_join(ds, NULL), STK_OK);
    assert_int_equal(stk_dataset_find(ds, (stk_view){"a", 1}, &index, &err), STK_EFIELD);
    stk_dataset_unref(ds);
}

/* What a fork may have left: the news that there is a table, and less than all of it. */
static void a_table_that_is_not_all_there_is_made_anew(void **state)
{
    stk_dataset *ds = new_by_hand(1, true);
    stk__index_build *build = new_build_for(ds);
    uint64_t *entries;
    uint64_t index;
    (void)state;

    tell(build, "a", "x", 512, 1);
    tell(build, "b", "x", 512, 1);
    set_part(ds, 0, build, "x.tar");
    assert_int_equal(stk__dataset_join(ds, NULL), STK_OK);
    assert_int_equal(stk_dataset_find(ds, (stk_view){"b", 1}, &index, NULL), STK_OK);
    entries = ds->keys.entries;
    entries[0] = entries[1] = 0;
    stk__store_release_u32(&ds->keys.ready, 1000); /* by another generation of forks */
    assert_int_equal(stk_dataset_find(ds, (stk_view){"b", 1}, &index, NULL), STK_OK);
    assert_int_equal(index, 1);
    stk__heap_free(&ds->heap, entries, 2, sizeof *entries); /* it was given up, not freed */
    stk__store_release_u32(&ds->keys.ready, 1000);
    entries = ds->keys.entries;
    assert_int_equal(stk_dataset_find(ds, (stk_view){"a", 1}, &index, NULL), STK_OK);
    assert_ptr_equal(ds->keys.entries, entries); /* this one was all there */
    stk_dataset_unref(ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_a_search_from_the_beginning_finds),
        cmocka_unit_test(an_unknown_key_is_named),
        cmocka_unit_test(a_table_that_is_not_all_there_is_made_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
