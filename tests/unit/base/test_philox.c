/* Without these: shuffles and augmentations change with a compiler, and no saved state is worth
 * anything. */
#include "base/philox.h"
#include "support/test.h"

/* Known answers of Random123 (kat_vectors, philox4x64 10). */
static void equals_the_known_answers(void **state)
{
    stk__philox_block zero = stk__philox(0, 0, 0, 0, 0, 0);
    stk__philox_block ones =
        stk__philox(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    (void)state;

    assert_true(zero.word[0] == 0x16554d9eca36314cu);
    assert_true(zero.word[1] == 0xdb20fe9d672d0fdcu);
    assert_true(zero.word[2] == 0xd7e772cee186176bu);
    assert_true(zero.word[3] == 0x7e68b68aec7ba23bu);
    assert_true(ones.word[0] == 0x87b092c3013fe90bu);
    assert_true(ones.word[1] == 0x438c3c67be8d0224u);
    assert_true(ones.word[2] == 0x9cc7d7c69cd777b6u);
    assert_true(ones.word[3] == 0xa09caebf594f0ba0u);
}

static void maps_words_into_ranges(void **state)
{
    (void)state;

    assert_true(stk__unit(UINT64_MAX) < 1.0);
    assert_true(stk__unit(0) == 0.0);
    assert_true(stk__below(UINT64_MAX, 7) == 6);
    assert_true(stk__below(0, 7) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_known_answers),
        cmocka_unit_test(maps_words_into_ranges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
