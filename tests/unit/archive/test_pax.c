/* Without these: a record that lies about its length reads past its header, or a name is cut. */
#include "archive/pax.h"
#include "support/make_tar.h"
#include "support/test.h"

enum { AT = 1000 }; /* where the records stand in the file */

/* Read records from a block of exactly their size. */
static stk_status read_records(
    stk__heap *heap, stk__pax *pax, const char *records, size_t size, stk_error *err)
{
    char *exact = malloc(size > 0 ? size : 1);
    stk_status st;

    assert_non_null(exact);
    memcpy(exact, records, size);
    st = stk__pax_read(heap, pax, (stk_view){exact, size}, AT, err);
    free(exact);
    return st;
}

static void check_text(const stk__tar_text *text, const char *expected)
{
    assert_int_equal(text->size, strlen(expected));
    assert_memory_equal(text->data, expected, text->size);
}

static void reads_what_it_knows_and_passes_over_the_rest(void **state)
{
    static const char records[] = "12 path=a=b\n" /* the first = ends the keyword */
                                  "16 linkpath=l\nl\n"
                                  "11 size=70\n"
                                  "21 hdrcharset=BINARY\n"
                                  "15 SCHILY.x=\xff\n\n"
                                  "18 mtime=170000.5\n";
    stk__heap heap = {0};
    stk__pax pax = {0};
    stk_error err = STK_ERROR_INIT;
    (void)state;

    assert_int_equal(read_records(&heap, &pax, records, sizeof records - 1, &err), STK_OK);
    assert_true(pax.has_path && pax.has_link && pax.has_size && !pax.sparse);
    check_text(&pax.path, "a=b");
    check_text(&pax.link, "l\nl");
    assert_int_equal(pax.size, 70);
    stk__pax_reset(&pax);
    assert_false(pax.has_path || pax.has_link || pax.has_size || pax.sparse);
    stk__pax_fini(&heap, &pax);
    assert_int_equal(heap.used_bytes, 0);
}

static void later_records_win_and_empty_ones_take_back(void **state)
{
    static const char records[] = "10 path=a\n10 path=b\n11 size=10\n8 size=\n13 linkpath=\n";
    stk__heap heap = {0};
    stk__pax pax = {0};
    stk_error err = STK_ERROR_INIT;
    (void)state;

    assert_int_equal(read_records(&heap, &pax, "15 linkpath=x\n", 14, &err), STK_ECORRUPT);
    assert_int_equal(read_records(&heap, &pax, "14 linkpath=x\n", 14, &err), STK_OK);
    assert_true(pax.has_link);
    assert_int_equal(read_records(&heap, &pax, records, sizeof records - 1, &err), STK_OK);
    check_text(&pax.path, "b");
    assert_false(pax.has_size || pax.has_link);
    stk__pax_fini(&heap, &pax);
}

static void zeros_behind_the_records_are_padding(void **state)
{
    stk__heap heap = {0};
    stk__pax pax = {0};
    stk_error err = STK_ERROR_INIT;
    (void)state;

    assert_int_equal(read_records(&heap, &pax, "10 path=a\n\0\0\0", 13, &err), STK_OK);
    check_text(&pax.path, "a");
    assert_int_equal(read_records(&heap, &pax, "", 0, &err), STK_OK);
    assert_int_equal(read_records(&heap, &pax, "\0\0", 2, &err), STK_OK);
    stk__pax_fini(&heap, &pax);
}

static void recognises_every_form_of_sparse(void **state)
{
    static const char *const keys[] = {"GNU.sparse.major", "GNU.sparse.minor", "GNU.sparse.size",
        "GNU.sparse.numblocks", "GNU.sparse.offset", "GNU.sparse.map", "GNU.sparse.realsize"};
    stk__heap heap = {0};
    stk__pax pax = {0};
    stk_error err = STK_ERROR_INIT;
    char record[64];
    (void)state;

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        size_t size = tar_pax_record(record, sizeof record, keys[i], "1", 1);

        stk__pax_reset(&pax);
        assert_int_equal(read_records(&heap, &pax, record, size, &err), STK_OK);
        assert_true(pax.sparse && !pax.has_sparse_name);
    }
    assert_int_equal(read_records(&heap, &pax, "25 GNU.sparse.name=a.bin\n", 25, &err), STK_OK);
    assert_true(pax.sparse && pax.has_sparse_name);
    check_text(&pax.sparse_name, "a.bin");
    stk__pax_fini(&heap, &pax);
}

static void refuses_malformed_records_where_they_stand(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        size_t at;
    } bad[] = {
        {"999 path=zzz.jpg\n", 17, 0},      /* longer than what is there */
        {"10 path=a\n11 path=b\n", 20, 10}, /* the same, in the second */
        {"10 path=a\n8 path=b\n", 19, 10},  /* shorter: no newline at its end */
        {"10 path=a\n"
         "x path=b\n",
            19, 10},             /* no number */
        {" 10 path=a\n", 11, 0}, /* a blank before it */
        {"-1 path=a\n", 10, 0},
        {"10path=ab\n", 10, 0}, /* no blank behind it */
        {"10", 2, 0},
        {"3 \n", 3, 0},
        {"4 a\n", 4, 0}, /* no = */
        {"4 =\n", 4, 0}, /* no keyword */
        {"0 a=\n", 5, 0},
        {"1 a=\n", 5, 0},
        {"18446744073709551621 a=\n", 24, 0}, /* 2^64 + 5 */
        {"99999999999999999999999999 a=b\n", 31, 0},
        {"10 path=a\n\0"
         "10 path=b\n",
            21, 10},               /* something behind zeros */
        {"12 path=a\0b\n", 12, 0}, /* a name that C would cut */
        {"10 size=x\n", 10, 0},
        {"11 size=-1\n", 11, 0},
        {"12 size= 70\n", 12, 0},
        {"28 size=9223372036854775808\n", 28, 0}, /* 2^63 */
        {"29 size=18446744073709551617\n", 29, 0},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        stk__heap heap = {0};
        stk__pax pax = {0};
        stk_error err = STK_ERROR_INIT;

        if (read_records(&heap, &pax, bad[i].text, bad[i].size, &err) != STK_ECORRUPT)
            fail_msg("took \"%s\"", bad[i].text);
        assert_true(err.has_offset);
        assert_int_equal(err.offset, AT + bad[i].at);
        stk__pax_fini(&heap, &pax);
        assert_int_equal(heap.used_bytes, 0);
    }
}

static void takes_the_largest_size(void **state)
{
    stk__heap heap = {0};
    stk__pax pax = {0};
    stk_error err = STK_ERROR_INIT;
    (void)state;

    assert_int_equal(read_records(&heap, &pax, "28 size=9223372036854775807\n", 28, &err), STK_OK);
    assert_true(pax.size == INT64_MAX);
    stk__pax_fini(&heap, &pax);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_knows_and_passes_over_the_rest),
        cmocka_unit_test(later_records_win_and_empty_ones_take_back),
        cmocka_unit_test(zeros_behind_the_records_are_padding),
        cmocka_unit_test(recognises_every_form_of_sparse),
        cmocka_unit_test(refuses_malformed_records_where_they_stand),
        cmocka_unit_test(takes_the_largest_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
