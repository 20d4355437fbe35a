/* Without these: arrays of other writers are refused, and a header that lies about shape or dtype
 * is believed. */
#include "codec/npy_head.h"
#include "support/test.h"

static stk_status parse(const char *text, stk_npy_info *info, stk_error *err)
{
    size_t size = strlen(text);
    char *exact = malloc(size > 0 ? size : 1); /* so that a sanitizer sees a byte too far */
    stk_status st;

    memcpy(exact, text, size);
    st = stk__npy_dictionary((stk_view){exact, size}, 10, info, err);
    free(exact);
    return st;
}

static void reads_what_writers_write(void **state)
{
    static const struct {
        const char *text;
        stk_dtype dtype;
        uint32_t ndim;
        uint64_t shape[3], count;
        bool fortran, swapped;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", STK_F32, 2, {2, 3}, 6,
            false, false},
        {"{'descr':'<f4','fortran_order':False,'shape':(2,3)}", STK_F32, 2, {2, 3}, 6, false,
            false},
        {"{\"shape\": (6,), \"fortran_order\": True, \"descr\": \">i8\"}", STK_I64, 1, {6}, 6, true,
            true},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (), }\n", STK_U8, 0, {0}, 1, false,
            false},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (0, 4), }", STK_BOOL, 2, {0, 4}, 0,
            false, false},
        {"{'descr': '=f2', 'fortran_order': False, 'shape': (1L, 2L)}", STK_F16, 2, {1, 2}, 2,
            false, false},
        {"{'descr': 'f8', 'fortran_order': False, 'shape': (0, 99999999999), }", STK_F64, 2,
            {0, 99999999999}, 0, false, false},
        {"{'descr': '>u1', 'fortran_order': False, 'shape': (3,), }", STK_U8, 1, {3}, 3, false,
            false},
        {" \n{ 'descr' : '<u2' , 'fortran_order' : False , 'shape' : ( 2 , 2 , 2 , ) } \n", STK_U16,
            3, {2, 2, 2}, 8, false, false},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk_npy_info info;
        stk_error err = STK_ERROR_INIT;

        if (parse(cases[i].text, &info, &err) < 0)
            fail_msg("%s: %s", cases[i].text, err.text);
        assert_int_equal(info.dtype, cases[i].dtype);
        assert_int_equal(info.ndim, cases[i].ndim);
        for (uint32_t k = 0; k < info.ndim; k++)
            assert_true(info.shape[k] == cases[i].shape[k]);
        assert_true(info.count == cases[i].count);
        assert_int_equal(info.fortran, cases[i].fortran);
        assert_int_equal(info.swapped, cases[i].swapped);
    }
}

#define DESCR(d) "{'descr': " d ", 'fortran_order': False, 'shape': (3,), }"
#define SHAPE(s) "{'descr': '<f4', 'fortran_order': False, 'shape': " s ", }"

static void refuses_the_rest(void **state)
{
    static const struct {
        const char *text;
        stk_status status;
        uint64_t offset;
        const char *words;
    } cases[] = {
        {"", STK_ECORRUPT, 10, "no dictionary"},
        {"{", STK_ECORRUPT, 11, "no string"},
        {"{}", STK_ECORRUPT, 12, "missing"},
        {"{'descr': '<f4', 'fortran_order': False}", STK_ECORRUPT, 50, "missing"},
        {"{'descr': '<f4', 'descr': '<f4'}", STK_ECORRUPT, 34, "twice"},
        {"{'descr': '<f4', 'z': 1}", STK_ECORRUPT, 30, "none of descr"},
        {"{'descr': '<f4' 'fortran_order': False}", STK_ECORRUPT, 26, "no comma"},
        {"{'descr' '<f4'}", STK_ECORRUPT, 19, "no colon"},
        {"{'descr': '<f4, ", STK_ECORRUPT, 20, "no string"},
        {"{'fortran_order': 1, ", STK_ECORRUPT, 28, "neither True nor False"},
        {SHAPE("(3)"), STK_ECORRUPT, 63, "not a tuple"},
        {SHAPE("3"), STK_ECORRUPT, 60, "no tuple"},
        {SHAPE("(-1, 3)"), STK_ECORRUPT, 61, "no tuple of lengths"},
        {SHAPE("(3 3)"), STK_ECORRUPT, 63, "no comma"},
        {SHAPE("(99999999999999999999,)"), STK_ECORRUPT, 80, "64 bits"},
        {SHAPE("(4294967296, 4294967296)"), STK_ECORRUPT, 84, "64 bits"},
        {SHAPE("(1,1,1,1,1,1,1,1,1)"), STK_ENOTSUP, 77, "more than 8 axes"},
        {SHAPE("(3,)") "x", STK_ECORRUPT, 67, "more text"},
        {DESCR("'<U2'"), STK_ENOTSUP, 20, "dtype <U2 not supported"},
        {DESCR("'|S3'"), STK_ENOTSUP, 20, "dtype |S3 not supported"},
        {DESCR("'<M8[D]'"), STK_ENOTSUP, 20, "dtype <M8[D] not supported"},
        {DESCR("'<c8'"), STK_ENOTSUP, 20, "dtype <c8 not supported"},
        {DESCR("'<f16'"), STK_ENOTSUP, 20, "dtype <f16 not supported"},
        {DESCR("'|V2'"), STK_ENOTSUP, 20, "dtype |V2 not supported"},
        {DESCR("''"), STK_ENOTSUP, 20, "not supported"},
        {DESCR("'|O'"), STK_ENOTSUP, 20, "pickle"},
        {DESCR("[('id', '<i4'), ('x', '<f8')]"), STK_ENOTSUP, 20,
            "structured dtype not supported: [('id', '<i4'), ('x', '<f8')]"},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk_error err = STK_ERROR_INIT;
        stk_npy_info info = {.ndim = 77};
        stk_status st = parse(cases[i].text, &info, &err);

        if (st != cases[i].status || strstr(err.text, cases[i].words) == NULL ||
            err.offset != cases[i].offset)
            fail_msg("%s: %s at %u: %s", cases[i].text, stk_status_name(st), (unsigned)err.offset,
                err.text);
        assert_int_equal(info.ndim, 77);
    }
}

static void every_cut_is_refused(void **state)
{
    static const char whole[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    (void)state;

    for (size_t size = 0; size < sizeof whole - 1; size++) {
        char text[sizeof whole];
        stk_npy_info info;

        memcpy(text, whole, size);
        text[size] = '\0';
        assert_int_equal(parse(text, &info, NULL), STK_ECORRUPT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_writers_write),
        cmocka_unit_test(refuses_the_rest),
        cmocka_unit_test(every_cut_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
