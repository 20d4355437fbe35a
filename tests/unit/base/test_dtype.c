/* Without these: a tensor is read with elements of another size than it was written with. */
#include <stoker/base.h>

#include "support/test.h"

static void every_dtype_has_its_name_and_size(void **state)
{
    static const struct {
        stk_dtype dtype;
        const char *name;
        size_t bytes;
    } all[] = {
        {STK_U8, "uint8", 1},
        {STK_I8, "int8", 1},
        {STK_U16, "uint16", 2},
        {STK_I16, "int16", 2},
        {STK_U32, "uint32", 4},
        {STK_I32, "int32", 4},
        {STK_U64, "uint64", 8},
        {STK_I64, "int64", 8},
        {STK_F16, "float16", 2},
        {STK_BF16, "bfloat16", 2},
        {STK_F32, "float32", 4},
        {STK_F64, "float64", 8},
        {STK_BOOL, "bool", 1},
    };

    (void)state;

    for (size_t i = 0; i < COUNT_OF(all); i++) {
        assert_int_equal(all[i].dtype, i + 1); /* the numbers are part of the interface */
        assert_string_equal(stk_dtype_name(all[i].dtype), all[i].name);
        assert_int_equal(stk_dtype_bytes(all[i].dtype), all[i].bytes);
        assert_int_equal(stk_dtype_of(all[i].name), all[i].dtype);
    }
}

static void what_is_no_dtype_is_told(void **state)
{
    (void)state;

    assert_int_equal(stk_dtype_bytes(STK_DTYPE_NONE), 0);
    assert_int_equal(stk_dtype_bytes((stk_dtype)14), 0);
    assert_string_equal(stk_dtype_name((stk_dtype)99), "?");
    assert_int_equal(stk_dtype_of("float"), STK_DTYPE_NONE);
    assert_int_equal(stk_dtype_of(""), STK_DTYPE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_has_its_name_and_size),
        cmocka_unit_test(what_is_no_dtype_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
