/* Without these: more threads than cores fight each other, or STOKER_CPU=scalar changes nothing and
 * a wrong kernel cannot be told from a wrong machine. */
#include <sched.h>
#include <stdbool.h>

#include "os/cpu.h"
#include "support/test.h"

static void an_affinity_mask_is_kept(void **state)
{
    cpu_set_t before, one;
    uint32_t all = stk__cpu_usable();
    size_t first = 0;
    (void)state;

    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_true(all >= 1 && all <= (uint32_t)CPU_COUNT(&before));
    while (!CPU_ISSET(first, &before))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(stk__cpu_usable(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(stk__cpu_usable(), all);
}

/* Does /proc/cpuinfo list this flag? What the kernel allows is what may be used. */
static bool listed(const char *flag)
{
    static char line[1 << 14];
    char word[32];
    FILE *info = fopen("/proc/cpuinfo", "r");
    bool found = false;

    snprintf(word, sizeof word, " %s ", flag);
    assert_non_null(info);
    while (!found && fgets(line, sizeof line, info) != NULL) {
        line[strcspn(line, "\n")] = ' ';
        found = (strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0) &&
                strstr(line, word) != NULL;
    }
    fclose(info);
    return found;
}

static void flags_are_those_of_the_kernel(void **state)
{
    uint32_t flags;
    (void)state;

    assert_int_equal(unsetenv("STOKER_CPU"), 0);
    flags = stk__cpu_flags();
    assert_true(((flags & STK__CPU_AVX2) != 0) == listed("avx2"));
    assert_true(((flags & STK__CPU_AVX512) != 0) ==
                (listed("avx512f") && listed("avx512bw") && listed("avx512vl")));
    assert_true(((flags & STK__CPU_NEON) != 0) == listed("asimd"));
}

static void users_can_force_the_scalar_twins(void **state)
{
    uint32_t flags;
    (void)state;

    assert_int_equal(unsetenv("STOKER_CPU"), 0);
    flags = stk__cpu_flags();
    assert_int_equal(setenv("STOKER_CPU", "scalar", 1), 0);
    assert_int_equal(stk__cpu_flags(), 0);
    assert_int_equal(setenv("STOKER_CPU", "something", 1), 0);
    assert_int_equal(stk__cpu_flags(), flags);
    assert_int_equal(unsetenv("STOKER_CPU"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_affinity_mask_is_kept),
        cmocka_unit_test(flags_are_those_of_the_kernel),
        cmocka_unit_test(users_can_force_the_scalar_twins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
