/* Without these: a chain that can never work is found out at its first picture, and a batch is
 * planned with the wrong shape. */
#include "base/heap.h"
#include "os/cpu.h"
#include "random_chain.h"
#include "transform/image_chain.h"

static stk__image_chain *compiled(
    stk__heap *heap, const stk_transform *chain, size_t count, stk_dtype dtype)
{
    stk__image_chain *made = NULL;
    stk_error err = STK_ERROR_INIT;

    if (stk__image_chain_new(heap, chain, count, STK_NCHW, dtype, &made, &err) != STK_OK)
        fail_msg("%s", err.text);
    return made;
}

static void refused(const stk_transform *chain, size_t count, stk_layout layout, stk_dtype dtype,
    stk_status status, const char *text)
{
    stk__heap heap = {0};
    stk__image_chain *made = NULL;
    stk_error err = STK_ERROR_INIT;

    assert_int_equal(stk__image_chain_new(&heap, chain, count, layout, dtype, &made, &err), status);
    assert_string_equal(err.text, text);
    assert_null(made);
    assert_int_equal(heap.used_bytes, 0);
}

static void bad_chains_are_refused_by_name(void **state)
{
    stk_transform normal = transform_of(STK_NORMALIZE);
    stk_transform chain[3] = {normal, transform_of(STK_HORIZONTAL_FLIP), normal};
    (void)state;

    refused(chain, 3, STK_NCHW, STK_F32, STK_EINVAL,
        "transform 0 (Normalize): HorizontalFlip comes after it; it must be the last");
    refused(chain + 1, 2, STK_NCHW, STK_U8, STK_EINVAL,
        "transform 1 (Normalize): dtype is uint8; it must be a float");
    refused(chain, 0, (stk_layout)2, STK_U8, STK_EINVAL,
        "layout is 2; it must be NHWC (0) or NCHW (1)");
    refused(chain, 0, STK_NCHW, STK_I64, STK_EINVAL,
        "dtype of a picture is int64; it must be uint8, float16, bfloat16 or float32");
    refused(NULL, 2, STK_NCHW, STK_U8, STK_EINVAL, "chain is NULL with a count of 2");
    chain[0] = sized(STK_CENTER_CROP, 20, 20);
    chain[1] = sized(STK_RANDOM_CROP, 24, 10);
    refused(chain, 2, STK_NCHW, STK_U8, STK_ESHAPE,
        "transform 1 (RandomCrop): height is 24; the picture has 20 with its padding");
    chain[1].height = 0;
    refused(chain, 2, STK_NCHW, STK_U8, STK_EINVAL,
        "transform 1 (RandomCrop): height is 0; it must be 1 to 65,535");
}

static void knows_when_all_pictures_get_one_shape(void **state)
{
    stk__heap heap = {0};
    stk_transform chain[3] = {sized(STK_RESIZE, 256, 0), transform_of(STK_HORIZONTAL_FLIP),
        sized(STK_CENTER_CROP, 224, 200)};
    stk__image_chain *made;
    uint32_t w = 1, h = 2;
    (void)state;

    made = compiled(&heap, chain, 2, STK_U8); /* the short side alone leaves the long one open */
    assert_false(stk__image_chain_fixed(made, &w, &h));
    assert_true(w == 1 && h == 2);
    stk__image_chain_free(made);
    made = compiled(&heap, chain, 3, STK_U8);
    assert_true(stk__image_chain_fixed(made, &w, &h));
    assert_true(w == 200 && h == 224);
    stk__image_chain_free(made);
    chain[0] = sized(STK_RANDOM_CROP, 100, 200);
    chain[1] = sized(STK_RESIZE, 50, 0); /* of a known picture: known */
    made = compiled(&heap, chain, 2, STK_U8);
    assert_true(stk__image_chain_fixed(made, &w, &h));
    assert_true(w == 100 && h == 50);
    stk__image_chain_free(made);
    made = compiled(&heap, NULL, 0, STK_U8);
    assert_false(stk__image_chain_fixed(made, &w, &h));
    stk__image_chain_free(made);
    assert_int_equal(heap.used_bytes, 0);
}

static void tells_the_shape_of_each_picture(void **state)
{
    stk__heap heap = {0};
    stk_transform chain[2] = {sized(STK_RESIZE, 256, 0), transform_of(STK_NORMALIZE)};
    stk__image_chain *made = compiled(&heap, chain, 2, STK_F16);
    stk_error err = STK_ERROR_INIT;
    uint32_t w = 0, h = 0;
    (void)state;

    assert_int_equal(stk__image_chain_shape(made, 500, 375, &w, &h, NULL), STK_OK);
    assert_true(w == 341 && h == 256);
    assert_int_equal(stk__image_chain_shape(made, 0, 375, &w, &h, &err), STK_ESHAPE);
    assert_string_equal(err.text, "a picture of 0x375; sides must be 1 to 2^28");
    assert_int_equal(stk__image_chain_shape(made, 5, 0x10000001, &w, &h, &err), STK_ESHAPE);
    assert_int_equal(stk__image_chain_shape(made, 1, 60000, &w, &h, &err), STK_ESHAPE);
    assert_true(w == 341 && h == 256);
    stk__image_chain_free(made);
}

/* The peak of a run's memory and what the plan was told differ by less than a factor of 2. */
static void the_plan_is_told_about_what_is_used(void **state)
{
    const stk_transform cases[][2] = {
        {sized(STK_RANDOM_RESIZED_CROP, 224, 224), transform_of(STK_RANDOM_HORIZONTAL_FLIP)},
        {sized(STK_RESIZE, 256, 0), sized(STK_CENTER_CROP, 224, 224)},
        {sized(STK_RESIZE, 600, 800), sized(STK_RESIZE, 100, 90)},
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk__heap heap = {0}, other = {0};
        stk__image_chain *made = compiled(&other, cases[i], 2, STK_U8);
        size_t told = stk__image_chain_scratch_bytes(made, 2000, 1500);
        uint8_t *row = calloc(2000, 4), *out = malloc((size_t)800 * 800 * 3);
        stk__image_run *run = NULL;
        stk_rect part;

        assert_true(row != NULL && out != NULL);
        assert_int_equal(stk__image_run_new(&heap, made, stk__cpu_flags(), &run, NULL), STK_OK);
        for (uint64_t sample = 0; sample < 20; sample++) {
            stk_draw draw = {1, 1, sample};

            assert_int_equal(
                stk__image_run_begin(run, 2000, 1500, &draw, out, &part, NULL), STK_OK);
            for (uint32_t y = 0; y < part.height; y++)
                assert_int_equal(stk__image_run_rows(run, row, 8000, 1, NULL), STK_OK);
            assert_int_equal(stk__image_run_end(run, NULL), STK_OK);
        }
        print_message("told %zu, used %zu\n", told, (size_t)heap.peak_bytes);
        assert_true(told * 2 > heap.peak_bytes && told < 2 * heap.peak_bytes);
        stk__image_run_free(run);
        stk__image_chain_free(made);
        free(row);
        free(out);
    }
}

static void the_nth_allocation_may_fail(void **state)
{
    const stk_transform chain[2] = {sized(STK_RESIZE, 8, 8), sized(STK_CENTER_CROP, 4, 4)};
    stk_status st = STK_ENOMEM;
    (void)state;

    for (uint64_t ceiling = 1; st != STK_OK; ceiling += 64) {
        stk__heap heap = {.ceiling_bytes = ceiling};
        stk__image_chain *made = NULL;
        stk_error err = STK_ERROR_INIT;

        st = stk__image_chain_new(&heap, chain, 2, STK_NHWC, STK_U8, &made, &err);
        if (st != STK_OK) {
            assert_int_equal(st, STK_ENOMEM);
            assert_int_equal(err.status, STK_ENOMEM);
            assert_null(made);
        }
        stk__image_chain_free(made);
        assert_int_equal(heap.used_bytes, 0);
    }
    stk__image_chain_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_chains_are_refused_by_name),
        cmocka_unit_test(knows_when_all_pictures_get_one_shape),
        cmocka_unit_test(tells_the_shape_of_each_picture),
        cmocka_unit_test(the_plan_is_told_about_what_is_used),
        cmocka_unit_test(the_nth_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
