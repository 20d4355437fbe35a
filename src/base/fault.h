/*
 * Fault points: the N-th allocation, open, read, map, thread fails on demand.
 *
 * Compiled in only with the Meson option `faults`; otherwise stk__fault_hit() is the constant false
 * and costs nothing. One fault is armed at a time, for the whole process; beside it the file system
 * may be one that lacks something for good.
 */
#ifndef STK__FAULT_H
#define STK__FAULT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum stk__fault {
    STK__FAULT_ALLOC,
    STK__FAULT_OPEN,
    STK__FAULT_READ,
    STK__FAULT_WRITE,
    STK__FAULT_MAP,
    STK__FAULT_THREAD,
    STK__FAULT_COUNT
} stk__fault;

#if defined(STK__FAULTS)
/* The nth operation of that kind from now on fails, once; nth counts from 1. */
void stk__fault_arm(stk__fault fault, uint32_t nth);
/* Stop; true if the armed fault struck. */
bool stk__fault_disarm(void);
/* At a seam: shall this operation fail? Any thread. */
bool stk__fault_hit(stk__fault fault);

/* From now on no file without a name can be made (O_TMPFILE), and this is why: EOPNOTSUPP, as file
 * systems answer that have none, or EISDIR, as kernels before 3.11 do. 0: they can be made again.
 */
void stk__fault_refuse_unnamed(int os_errno);
/* At that seam: why, or 0. */
int stk__fault_unnamed(void);
#else
static inline bool stk__fault_hit(stk__fault fault)
{
    (void)fault;
    return false;
}

static inline int stk__fault_unnamed(void)
{
    return 0;
}
#endif

#endif
