/* Cores by the affinity mask and the cgroup's quota: see cpu.h. */
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "os/cpu.h"

/* The first line of a small file; false when there is none. */
static bool first_line(const char *path, char *line, size_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, line, capacity - 1);
    STK_IGNORE(close(fd) != 0); /* read-only */
    if (n <= 0)
        return false;
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return true;
}

/* Cores that quota/period allows, rounded up; 0: no quota. */
static uint32_t quota_cores(long long quota, long long period)
{
    if (quota <= 0 || period <= 0)
        return 0;
    return (uint32_t)((quota + period - 1) / period);
}

static uint32_t cgroup_cores(void)
{
    char line[128];

    if (first_line("/sys/fs/cgroup/cpu.max", line, sizeof line)) {
        char *end;
        long long quota = strtoll(line, &end, 10); /* "max 100000" gives 0: no quota */
        return quota_cores(quota, strtoll(end, NULL, 10));
    }
    if (first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", line, sizeof line)) {
        long long quota = strtoll(line, NULL, 10); /* -1: no quota */
        if (first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us", line, sizeof line))
            return quota_cores(quota, strtoll(line, NULL, 10));
    }
    return 0;
}

uint32_t stk__cpu_usable(void)
{
    cpu_set_t mask;
    uint32_t cores = 1, quota = cgroup_cores();

    if (sched_getaffinity(0, sizeof mask, &mask) == 0) {
        cores = (uint32_t)CPU_COUNT(&mask);
    } else { /* more processors than the mask has bits for */
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        if (online > 0)
            cores = (uint32_t)online;
    }
    if (quota != 0 && quota < cores)
        cores = quota;
    return cores > 0 ? cores : 1;
}

static bool scalar_forced(void)
{
    const char *wish = getenv("STOKER_CPU");

    return wish != NULL && strcmp(wish, "scalar") == 0;
}

#if defined(__x86_64__)

uint32_t stk__cpu_flags(void)
{
    uint32_t flags = 0;

    if (scalar_forced())
        return 0;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2"))
        flags |= STK__CPU_AVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        flags |= STK__CPU_AVX512;
    return flags;
}

#elif defined(__aarch64__)

uint32_t stk__cpu_flags(void)
{
    return scalar_forced() ? 0 : STK__CPU_NEON; /* part of the base architecture */
}

#else

uint32_t stk__cpu_flags(void)
{
    STK_IGNORE(scalar_forced()); /* nothing but scalar here */
    return 0;
}

#endif
