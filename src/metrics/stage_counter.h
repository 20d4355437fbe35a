/*
 * Counters of one stage: how often, how long, how many bytes.
 *
 * Each thread keeps counters of its own, so that no line of memory is shared on the fast path; who
 * wants figures sums them up. Relaxed order is enough: the three numbers are figures, nothing is
 * published by them, and a reader may see one of them a sample ahead of another.
 */
#ifndef STK__STAGE_COUNTER_H
#define STK__STAGE_COUNTER_H

#include <stdint.h>

#include "base/atomic.h"

/* Zero it to start. Any thread may add, but it is cheap for one only. */
typedef struct stk__stage_counter {
    stk__atomic_u64 count;   /* atomic: how often: samples, or reads, or steps */
    stk__atomic_u64 busy_ns; /* atomic: a thread at work in it */
    stk__atomic_u64 bytes;   /* atomic: that went through */
} stk__stage_counter;

/* What several counters add up to; the fields of stk_stage_stats. */
typedef struct stk__stage_sum {
    uint64_t count, busy_ns, bytes;
} stk__stage_sum;

static inline void stk__stage_add(
    stk__stage_counter *counter, uint64_t count, uint64_t busy_ns, uint64_t bytes)
{
    stk__add_relaxed_u64(&counter->count, count);
    stk__add_relaxed_u64(&counter->busy_ns, busy_ns);
    stk__add_relaxed_u64(&counter->bytes, bytes);
}

/* Add what a counter holds now to a sum. */
static inline void stk__stage_read(const stk__stage_counter *counter, stk__stage_sum *sum)
{
    sum->count += stk__load_relaxed_u64(&counter->count);
    sum->busy_ns += stk__load_relaxed_u64(&counter->busy_ns);
    sum->bytes += stk__load_relaxed_u64(&counter->bytes);
}

#endif
