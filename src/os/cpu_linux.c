/* Cores by the affinity mask and the cgroup's quota: see cpu.h. */
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "os/cgroup.h"
#include "os/cpu.h"

uint32_t stk__cpu_usable(void)
{
    cpu_set_t mask;
    uint32_t cores = 1, quota = stk__cgroup_cores("/proc/self/cgroup", "/sys/fs/cgroup");

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
    const char *wish = getenv("STOKER_CPU"); /* NOLINT(concurrency-mt-unsafe): only read */

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
