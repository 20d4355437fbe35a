/* Without these: a loader that asks for jpg gets the cls of those shards whose fields stand in
 * another order. */
#include "dataset/dataset.h"
#include "parts_by_hand.h"

static stk_dataset *join_fields(const char *const (*lists)[4], uint32_t parts)
{
    stk_dataset *ds = new_by_hand(parts, true);

    for (uint32_t i = 0; i < parts; i++) {
        stk__index_build *build = new_build_for(ds);

        for (int k = 0; k < 4 && lists[i][k] != NULL; k++)
            tell(build, "a", lists[i][k], 512, (uint64_t)i + 1);
        set_part(ds, i, build, "x.tar");
    }
    assert_int_equal(stk__dataset_join(ds, NULL), STK_OK);
    return ds;
}

static void a_name_has_one_number_in_all_shards(void **state)
{
    static const char *const lists[][4] = {{"jpg", "cls", NULL}, {"jpg", "cls", NULL},
        {"cls", "jpg", NULL}, {"jpg", NULL}, {"txt", "cls", "", "jpg"}, {"jpg", "cls", NULL}};
    stk_dataset *ds = join_fields(lists, COUNT_OF(lists));
    stk_sample_field field;
    uint32_t id;
    (void)state;

    assert_int_equal(stk_dataset_field_count(ds), 4);
    assert_string_equal(stk_dataset_field(ds, 0), "jpg");
    assert_string_equal(stk_dataset_field(ds, 1), "cls");
    assert_string_equal(stk_dataset_field(ds, 2), "txt");
    assert_string_equal(stk_dataset_field(ds, 3), "");
    assert_int_equal(stk__dataset_field_id(ds, "txt"), 2);
    assert_int_equal(stk__dataset_field_id(ds, ""), 3);
    assert_int_equal(stk__dataset_field_id(ds, "tx"), UINT32_MAX);
    for (uint32_t i = 0; i < COUNT_OF(lists); i++) {
        for (uint32_t k = 0; k < 4 && lists[i][k] != NULL; k++) {
            assert_int_equal(stk_dataset_sample_field(ds, i, k, &field, NULL), STK_OK);
            assert_string_equal(field.field.data, lists[i][k]);
            assert_string_equal(stk_dataset_field(ds, field.field_id), lists[i][k]);
        }
        id = 0;
        assert_int_equal(stk__dataset_locate(ds, i, &id, 1, &field, NULL), STK_OK);
        assert_string_equal(field.field.data, "jpg");
    }
    assert_int_equal(stk_dataset_field_max_bytes(ds, 0), 6);
    assert_int_equal(stk_dataset_field_max_bytes(ds, 2), 5);
    assert_int_equal(stk_dataset_field_max_bytes(ds, 4), 0);
    stk_dataset_unref(ds);
}

static void shards_of_the_same_fields_share_one_table(void **state)
{
    static const char *const lists[][4] = {
        {"jpg", "cls", NULL}, {"jpg", "cls", NULL}, {"jpg", NULL}, {"jpg", NULL}};
    stk_dataset *ds = join_fields(lists, COUNT_OF(lists));
    (void)state;

    assert_ptr_equal(ds->parts[0].fields, ds->parts[1].fields);
    assert_ptr_not_equal(ds->parts[1].fields, ds->parts[2].fields);
    assert_ptr_equal(ds->parts[2].fields, ds->parts[3].fields);
    stk_dataset_unref(ds);
}

static void many_names_are_numbered_too(void **state)
{
    stk_dataset *ds = new_by_hand(2, true);
    char name[32];
    (void)state;

    for (uint32_t part = 0; part < 2; part++) {
        stk__index_build *build = new_build_for(ds);

        for (uint32_t i = 0; i < 5000; i++) {
            snprintf(name, sizeof name, "f%u", part == 0 ? i : 7499 - i);
            tell(build, "a", name, 512, 1);
        }
        set_part(ds, part, build, "x.tar");
    }
    assert_int_equal(stk__dataset_join(ds, NULL), STK_OK);
    assert_int_equal(stk_dataset_field_count(ds), 7500);
    for (uint32_t i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "f%u", i);
        assert_int_equal(stk__dataset_field_id(ds, name), i);
    }
    assert_string_equal(stk_dataset_field(ds, 5000), "f7499");
    stk_dataset_unref(ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_has_one_number_in_all_shards),
        cmocka_unit_test(shards_of_the_same_fields_share_one_table),
        cmocka_unit_test(many_names_are_numbered_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
