/*
 * The order of an epoch: position in, sample out. Pure arithmetic; no I/O, no threads, no clock.
 *
 * docs/order.md is the specification.
 */
#ifndef STK__ORDER_H
#define STK__ORDER_H

#include <stoker/base.h>

#include "base/heap.h"
#include "sampler/permute.h"

typedef enum stk__order_kind { /* numbers are those of stk_shuffle */
    STK__ORDER_NONE = 0,
    STK__ORDER_FULL = 1,
    STK__ORDER_SHARDS = 2,
    STK__ORDER_WEIGHTED = 3,
} stk__order_kind;

/* What the order of every epoch depends on. */
typedef struct stk__order_spec {
    stk__order_kind kind;
    uint64_t count; /* samples, 1 to 2^48 */
    uint64_t seed;
    const uint64_t *shard_starts; /* SHARDS: shard_count + 1 numbers, ascending from 0 to count;
                                     copied */
    uint32_t shard_count;
    uint32_t window;       /* SHARDS: shards per window, 1 and more */
    const double *weights; /* WEIGHTED: count of them, 2^32 at most; copied as an alias table */
} stk__order_spec;

typedef struct stk__order stk__order;

/* STK_EINVAL: count 0 or too large, weights negative, not finite, or all zero, shards that do not
 * add up; STK_ENOMEM. heap is kept. An order never changes: any number of threads may use it. */
STK_MUST_CHECK stk_status stk__order_new(
    stk__heap *heap, const stk__order_spec *spec, stk__order **order_out, stk_error *err);
void stk__order_free(stk__order *order);

/* One epoch of an order, which must outlive it; epoch 0 at first. Belongs to one thread. */
typedef struct stk__epoch stk__epoch;
STK_MUST_CHECK stk_status stk__epoch_new(
    stk__heap *heap, const stk__order *order, stk__epoch **epoch_out, stk_error *err);
void stk__epoch_free(stk__epoch *epoch);

/* Turn to an epoch; nothing if it is there already. Allocates nothing; O(shards) for SHARDS. */
void stk__epoch_set(stk__epoch *epoch, uint64_t number);

/* Sample at a position below the count; for SHARDS cheapest inside the window of the last one. */
uint64_t stk__epoch_at(stk__epoch *epoch, uint64_t position);

/* The sample that takes the row of a damaged one under STK_ON_ERROR_REPLACE; attempt is 0 to 15. */
uint64_t stk__order_substitute(
    const stk__order *order, uint64_t epoch, uint64_t sample, uint32_t attempt);

/* A hash of the weights, for states; 0 without. */
uint64_t stk__order_weights_hash(const stk__order *order);

#endif
