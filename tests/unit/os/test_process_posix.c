/* Without this: a parent and its child write the same temporary file. */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process.h"
#include "support/test.h"

static void a_child_is_another(void **state)
{
    uint64_t own = stk__process_id();
    int status = -1;
    pid_t child;
    (void)state;

    assert_int_equal(stk__process_id(), own);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(stk__process_id() == own || stk__process_id() == 0 ? 1 : 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(stk__process_id() == own && own != (uint64_t)child);
}

static void the_limit_of_files_is_that_of_the_system(void **state)
{
    struct rlimit before, lower;
    (void)state;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    lower = before;
    lower.rlim_cur = 77;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &lower), 0);
    assert_int_equal(stk__process_max_files(), 77);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_is_another),
        cmocka_unit_test(the_limit_of_files_is_that_of_the_system),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
