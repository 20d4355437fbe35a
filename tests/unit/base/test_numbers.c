/* Without these: a size from a file wraps to a small one, or a field is read with its bytes turned
 * round. */
#include "base/bytes.h"
#include "base/size.h"
#include "support/test.h"

static void sums_and_products_tell_when_they_wrap(void **state)
{
    size_t size = 42;
    uint64_t number = 42;
    (void)state;

    assert_true(stk__size_add(SIZE_MAX - 1, 1, &size));
    assert_true(size == SIZE_MAX);
    assert_false(stk__size_add(SIZE_MAX, 1, &size));
    assert_true(stk__size_mul(SIZE_MAX / 3, 3, &size));
    assert_false(stk__size_mul(SIZE_MAX / 2 + 1, 2, &size));
    assert_true(stk__u64_add(UINT64_MAX, 0, &number));
    assert_false(stk__u64_add(UINT64_MAX, UINT64_MAX, &number));
    assert_true(stk__u64_mul(1ull << 32, (1ull << 32) - 1, &number));
    assert_false(stk__u64_mul(1ull << 32, 1ull << 32, &number));
}

static void aligns_upward(void **state)
{
    (void)state;

    assert_int_equal(stk__size_align(0, 512), 0);
    assert_int_equal(stk__size_align(1, 512), 512);
    assert_int_equal(stk__size_align(512, 512), 512);
    assert_int_equal(stk__u64_align((1ull << 40) + 1, 64), (1ull << 40) + 64);
    assert_int_equal(stk__size_min(3, 4), 3);
    assert_int_equal(stk__size_max(3, 4), 4);
    assert_int_equal(stk__u64_min(1ull << 40, 4), 4);
}

static void bytes_are_read_from_any_address(void **state)
{
    const uint8_t data[] = {0, 0x01, 0x82, 0x03, 0x84, 0x05, 0x86, 0x07, 0x88};
    const uint8_t *odd = data + 1;
    uint8_t back[10];
    (void)state;

    assert_true(stk__get_le16(odd) == 0x8201u);
    assert_true(stk__get_le32(odd) == 0x84038201u);
    assert_true(stk__get_le64(odd) == 0x8807860584038201u);
    assert_true(stk__get_be16(odd) == 0x0182u);
    assert_true(stk__get_be32(odd) == 0x01820384u);
    assert_true(stk__get_be64(odd) == 0x0182038405860788u);
    assert_true(stk__get_be32(data + 5) == 0x05860788u); /* high bits stay unsigned */
    assert_true(stk__get_be32(data + 4) == 0x84058607u);

    memset(back, 0x55, sizeof back);
    stk__put_le64(back + 1, 0x8807860584038201u);
    assert_memory_equal(back + 1, odd, 8);
    assert_int_equal(back[9], 0x55);
    memset(back, 0x55, sizeof back);
    stk__put_le32(back + 1, 0x84038201u);
    assert_memory_equal(back + 1, odd, 4);
    assert_int_equal(back[5], 0x55);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_products_tell_when_they_wrap),
        cmocka_unit_test(aligns_upward),
        cmocka_unit_test(bytes_are_read_from_any_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
