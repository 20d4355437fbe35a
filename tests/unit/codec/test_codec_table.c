/* Without these: a build without a library calls functions that are not there. */
#include "codec/codec_table.h"
#include "support/test.h"

static void entries_are_whole_or_name_their_option(void **state)
{
    (void)state;

    for (size_t i = 0; i < STK__CODEC_COUNT; i++) {
        const stk__codec *codec = stk__codecs[i];

        assert_non_null(codec->name);
        assert_non_null(codec->bid);
        if (codec->missing != NULL) {
            assert_true(codec->open == NULL && codec->close == NULL);
            assert_true(codec->begin == NULL && codec->read == NULL);
        } else {
            assert_true(codec->open != NULL && codec->close != NULL);
            assert_true(codec->begin != NULL && codec->read != NULL);
        }
    }
}

static void bytes_choose_the_entry(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *name;
    } cases[] = {
        {"\xff\xd8\xff\xe0", 4, "jpeg"},
        {"\x89PNG\r\n\x1a\n", 8, "png"},
        {"RIFF\0\0\0\0WEBP", 12, "webp"},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk_view bytes = {cases[i].bytes, cases[i].size};
        stk_error err = STK_ERROR_INIT;
        size_t nth = 99;
        stk_status st = stk__codec_for(bytes, &nth, &err);

        if (st == STK_OK) {
            assert_true(nth < STK__CODEC_COUNT);
            assert_string_equal(stk__codecs[nth]->name, cases[i].name);
        } else { /* a build without it: the text has the format and the option */
            assert_int_equal(st, STK_ENOTSUP);
            assert_int_equal(nth, 99);
            assert_non_null(strstr(err.text, cases[i].name));
            assert_non_null(strstr(err.text, "Meson option"));
        }
    }
}

static void the_rest_is_named(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        stk_status status;
        const char *text;
    } cases[] = {
        {"", 0, STK_ECORRUPT, "not a picture (no bytes at all)"},
        {"\1\2\3\4", 4, STK_ECORRUPT, "not a picture (none of the known formats)"},
        {"<html>", 6, STK_ECORRUPT, "not a picture (looks like HTML)"},
        {"GIF89a", 6, STK_ENOTSUP, "GIF picture; this version does not read that format"},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk_error err = STK_ERROR_INIT;
        size_t nth = 99;

        assert_int_equal(
            stk__codec_for((stk_view){cases[i].bytes, cases[i].size}, &nth, &err), cases[i].status);
        assert_string_equal(err.text, cases[i].text);
        assert_true(err.has_offset);
        assert_int_equal(err.offset, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_whole_or_name_their_option),
        cmocka_unit_test(bytes_choose_the_entry),
        cmocka_unit_test(the_rest_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
