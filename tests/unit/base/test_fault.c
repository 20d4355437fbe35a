/* Without these: fault tests count the wrong operation, and paths that never failed look tested. */
#include "base/fault.h"
#include "support/test.h"

#if defined(STK__FAULTS)

static void the_nth_of_its_kind_fails_once(void **state)
{
    (void)state;

    stk__fault_arm(STK__FAULT_READ, 3);
    assert_false(stk__fault_hit(STK__FAULT_READ));
    assert_false(stk__fault_hit(STK__FAULT_ALLOC)); /* another kind does not count */
    assert_false(stk__fault_hit(STK__FAULT_READ));
    assert_true(stk__fault_hit(STK__FAULT_READ));
    assert_false(stk__fault_hit(STK__FAULT_READ));
    assert_true(stk__fault_disarm());
    assert_false(stk__fault_hit(STK__FAULT_READ));
}

static void disarming_tells_whether_it_struck(void **state)
{
    (void)state;

    stk__fault_arm(STK__FAULT_ALLOC, 2);
    assert_false(stk__fault_hit(STK__FAULT_ALLOC));
    assert_false(stk__fault_disarm());
    stk__fault_arm(STK__FAULT_ALLOC, 1); /* the count of before is gone */
    assert_true(stk__fault_hit(STK__FAULT_ALLOC));
    assert_true(stk__fault_disarm());
    assert_true(stk__fault_disarm() || !stk__fault_hit(STK__FAULT_ALLOC));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nth_of_its_kind_fails_once),
        cmocka_unit_test(disarming_tells_whether_it_struck),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void no_fault_is_in_a_build_for_users(void **state)
{
    (void)state;

    for (int i = 0; i < 100; i++)
        assert_false(stk__fault_hit(STK__FAULT_ALLOC));
    assert_int_equal(stk__fault_unnamed(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_fault_is_in_a_build_for_users),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
