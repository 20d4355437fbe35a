/* Without these: stage times run backwards or in other units, and the verdict is nonsense. */
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "os/clock.h"
#include "support/test.h"

static void runs_forward_in_nanoseconds(void **state)
{
    uint64_t before = stk__clock_ns(), after;
    (void)state;

    for (int i = 0; i < 100000; i++) {
        uint64_t now = stk__clock_ns();
        assert_true(now >= before);
        before = now;
    }
    before = stk__clock_ns();
    stk__clock_sleep(20 * 1000 * 1000);
    after = stk__clock_ns();
    assert_true(after - before >= 20 * 1000 * 1000);
    assert_true(
        after - before < 20ull * 1000 * 1000 * 1000); /* a slip of units, not a slow machine */
}

static void the_date_is_that_of_the_library(void **state)
{
    int64_t before = (int64_t)time(NULL), now = stk__clock_date_ns(), after = (int64_t)time(NULL);
    (void)state;

    assert_true(now >= (before - 1) * 1000000000 && now < (after + 2) * 1000000000);
}

static void on_alarm(int number)
{
    (void)number;
}

static void a_signal_does_not_shorten_a_sleep(void **state)
{
    const struct sigaction action = {.sa_handler = on_alarm};
    const struct itimerval every = {
        .it_interval = {.tv_usec = 3000}, .it_value = {.tv_usec = 3000}};
    const struct itimerval never = {.it_value = {.tv_usec = 0}};
    uint64_t before;
    (void)state;

    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
    before = stk__clock_ns();
    stk__clock_sleep(30 * 1000 * 1000);
    assert_true(stk__clock_ns() - before >= 30 * 1000 * 1000);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_forward_in_nanoseconds),
        cmocka_unit_test(the_date_is_that_of_the_library),
        cmocka_unit_test(a_signal_does_not_shorten_a_sleep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
