/* How much of the processors a control group of Linux leaves to this process. */
#ifndef STK__CGROUP_H
#define STK__CGROUP_H

#include <stdint.h>

/*
 * Cores by the quota: the least of the groups from this process's own up to the root, rounded up; 0
 * when there is no quota or nothing can be read.
 *
 * proc: the file that names the groups, "/proc/self/cgroup". mount: where they are mounted,
 * "/sys/fs/cgroup". Version 2 has PATH/cpu.max, version 1 has cpu/PATH/cpu.cfs_quota_us and
 * _period_us. In a container the file may name a path of the host that is not mounted; the root
 * then is the container's own group.
 */
uint32_t stk__cgroup_cores(const char *proc, const char *mount);

#endif
