/* Without these: figures of a stage lose what some threads did, and the verdict names the wrong
 * stage. */
#include "metrics/stage_counter.h"
#include "os/thread.h"
#include "support/test.h"

enum { THREADS = 4, ROUNDS = 20000 };

static void add_many(void *ctx)
{
    stk__stage_counter *counter = ctx;

    for (int i = 0; i < ROUNDS; i++)
        stk__stage_add(counter, 1, 3, 7);
}

static void sums_what_all_threads_added(void **state)
{
    stk__stage_counter own[THREADS] = {0};
    stk__stage_counter shared = {0};
    stk__thread threads[2 * THREADS];
    stk__stage_sum sum = {0};
    (void)state;

    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(
            stk__thread_start(&threads[2 * i], "stk-test-own", add_many, &own[i], NULL), STK_OK);
        assert_int_equal(
            stk__thread_start(&threads[2 * i + 1], "stk-test-all", add_many, &shared, NULL),
            STK_OK);
    }
    for (int i = 0; i < 2 * THREADS; i++)
        stk__thread_join(&threads[i]);
    for (int i = 0; i < THREADS; i++)
        stk__stage_read(&own[i], &sum);
    stk__stage_read(&shared, &sum);
    assert_int_equal(sum.count, 2 * THREADS * ROUNDS);
    assert_int_equal(sum.busy_ns, 2 * THREADS * ROUNDS * 3);
    assert_int_equal(sum.bytes, 2 * THREADS * ROUNDS * 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_what_all_threads_added),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
