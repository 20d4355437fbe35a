/* Without these: a damaged text chunk spoils a good picture, and a chunk that claims 4 GB sends the
 * reader past the end of the file. */
#include "codec/png_chunks.h"
#include "support/test.h"

#define SIGNATURE      "\x89PNG\r\n\x1a\n"
#define BYTES(literal) {.data = (literal), .size = sizeof(literal) - 1}

static void side_chunks_are_stepped_over(void **state)
{
    static const char file[] =
        SIGNATURE "\0\0\0\2tEXtxy....\0\0\0\3IDATabcCRC1\0\0\0\0zTXt....\0\0\0\0IENDcrc2";
    static const char wanted[] = SIGNATURE "\0\0\0\3IDATabcCRC1\0\0\0\0IENDcrc2";
    uint8_t got[sizeof wanted - 1];
    (void)state;

    for (size_t step = 1; step <= sizeof got; step++) { /* in pieces of any size */
        stk__png_stream stream = {.encoded = {file, sizeof file - 1}};
        size_t at = 0;

        memset(got, 0, sizeof got);
        while (at < sizeof got) {
            size_t piece = sizeof got - at < step ? sizeof got - at : step;
            assert_true(stk__png_stream_read(&stream, got + at, piece));
            at += piece;
        }
        assert_memory_equal(got, wanted, sizeof got);
        assert_int_equal(stream.at, sizeof file - 1);
        assert_false(stk__png_stream_read(&stream, got, 1));
    }
}

static void the_end_of_the_file_is_the_end_of_the_stream(void **state)
{
    static const stk_view files[] = {
        BYTES(""),
        BYTES("\x89PN"),
        BYTES(SIGNATURE),
        BYTES(SIGNATURE "\0\0\0"),
        BYTES(SIGNATURE "\xff\xff\xff\xffIDATabc"),
        BYTES(SIGNATURE "\xff\xff\xff\xfftEXtabc"),
        BYTES(SIGNATURE "\0\0\0\1tEXta..."),
    };
    uint8_t byte;
    (void)state;

    for (size_t i = 0; i < COUNT_OF(files); i++) {
        stk__png_stream stream = {.encoded = files[i]};
        size_t count = 0;

        while (stk__png_stream_read(&stream, &byte, 1))
            count++;
        assert_true(count <= files[i].size);
        assert_int_equal(stream.at, files[i].size);
        assert_false(stk__png_stream_read(&stream, &byte, 1)); /* and stays there */
    }
}

static void a_walk_counts_what_is_there(void **state)
{
    static const char ifd[] = "MM\0*\0\0\0\10\0\1\1\22\0\3\0\0\0\1\0\6\0\0";

    static const struct {
        stk_view file;
        uint64_t data_bytes;
    } cases[] = {
        {BYTES(SIGNATURE), 0},
        {BYTES(SIGNATURE "\0\0\0\3IDATabc....\0\0\0\2IDATab....\0\0\0\0IEND...."), 5},
        {BYTES(SIGNATURE "\0\0\0\3IDATab"), 2},
        {BYTES(SIGNATURE "\xff\xff\xff\xffIDATabcd"), 4},
        {BYTES(SIGNATURE "\0\0\0\0IEND....\0\0\0\3IDATabc...."), 0}, /* behind the end */
    };

    uint8_t with_exif[64];
    stk__png_survey survey;
    size_t size = 0;
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        survey = stk__png_walk(cases[i].file);
        assert_int_equal(survey.data_bytes, cases[i].data_bytes);
        assert_int_equal(survey.orientation, 1);
    }
    memcpy(with_exif,
        SIGNATURE "\0\0\0\x16"
                  "eXIf",
        16);
    memcpy(with_exif + 16, ifd, sizeof ifd - 1);
    size = 16 + sizeof ifd - 1;
    assert_int_equal(sizeof ifd - 1, 0x16);
    assert_int_equal(stk__png_walk((stk_view){with_exif, size}).orientation, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(side_chunks_are_stepped_over),
        cmocka_unit_test(the_end_of_the_file_is_the_end_of_the_stream),
        cmocka_unit_test(a_walk_counts_what_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
