/*
 * Quotas of control groups: see cgroup.h.
 *
 * Source: Linux, Documentation/admin-guide/cgroup-v2.rst (cpu.max), scheduler/sched-bwc.rst
 * (version 1), and cgroups(7) for /proc/PID/cgroup.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "os/cgroup.h"

enum { PATH_BYTES = 4096 };

/* The text of a small file, cut at the capacity; false when there is none. */
static bool read_text(const char *path, char *text, size_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t n = 1;

    if (fd < 0)
        return false;
    while (n > 0 && used < capacity - 1) {
        n = read(fd, text + used, capacity - 1 - used);
        used += n > 0 ? (size_t)n : 0;
    }
    STK_IGNORE(close(fd) != 0); /* read-only */
    text[used] = '\0';
    return used > 0;
}

/* Cores that quota / period allows, rounded up; 0: no quota. */
static uint32_t quota_cores(long long quota, long long period)
{
    long long cores;

    if (quota <= 0 || period <= 0)
        return 0;
    cores = quota / period + (quota % period != 0);
    return cores < UINT32_MAX ? (uint32_t)cores : UINT32_MAX;
}

/* The quota of one group of version 2; "max 100000" is none. */
static uint32_t cores_v2(const char *folder)
{
    char path[PATH_BYTES + 32], text[64], *end;
    long long quota;

    STK_IGNORE(snprintf(path, sizeof path, "%s/cpu.max", folder) < 0);
    if (!read_text(path, text, sizeof text))
        return 0;
    quota = strtoll(text, &end, 10);
    return quota_cores(quota, strtoll(end, NULL, 10));
}

/* The same of version 1; -1 is none. */
static uint32_t cores_v1(const char *folder)
{
    char path[PATH_BYTES + 32], quota[32], period[32];

    STK_IGNORE(snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder) < 0);
    if (!read_text(path, quota, sizeof quota))
        return 0;
    STK_IGNORE(snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder) < 0);
    if (!read_text(path, period, sizeof period))
        return 0;
    return quota_cores(strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
}

/* The least quota from mount + group up to the mount itself. */
static uint32_t least_upward(
    const char *mount, const char *group, uint32_t (*cores_of)(const char *folder))
{
    char folder[PATH_BYTES];
    size_t root = strlen(mount);
    uint32_t least = 0;

    if (snprintf(folder, sizeof folder, "%s%s", mount, group) >= (int)sizeof folder)
        folder[root] = '\0';
    for (;;) {
        uint32_t cores = cores_of(folder);
        char *slash;

        if (cores != 0 && (least == 0 || cores < least))
            least = cores;
        slash = strrchr(folder + root, '/');
        if (slash == NULL)
            return least;
        *slash = '\0';
    }
}

/* Is "cpu" among the controllers "cpu,cpuacct"? */
static bool has_cpu(const char *controllers, size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t word = 0;

        while (at + word < length && controllers[at + word] != ',')
            word++;
        if (word == 3 && memcmp(controllers + at, "cpu", 3) == 0)
            return true;
        at += word + 1;
    }
    return false;
}

uint32_t stk__cgroup_cores(const char *proc, const char *mount)
{
    char text[2 * PATH_BYTES], mount_v1[PATH_BYTES];
    char *rest = NULL;
    uint32_t least = 0;

    STK_IGNORE(snprintf(mount_v1, sizeof mount_v1, "%s/cpu", mount) < 0);
    if (!read_text(proc, text, sizeof text))
        strcpy(text, "0::/");
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
        line = strtok_r(NULL, "\n", &rest)) { /* "hierarchy:controllers:path" */
        char *controllers = strchr(line, ':');
        char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        size_t length = group != NULL ? (size_t)(group - controllers - 1) : 0;
        uint32_t cores = 0;

        if (group == NULL)
            continue;
        if (length == 0)
            cores = least_upward(mount, group + 1, cores_v2);
        else if (has_cpu(controllers + 1, length))
            cores = least_upward(mount_v1, group + 1, cores_v1);
        if (cores != 0 && (least == 0 || cores < least))
            least = cores;
    }
    return least;
}
