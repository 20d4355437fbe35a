/* Without these: a container that may use two cores gets a thread for each of the machine's 96. */
#include "os/cgroup.h"
#include "support/temp_tree.h"
#include "support/test.h"

/* One file of a made-up control group. */
typedef struct entry {
    const char *folder, *name, *text;
} entry;

static uint32_t cores_of(const char *proc, const entry *entries, size_t count)
{
    char *mount = make_temp_folder();
    uint32_t cores;

    for (size_t i = 0; i < count; i++) {
        char folder[600];

        snprintf(folder, sizeof folder, "%s", mount);
        for (const char *at = entries[i].folder; *at != '\0';) { /* make "/a/b" part by part */
            size_t length = 1 + strcspn(at + 1, "/");
            strncat(folder, at, length);
            if (!file_exists(folder))
                make_folder(folder);
            at += length;
        }
        save_text(in_folder(folder, entries[i].name), entries[i].text);
    }
    if (proc != NULL)
        save_text(in_folder(mount, "proc"), proc);
    cores = stk__cgroup_cores(in_folder(mount, "proc"), mount);
    remove_tree(mount);
    return cores;
}

#define CORES(proc, ...) \
    cores_of(proc, (const entry[]){__VA_ARGS__}, COUNT_OF(((const entry[]){__VA_ARGS__})))

static void reads_the_quota_of_version_2(void **state)
{
    (void)state;

    assert_int_equal(CORES("0::/\n", {"", "cpu.max", "200000 100000\n"}), 2);
    assert_int_equal(CORES("0::/\n", {"", "cpu.max", "150000 100000\n"}), 2); /* rounded up */
    assert_int_equal(CORES("0::/\n", {"", "cpu.max", "10000 100000\n"}), 1);
    assert_int_equal(CORES("0::/\n", {"", "cpu.max", "max 100000\n"}), 0);
    assert_int_equal(CORES("0::/\n", {"", "other", ""}), 0);
}

static void the_least_of_all_groups_above_counts(void **state)
{
    (void)state;

    assert_int_equal(
        CORES("0::/a/b/c\n", {"/a", "cpu.max", "300000 100000\n"},
            {"/a/b", "cpu.max", "max 100000\n"}, {"/a/b/c", "cpu.max", "500000 100000\n"}),
        3);
    assert_int_equal(CORES("0::/a\n", {"/a", "cpu.max", "400000 100000\n"},
                         {"/a/b", "cpu.max", "100000 100000\n"}), /* not ours */
        4);
}

/* In a container the path is often one of the host, which is not mounted: its root is ours. */
static void an_unknown_path_falls_back_to_the_root(void **state)
{
    (void)state;

    assert_int_equal(CORES("0::/docker/0123abcd\n", {"", "cpu.max", "200000 100000\n"}), 2);
    assert_int_equal(CORES(NULL, {"", "cpu.max", "200000 100000\n"}), 2);
}

static void reads_the_quota_of_version_1(void **state)
{
    static const char proc[] = "12:cpuset:/x\n3:cpu,cpuacct:/job\n1:name=systemd:/cpu\n0::/\n";
    (void)state;

    assert_int_equal(CORES(proc, {"/cpu/job", "cpu.cfs_quota_us", "250000\n"},
                         {"/cpu/job", "cpu.cfs_period_us", "100000\n"}),
        3);
    assert_int_equal(
        CORES(proc, {"/cpu/job", "cpu.cfs_quota_us", "-1\n"},
            {"/cpu/job", "cpu.cfs_period_us", "100000\n"}, {"/cpu", "cpu.cfs_quota_us", "100000\n"},
            {"/cpu", "cpu.cfs_period_us", "50000\n"}),
        2);
    assert_int_equal(CORES(proc, {"/cpu/job", "cpu.cfs_quota_us", "100000\n"}), 0); /* no period */
}

static void nonsense_is_no_quota(void **state)
{
    char longest[9000] = "0::/";
    (void)state;

    memset(longest + 4, 'x', sizeof longest - 5);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(CORES("\n\n:::\n0\n0:\n0::\n", {"", "cpu.max", "200000 100000"}), 2);
    assert_int_equal(CORES(longest, {"", "cpu.max", "200000 100000"}), 2);
    assert_int_equal(CORES("0::/", {"", "cpu.max", ""}), 0);
    assert_int_equal(CORES("0::/", {"", "cpu.max", "-5 100000"}), 0);
    assert_int_equal(CORES("0::/", {"", "cpu.max", "100000 0"}), 0);
    assert_int_equal(CORES("0::/", {"", "cpu.max", "100000"}), 0);
    assert_int_equal(
        CORES("0::/", {"", "cpu.max", "9223372036854775807 1"}), UINT32_MAX); /* no wrap */
    assert_int_equal(stk__cgroup_cores("/nonexistent", "/nonexistent"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_quota_of_version_2),
        cmocka_unit_test(the_least_of_all_groups_above_counts),
        cmocka_unit_test(an_unknown_path_falls_back_to_the_root),
        cmocka_unit_test(reads_the_quota_of_version_1),
        cmocka_unit_test(nonsense_is_no_quota),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
