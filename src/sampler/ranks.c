/* Steps and slices of a rank: see ranks.h, and docs/order.md for the specification. */
#include "sampler/ranks.h"

#include <assert.h>

/* Positions that a step of all ranks takes; below 2^64, as both factors are below 2^32. */
static uint64_t global_batch(const stk__ranks *ranks)
{
    return (uint64_t)ranks->batch * ranks->world;
}

/* Positions after the last full step. */
static uint64_t rest(const stk__ranks *ranks)
{
    return ranks->count % global_batch(ranks);
}

/* Of `rest` positions dealt out as evenly as possible: how many a rank gets, the first ranks one
 * more where it does not come out even. */
static uint32_t dealt(const stk__ranks *ranks)
{
    uint64_t left = rest(ranks);

    return (uint32_t)(left / ranks->world + (ranks->rank < left % ranks->world ? 1 : 0));
}

/* How many positions the ranks before this one get of the rest. */
static uint64_t dealt_before(const stk__ranks *ranks)
{
    uint64_t left = rest(ranks), more = left % ranks->world;

    return left / ranks->world * ranks->rank + (ranks->rank < more ? ranks->rank : more);
}

uint64_t stk__ranks_steps(const stk__ranks *ranks)
{
    uint64_t full = ranks->count / global_batch(ranks);

    return ranks->tail == STK__TAIL_DROP || rest(ranks) == 0 ? full : full + 1;
}

stk__slice stk__ranks_slice(const stk__ranks *ranks, uint64_t step)
{
    uint64_t whole = global_batch(ranks), first = step * whole;

    assert(step < stk__ranks_steps(ranks));
    if (ranks->tail == STK__TAIL_SHORT && ranks->count - first < whole)
        return (stk__slice){.first = first + dealt_before(ranks), .count = dealt(ranks)};
    return (stk__slice){
        .first = first + (uint64_t)ranks->rank * ranks->batch, .count = ranks->batch};
}

uint64_t stk__ranks_total(const stk__ranks *ranks)
{
    if (ranks->tail == STK__TAIL_SHORT)
        return ranks->count / global_batch(ranks) * ranks->batch + dealt(ranks);
    return stk__ranks_steps(ranks) * ranks->batch;
}

uint64_t stk__ranks_position(const stk__ranks *ranks, uint64_t nth)
{
    assert(nth < stk__ranks_total(ranks));
    /* Only WRAP reaches past the count. */
    return (stk__ranks_slice(ranks, nth / ranks->batch).first + nth % ranks->batch) % ranks->count;
}

bool stk__ranks_has_empty(const stk__ranks *ranks)
{
    uint64_t left = rest(ranks);

    return ranks->tail == STK__TAIL_SHORT && left > 0 && left < ranks->world;
}
