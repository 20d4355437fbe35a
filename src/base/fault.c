/* Fault points: see fault.h. The one mutable global outside os/, and only in test builds. */
#include "base/fault.h"

#if defined(STK__FAULTS)

#    include "base/atomic.h"

static stk__atomic_u32 armed_kind; /* kind + 1; 0: none */
static stk__atomic_u32 left;       /* operations until it strikes */
static stk__atomic_u32 struck;
static stk__atomic_u32 unnamed_errno; /* 0: there are files without a name */

void stk__fault_arm(stk__fault fault, uint32_t nth)
{
    stk__store_release_u32(&struck, 0);
    stk__store_release_u32(&left, nth);
    stk__store_release_u32(&armed_kind, (uint32_t)fault + 1);
}

bool stk__fault_disarm(void)
{
    stk__store_release_u32(&armed_kind, 0);
    return stk__load_acquire_u32(&struck) != 0;
}

bool stk__fault_hit(stk__fault fault)
{
    if (stk__load_acquire_u32(&armed_kind) != (uint32_t)fault + 1)
        return false;
    if (stk__sub_acq_rel_u32(&left, 1) != 1)
        return false;
    stk__store_release_u32(&struck, 1);
    return true;
}

void stk__fault_refuse_unnamed(int os_errno)
{
    stk__store_release_u32(&unnamed_errno, (uint32_t)os_errno);
}

int stk__fault_unnamed(void)
{
    return (int)stk__load_acquire_u32(&unnamed_errno);
}

#else

typedef int stk__fault_not_built; /* ISO C wants something in each file */

#endif
