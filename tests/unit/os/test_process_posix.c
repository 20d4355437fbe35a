/* Without this: a parent and its child write the same temporary file. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_is_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
