/*
 * The order by shards: shards permuted, taken in windows, permuted inside each window.
 *
 * One epoch of it: a table of the permuted shards with the position at which each begins, and the
 * permutation of the window that was asked for last. Belongs to one thread.
 */
#ifndef STK__SHARD_WINDOWS_H
#define STK__SHARD_WINDOWS_H

#include <stoker/base.h>

#include "base/heap.h"
#include "sampler/permute.h"

typedef struct stk__shard_windows {
    stk__heap *heap;        /* not ours */
    const uint64_t *starts; /* first sample of each shard and the count; not ours */
    uint32_t count;         /* shards */
    uint32_t width;         /* shards per window */
    uint64_t seed, epoch;
    uint32_t *shards;    /* in the order of the epoch */
    uint64_t *firsts;    /* position of the first sample of each of them, and the count */
    uint64_t begin, end; /* positions of the current window; both 0: none yet */
    uint32_t from, to;   /* its shards, as places in `shards` */
    stk__permute inside; /* its permutation */
} stk__shard_windows;

/* Zero it before. `starts` must outlive it; count and width are 1 and more. STK_ENOMEM. */
STK_MUST_CHECK stk_status stk__shard_windows_init(stk__shard_windows *windows, stk__heap *heap,
    const uint64_t *starts, uint32_t count, uint32_t width, stk_error *err);

/* Takes one that is zero or half-made. */
void stk__shard_windows_fini(stk__shard_windows *windows);

/* Turn to an epoch: O(shards), allocates nothing. */
void stk__shard_windows_set(stk__shard_windows *windows, uint64_t seed, uint64_t epoch);

/* Sample at a position: O(log shards), and less inside the window of the last one. */
uint64_t stk__shard_windows_at(stk__shard_windows *windows, uint64_t position);

#endif
