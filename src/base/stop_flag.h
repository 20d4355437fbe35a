/*
 * Giving up a long job: one flag that whoever wants it to end sets, and that the job looks at
 * between two of its pieces.
 */
#ifndef STK__STOP_FLAG_H
#define STK__STOP_FLAG_H

#include "base/atomic.h"
#include "base/error.h"

typedef struct stk__stop {
    stk__atomic_u32 told; /* atomic, any thread: not 0 when the job is to end */
} stk__stop;

/* May it go on? STK_ESTOPPED. NULL: nobody can tell it to end. */
static inline stk_status stk__stop_check(const stk__stop *stop, stk_error *err)
{
    if (stop == NULL || stk__load_relaxed_u32(&stop->told) == 0) /* it carries nothing else */
        return STK_OK;
    return STK_FAIL(err, STK_ESTOPPED, "it was told to stop");
}

#endif
