/* What this process may use of the machine. */
#ifndef STK__CPU_H
#define STK__CPU_H

#include <stdint.h>

enum {
    STK__CPU_AVX2 = 1u << 0,
    STK__CPU_AVX512 = 1u << 1, /* F, BW, VL */
    STK__CPU_NEON = 1u << 2,
};

/* Instruction sets that both the processor and the system allow. 0 under STOKER_CPU=scalar. */
uint32_t stk__cpu_flags(void);

/* Cores of the affinity mask, lowered by the quota of the cgroup (v2 cpu.max, v1 cpu.cfs_*): at
 * least 1. A quota of one and a half cores counts as two. */
uint32_t stk__cpu_usable(void);

#endif
