/* Without these: a misspelt extension trains on nothing, and shapes are guessed. */
#include "support/pipeline_kit.h"

static stk_field_spec spec(const char *name, const char *source, stk_field_kind kind)
{
    stk_field_spec made = STK_FIELD_SPEC_INIT;

    made.name = name;
    made.source = source;
    made.kind = kind;
    return made;
}

/* Header of a version 1 .npy of uint8 and `shape`, padded to 128 bytes, with `count` elements. */
static size_t npy_of(unsigned char *out, const char *shape, size_t count)
{
    int length = snprintf(
        (char *)out + 10, 118, "{'descr': '|u1', 'fortran_order': False, 'shape': %s, }", shape);

    memset(out + 10 + length, ' ', 118 - (size_t)length);
    memcpy(out, "\x93NUMPY\1\0\x76\0", 10);
    out[127] = '\n';
    memset(out + 128, 7, count);
    return 128 + count;
}

static rig two_samples(void)
{
    rig r = {.folder = make_temp_folder()};
    made_tar tar = {0};
    unsigned char npy[256];

    tar_text(&tar, "a.cls", "1");
    tar_text(&tar, "a.txt", "x");
    tar_file(&tar, "a.npy", npy, npy_of(npy, "(2, 3)", 6));
    tar_text(&tar, "b.cls2", "2");
    tar_file(&tar, "b.npy", npy, npy_of(npy, "(2, 3)", 6));
    r.dataset = dataset_of(r.folder, &tar);
    return r;
}

static void a_field_that_nothing_has_is_refused_with_what_there_is(void **state)
{
    const stk_field_spec fields[] = {spec("image", "jpg;png", STK_FIELD_IMAGE)};
    rig r = two_samples();
    stk_error err = STK_ERROR_INIT;
    (void)state;

    assert_int_equal(rig_plan(&r, fields, 1, &err), STK_EFIELD);
    assert_string_equal(err.text,
        "no sample has jpg;png, which field image asks for; there is: cls, txt, npy, cls2");
    rig_free(&r);
}

static void alternatives_are_kept_in_the_order_declared(void **state)
{
    const stk_field_spec fields[] = {spec("label", "cls2; none;cls", STK_FIELD_LABEL)};
    rig r = two_samples();
    (void)state;

    assert_int_equal(rig_plan(&r, fields, 1, NULL), STK_OK);
    assert_int_equal(r.plan.fields[0].id_count, 2);
    assert_string_equal(stk_dataset_field(r.dataset, r.plan.fields[0].ids[0]), "cls2");
    assert_string_equal(stk_dataset_field(r.dataset, r.plan.fields[0].ids[1]), "cls");
    rig_free(&r);
}

static void the_shape_of_arrays_is_that_of_the_first(void **state)
{
    const stk_field_spec fields[] = {spec("x", "npy", STK_FIELD_ARRAY)};
    rig r = two_samples();
    stk__column_spec column;
    (void)state;

    assert_int_equal(rig_plan(&r, fields, 1, NULL), STK_OK);
    stk__field_plan_columns(&r.plan, 4, &column);
    assert_int_equal(column.dtype, STK_U8);
    assert_int_equal(column.ndim, 2);
    assert_int_equal(column.shape[0], 2);
    assert_int_equal(column.shape[1], 3);
    rig_free(&r);
}

static void declarations_out_of_range_are_named(void **state)
{
    static const stk_transform flip = {.kind = STK_RANDOM_HORIZONTAL_FLIP, .probability = 0.5};
    stk_field_spec bad[8];
    const char *words[8];
    size_t count = 0;
    (void)state;

#define BAD(made, change, word) \
    bad[count] = made;          \
    change;                     \
    words[count++] = word
    BAD(spec("", "cls", STK_FIELD_LABEL), , "no name");
    BAD(spec("x", "", STK_FIELD_LABEL), , "names no extension");
    BAD(spec("x", "cls", (stk_field_kind)9), , "kind");
    BAD(spec("x", "cls", STK_FIELD_LABEL),
        (bad[count].transforms = &flip, bad[count].transform_count = 1), "no image");
    BAD(spec("x", "jpg", STK_FIELD_IMAGE), bad[count].dtype = STK_F64, "float64");
    BAD(spec("x", "jpg", STK_FIELD_IMAGE), bad[count].optional = true, "optional");
    BAD(spec("x", "cls", STK_FIELD_LABEL), bad[count].struct_bytes = 1, "INIT");
#undef BAD
    for (size_t i = 0; i < count; i++) {
        rig r = two_samples();
        stk_error err = STK_ERROR_INIT;

        assert_int_equal(rig_plan(&r, &bad[i], 1, &err), STK_EINVAL);
        if (strstr(err.text, words[i]) == NULL)
            fail_msg("\"%s\" does not name %s", err.text, words[i]);
        rig_free(&r);
    }
}

static void two_fields_of_one_name_are_refused(void **state)
{
    const stk_field_spec fields[] = {
        spec("x", "cls", STK_FIELD_LABEL), spec("x", "txt", STK_FIELD_TEXT)};
    rig r = two_samples();
    stk_error err = STK_ERROR_INIT;
    (void)state;

    assert_int_equal(rig_plan(&r, fields, 2, &err), STK_EINVAL);
    assert_non_null(strstr(err.text, "called x"));
    rig_free(&r);
}

static void without_a_declaration_all_fields_of_the_first_sample_come_as_bytes(void **state)
{
    rig r = two_samples();
    (void)state;

    assert_int_equal(rig_plan(&r, NULL, 0, NULL), STK_OK);
    assert_int_equal(r.plan.count, 3);
    assert_string_equal(r.plan.fields[1].name, "txt");
    assert_int_equal(r.plan.fields[1].kind, STK_FIELD_BYTES);
    rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_that_nothing_has_is_refused_with_what_there_is),
        cmocka_unit_test(alternatives_are_kept_in_the_order_declared),
        cmocka_unit_test(the_shape_of_arrays_is_that_of_the_first),
        cmocka_unit_test(declarations_out_of_range_are_named),
        cmocka_unit_test(two_fields_of_one_name_are_refused),
        cmocka_unit_test(without_a_declaration_all_fields_of_the_first_sample_come_as_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
