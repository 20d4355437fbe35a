/* Without these: a directory that was cut or points outside its segment is read past its end, and
 * pictures are turned by a nonsense value. */
#include "codec/exif_orientation.h"
#include "support/test.h"

#define BYTES(literal) {.data = (literal), .size = sizeof(literal) - 1}
#define BIG            "MM\0*\0\0\0\10"
#define LITTLE         "II*\0\10\0\0\0"

static void reads_the_tag(void **state)
{
    static const struct {
        stk_view exif;
        uint32_t orientation;
    } cases[] = {
        {BYTES(BIG "\0\1\1\x12\0\3\0\0\0\1\0\6\0\0"), 6},
        {BYTES("Exif\0\0" BIG "\0\1\1\x12\0\3\0\0\0\1\0\6\0\0"), 6},
        {BYTES(LITTLE "\1\0\x12\1\3\0\1\0\0\0\x08\0\0\0"), 8},
        {BYTES(LITTLE "\1\0\x12\1\4\0\1\0\0\0\3\0\0\0"), 3},                      /* as LONG */
        {BYTES(BIG "\0\2\1\0\0\3\0\0\0\1\0\5\0\0\1\x12\0\3\0\0\0\1\0\2\0\0"), 2}, /* the second */
        {BYTES(BIG "\0\1\1\x12\0\3\0\0\0\1\0\0\0\0"), 1},                         /* 0 */
        {BYTES(BIG "\0\1\1\x12\0\3\0\0\0\1\0\11\0\0"), 1},                        /* 9 */
        {BYTES(BIG "\0\1\1\x12\0\3\0\0\0\2\0\6\0\0"), 1},                         /* two values */
        {BYTES(BIG "\0\1\1\x12\0\2\0\0\0\1\0\6\0\0"), 1},                         /* as text */
        {BYTES("MM\0*\xff\xff\xff\xff\0\1\1\x12\0\3\0\0\0\1\0\6\0\0"), 1}, /* points outside */
        {BYTES("MX\0*\0\0\0\10\0\1\1\x12\0\3\0\0\0\1\0\6\0\0"), 1},
        {BYTES(BIG "\xff\xff\1\x12\0\3\0\0\0\1\0\6\0\0"), 6}, /* more entries than there are */
        {BYTES(""), 1},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(stk__exif_orientation(cases[i].exif), cases[i].orientation);
}

/* In blocks of their exact size: a sanitizer sees a byte too far. */
static void every_cut_means_no_turn(void **state)
{
    static const char whole[] = "Exif\0\0" BIG "\0\1\1\x12\0\3\0\0\0\1\0\6\0\0";
    (void)state;

    for (size_t size = 0; size < sizeof whole - 1; size++) {
        uint8_t *copy = malloc(size > 0 ? size : 1);

        memcpy(copy, whole, size);
        assert_int_equal(stk__exif_orientation((stk_view){copy, size}), 1);
        free(copy);
    }
}

static void any_bytes_are_safe(void **state)
{
    rng r = rng_seed();
    uint8_t bytes[40];
    (void)state;

    for (int i = 0; i < 20000; i++) {
        uint32_t orientation;

        rng_fill(&r, bytes, sizeof bytes);
        memcpy(bytes, rng_below(&r, 2) > 0 ? LITTLE : BIG, 7);
        orientation = stk__exif_orientation((stk_view){bytes, rng_below(&r, sizeof bytes + 1)});
        assert_true(orientation >= 1 && orientation <= 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_tag),
        cmocka_unit_test(every_cut_means_no_turn),
        cmocka_unit_test(any_bytes_are_safe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
