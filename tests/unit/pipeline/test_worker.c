/* Without these: pixels in a batch differ from those of the public decoder and transforms, or land
 * in the wrong row. */
#include <stoker/codec.h>

#include "pipeline/worker.h"
#include "support/golden.h"
#include "support/pipeline_kit.h"

enum { SIDE = 24 };

static const char *const pictures[] = {
    "c43.jpg", "c46_6.jpg", "c46_8.jpg", "c46_be.jpg", "c51.jpg"};

static rig rig_of_pictures(void)
{
    rig r = {.folder = make_temp_folder()};
    made_tar tar = {0};

    for (size_t i = 0; i < COUNT_OF(pictures); i++) {
        char path[512], key[32];
        unsigned char *data;
        size_t size;

        snprintf(
            path, sizeof path, "%s/tests/golden/pictures/%s", STK_TEST_SOURCE_DIR, pictures[i]);
        data = load_file(path, &size);
        snprintf(key, sizeof key, "%zu.jpg", i);
        tar_file(&tar, key, data, size);
        snprintf(key, sizeof key, "%zu.cls", i);
        tar_text(&tar, key, i == 2 ? "two" : "7");
        free(data);
    }
    r.dataset = dataset_of(r.folder, &tar);
    return r;
}

/* The same by way of the public functions: decode all, turn, transform. */
static void reference(
    size_t nth, const stk_field_spec *field, const stk_draw *draw, uint8_t *pixels_out)
{
    static uint8_t stored[64 * 64 * 4], seen[64 * 64 * 4];
    char path[512];
    stk_image_info info;
    unsigned char *data;
    size_t size;

    snprintf(path, sizeof path, "%s/tests/golden/pictures/%s", STK_TEST_SOURCE_DIR, pictures[nth]);
    data = load_file(path, &size);
    const stk_view encoded = {data, size};
    assert_int_equal(stk_image_probe(encoded, NULL, &info, NULL), STK_OK);
    stk_image image = {stored, info.width * 3, info.width, info.height};
    assert_true(info.width <= 64 && info.height <= 64);
    assert_int_equal(stk_image_decode(encoded, NULL, NULL, &image, NULL), STK_OK);
    if (field->orient && info.orientation > 1) {
        bool swapped = info.orientation >= 5;
        static uint8_t rgbx[64 * 64 * 4];
        for (uint32_t i = 0; i < info.width * info.height; i++)
            memcpy(rgbx + 4 * (size_t)i, stored + 3 * (size_t)i, 3);
        const stk_image from = {rgbx, info.width * 4, info.width, info.height};
        image.width = swapped ? info.height : info.width;
        image.height = swapped ? info.width : info.height;
        const stk_image to = {seen, image.width * 4, image.width, image.height};
        stk__image_orient(&from, &to, info.orientation);
        for (uint32_t i = 0; i < info.width * info.height; i++)
            memcpy(stored + 3 * (size_t)i, seen + 4 * (size_t)i, 3);
        image.pitch_bytes = image.width * 3;
    }
    assert_int_equal(
        stk_image_transform(&image, field->transforms, field->transform_count, draw, field->layout,
            field->dtype, (stk_span){pixels_out, 3 * SIDE * SIDE}, NULL),
        STK_OK);
    free(data);
}

static void rows_have_the_pixels_of_the_public_functions(void **state)
{
    stk_transform chain[2] = {STK_TRANSFORM_INIT, STK_TRANSFORM_INIT};
    stk_field_spec fields[2] = {STK_FIELD_SPEC_INIT, STK_FIELD_SPEC_INIT};
    (void)state;

    if (!golden_is_built("x.jpg"))
        skip(); /* a build without JPEG */
    chain[0].kind = STK_RANDOM_RESIZED_CROP;
    chain[0].height = chain[0].width = SIDE;
    chain[1].kind = STK_RANDOM_HORIZONTAL_FLIP;
    fields[0].name = "image";
    fields[0].source = "jpg";
    fields[0].kind = STK_FIELD_IMAGE;
    fields[0].transforms = chain;
    fields[0].transform_count = 2;
    fields[1].name = "key";
    fields[1].kind = STK_FIELD_KEY;
    for (int orient = 0; orient < 2; orient++) {
        rig r = rig_of_pictures();
        stk__worker worker;

        fields[0].orient = orient != 0;
        assert_int_equal(rig_plan(&r, fields, 2, NULL), STK_OK);
        stk_batch *slot = rig_slot(&r, COUNT_OF(pictures));
        const uint64_t none[COUNT_OF(pictures)] = {0};
        assert_int_equal(stk__slot_lay_ragged(slot, 1, none, COUNT_OF(pictures), NULL), STK_OK);
        stk__slot_set_rows(slot, COUNT_OF(pictures));
        assert_int_equal(
            stk__worker_init(&worker, stk__arena_heap(r.arena), &r.plan, NULL), STK_OK);
        for (size_t i = 0; i < COUNT_OF(pictures); i++) {
            const stk_draw draw = {.seed = 3, .epoch = 2, .sample = i};
            uint8_t expected[3 * SIDE * SIDE];
            stk_error err = STK_ERROR_INIT;
            size_t room;

            if (stk__worker_row(&worker, i, &draw, slot, i, &err) != STK_OK)
                fail_msg("%s: %s", pictures[i], err.text);
            reference(i, &fields[0], &draw, expected);
            assert_memory_equal(stk__slot_row(slot, 0, i), expected, sizeof expected);
            assert_int_equal(*(char *)stk__slot_ragged(slot, 1, i, &room), '0' + (char)i);
        }
        stk__worker_fini(&worker);
        stk_batch_unref(slot);
        rig_free(&r);
    }
}

static void errors_name_shard_key_field_and_byte_of_the_file(void **state)
{
    stk_field_spec field = STK_FIELD_SPEC_INIT;
    rig r = rig_of_pictures();
    stk__worker worker;
    stk_sample_field member;
    stk_error err = STK_ERROR_INIT;
    const stk_draw draw = {0};
    (void)state;

    field.name = "label";
    field.source = "cls";
    field.kind = STK_FIELD_LABEL;
    assert_int_equal(rig_plan(&r, &field, 1, NULL), STK_OK);
    stk_batch *slot = rig_slot(&r, 1);
    assert_int_equal(stk__worker_init(&worker, stk__arena_heap(r.arena), &r.plan, NULL), STK_OK);
    assert_int_equal(stk__worker_row(&worker, 2, &draw, slot, 0, &err), STK_ECORRUPT);
    assert_int_equal(stk_dataset_sample_field(r.dataset, 2, 1, &member, NULL), STK_OK);
    assert_string_equal(err.key, "2");
    assert_string_equal(err.field, "cls");
    assert_non_null(strstr(err.shard, "rig.tar"));
    assert_non_null(strstr(err.source, "rig.tar"));
    assert_int_equal(err.stage, STK_STAGE_DECODE);
    assert_int_equal(err.sample, 2);
    assert_true(err.has_offset);
    assert_int_equal(err.offset, member.offset);
    stk__worker_fini(&worker);
    stk_batch_unref(slot);
    rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_the_pixels_of_the_public_functions),
        cmocka_unit_test(errors_name_shard_key_field_and_byte_of_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
