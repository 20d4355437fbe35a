/* Without these: a kind of picture that is met in the field comes out in wrong colours, as noise,
 * or not at all, and a damaged one is trained on. Every file of tests/golden/pictures is tried. */
#include "support/golden.h"

typedef struct expected {
    char name[64], status[24], words[128];
    stk_image_info info;
    uint32_t crc;
    long offset; /* -1: not fixed */
} expected;

static bool parse_line(char *line, expected *e)
{
    unsigned progressive;
    char *words = strstr(line, " :");
    stk_image_info *i = &e->info;

    *e = (expected){.offset = -1};
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%63s STK_OK %u %u %u %u %u %u %x", e->name, &i->width, &i->height,
            &i->orientation, &i->channels, &i->depth, &progressive, &e->crc) == 8) {
        i->progressive = progressive != 0;
        strcpy(e->status, "STK_OK");
        return true;
    }
    if (words == NULL || sscanf(line, "%63s %23s %ld", e->name, e->status, &e->offset) != 3)
        return false;
    snprintf(e->words, sizeof e->words, "%s", words + 2);
    return true;
}

static bool same_info(const stk_image_info *a, const stk_image_info *b)
{
    return a->width == b->width && a->height == b->height && a->orientation == b->orientation &&
           a->channels == b->channels && a->depth == b->depth && a->progressive == b->progressive;
}

static void check_good(const expected *e, stk_view encoded)
{
    stk_error err = STK_ERROR_INIT;
    stk_image_info info;
    stk_image image;
    uint32_t crc;

    if (stk_image_probe(encoded, NULL, &info, &err) < 0)
        fail_msg("%s: probe: %s", e->name, err.text);
    if (!same_info(&info, &e->info))
        fail_msg("%s: %u x %u, orientation %u, %u channels of %u bits, progressive %d", e->name,
            info.width, info.height, info.orientation, info.channels, info.depth, info.progressive);

    image = (stk_image){
        .pitch_bytes = (size_t)info.width * 3, .width = info.width, .height = info.height};
    image.data = malloc(image.pitch_bytes * image.height);
    assert_non_null(image.data);
    if (stk_image_decode(encoded, NULL, NULL, &image, &err) < 0)
        fail_msg("%s: decode: %s", e->name, err.text);
    crc = stk__crc32c(0, image.data, image.pitch_bytes * image.height);
    if (crc != e->crc)
        fail_msg("%s: pixels have CRC %08x, expected %08x", e->name, crc, e->crc);
    free(image.data);
}

static void check_bad(const expected *e, stk_view encoded, stk__decoder *decoder)
{
    stk_error err = STK_ERROR_INIT;
    pixels none;
    stk_status st = pixels_decode(decoder, encoded, (stk_rect){0}, STK__RGBX8, &none, &err);

    if (strcmp(stk_status_name(st), e->status) != 0)
        fail_msg("%s: %s (%s), expected %s", e->name, stk_status_name(st), err.text, e->status);
    assert_int_equal(err.status, st);
    if (strstr(err.text, e->words) == NULL)
        fail_msg("%s: \"%s\" lacks \"%s\"", e->name, err.text, e->words);
    assert_true(err.has_offset);
    if (e->offset >= 0 && err.offset != (uint64_t)e->offset)
        fail_msg(
            "%s: offset %llu, expected %ld", e->name, (unsigned long long)err.offset, e->offset);
    assert_true(err.offset <= encoded.size);
}

static void every_golden_picture_is_as_expected(void **state)
{
    bench *b = *state;
    FILE *list = fopen(GOLDEN_PICTURES "expected.txt", "r");
    char line[512];
    int good = 0, bad = 0;

    assert_non_null(list);
    while (fgets(line, sizeof line, list) != NULL) {
        expected e;
        blob file;

        if (line[0] == '#')
            continue;
        if (!parse_line(line, &e))
            fail_msg("expected.txt: %s", line);
        if (!golden_is_built(e.name))
            continue;
        file = blob_read(e.name);
        if (strcmp(e.status, "STK_OK") == 0)
            check_good(&e, blob_view(file));
        else
            check_bad(&e, blob_view(file), b->decoder);
        blob_free(file);
        if (strcmp(e.status, "STK_OK") == 0)
            good++;
        else
            bad++;
    }
    fclose(list);
    assert_true(bad >= 8); /* those that need no library at all */
    print_message("%d good, %d bad\n", good, bad);
}

/* One good file of some format of this build; NULL if there is none. */
static const char *any_golden(void)
{
    static const char *const names[] = {"sample_420.jpg", "kind_2_8.png", "lossy.webp"};

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (golden_is_built(names[i]))
            return names[i];
    }
    return NULL;
}

static void memory_around_the_rows_is_not_touched(void **state)
{
    enum { LEFT = 3, TOP = 2, WIDTH = 9, HEIGHT = 6, PITCH = WIDTH * 3 + 5 };

    stk_rect crop = {.left = LEFT, .top = TOP, .width = WIDTH, .height = HEIGHT};
    uint8_t memory[PITCH * HEIGHT + 64];
    stk_image image = {.data = memory + 32, .pitch_bytes = PITCH, .width = WIDTH, .height = HEIGHT};
    blob file;
    (void)state;

    if (any_golden() == NULL)
        skip();
    file = blob_read(any_golden());
    memset(memory, 0xa5, sizeof memory);
    assert_int_equal(stk_image_decode(blob_view(file), &crop, NULL, &image, NULL), STK_OK);
    for (size_t i = 0; i < sizeof memory; i++) {
        size_t in_rows = i - 32; /* wraps before the first row */
        bool inside = i >= 32 && in_rows < PITCH * HEIGHT && in_rows % PITCH < WIDTH * 3;
        if (!inside)
            assert_int_equal(memory[i], 0xa5);
    }
    blob_free(file);
}

static void shapes_that_do_not_fit_are_refused(void **state)
{
    static const stk_rect outside[] = {
        {.left = 0, .top = 0, .width = 0, .height = 1},
        {.left = 0, .top = 0, .width = 1, .height = 0},
        {.left = 130, .top = 0, .width = 200, .height = 1},
        {.left = 0, .top = 97, .width = 1, .height = 1},
        {.left = UINT32_MAX, .top = 0, .width = 2, .height = 1},
        {.left = 0, .top = 1, .width = 1, .height = UINT32_MAX},
    };
    uint8_t row[256 * 3];
    stk_error err = STK_ERROR_INIT;
    stk_image image = {.data = row, .pitch_bytes = sizeof row};
    blob file;
    (void)state;

    if (any_golden() == NULL)
        skip();
    file = blob_read(any_golden());
    for (size_t i = 0; i < COUNT_OF(outside); i++) {
        image.width = outside[i].width;
        image.height = outside[i].height;
        image.pitch_bytes = sizeof row;
        assert_int_equal(
            stk_image_decode(blob_view(file), &outside[i], NULL, &image, &err), STK_ESHAPE);
        assert_int_equal(err.status, STK_ESHAPE);
    }
    image.width = image.height = 1; /* but the picture is larger */
    assert_int_equal(stk_image_decode(blob_view(file), NULL, NULL, &image, &err), STK_ESHAPE);
    image.width = 4;
    image.pitch_bytes = 11;
    assert_int_equal(stk_image_decode(blob_view(file), NULL, NULL, &image, &err), STK_EINVAL);
    blob_free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_golden_picture_is_as_expected),
        cmocka_unit_test(memory_around_the_rows_is_not_touched),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
    };

    return cmocka_run_group_tests(tests, bench_set_up, bench_tear_down);
}
