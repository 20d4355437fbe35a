/* The order of an epoch: see order.h, and docs/order.md for the specification. */
#include "sampler/order.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/philox.h"
#include "sampler/alias.h"
#include "sampler/counters.h"
#include "sampler/shard_windows.h"

struct stk__order {
    stk__heap *heap; /* not ours */
    stk__order_kind kind;
    uint64_t count, seed;
    uint64_t *shard_starts; /* SHARDS: shard_count + 1 */
    uint32_t shard_count, window;
    stk__alias alias;      /* WEIGHTED */
    uint64_t weights_hash; /* WEIGHTED, else 0 */
};

struct stk__epoch {
    stk__heap *heap;         /* not ours */
    const stk__order *order; /* not ours */
    uint64_t number;
    stk__permute permute;       /* FULL */
    stk__shard_windows windows; /* SHARDS */
};

static stk_status copy_shards(stk__order *order, const stk__order_spec *spec, stk_error *err)
{
    size_t marks = (size_t)spec->shard_count + 1;

    if (spec->shard_count == 0 || spec->window == 0)
        return STK_FAIL(err, STK_EINVAL,
            "an order by shards needs 1 shard and a window of 1 at "
            "least; %u and %u were given",
            spec->shard_count, spec->window);
    if (spec->shard_starts[0] != 0 || spec->shard_starts[spec->shard_count] != spec->count)
        return STK_FAIL(err, STK_EINVAL, "the shards do not begin at 0 and end at %llu samples",
            (unsigned long long)spec->count);
    for (uint32_t i = 0; i < spec->shard_count; i++) {
        if (spec->shard_starts[i] > spec->shard_starts[i + 1])
            return STK_FAIL(err, STK_EINVAL, "shard %u ends before it begins", i);
    }
    order->shard_starts = stk__heap_alloc(order->heap, marks, sizeof *order->shard_starts);
    if (order->shard_starts == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for %u shards", spec->shard_count);
    memcpy(order->shard_starts, spec->shard_starts, marks * sizeof *order->shard_starts);
    order->shard_count = spec->shard_count;
    order->window = spec->window;
    return STK_OK;
}

/* docs/order.md, "State". 0 means no weights. */
static uint64_t hash_weights(const double *weights, uint64_t count)
{
    uint64_t hash = count;

    for (uint64_t i = 0; i < count; i++) {
        double weight = weights[i] == 0 ? 0 : weights[i]; /* -0.0 is 0 */
        uint64_t bits;

        memcpy(&bits, &weight, sizeof bits);
        hash = stk__mix64((hash + 0x9E3779B97F4A7C15u) ^ bits);
    }
    return hash != 0 ? hash : 1;
}

static stk_status fill(stk__order *order, const stk__order_spec *spec, stk_error *err)
{
    switch (spec->kind) {
    case STK__ORDER_NONE:
    case STK__ORDER_FULL:
        return STK_OK;
    case STK__ORDER_SHARDS:
        return copy_shards(order, spec, err);
    case STK__ORDER_WEIGHTED:
        if (spec->weights == NULL)
            return STK_FAIL(err, STK_EINVAL, "an order by weights was given none");
        STK_TRY(stk__alias_init(&order->alias, order->heap, spec->weights, spec->count, err));
        order->weights_hash = hash_weights(spec->weights, spec->count);
        return STK_OK;
    }
    return STK_FAIL(err, STK_EINVAL, "%d is no kind of order", (int)spec->kind);
}

stk_status stk__order_new(
    stk__heap *heap, const stk__order_spec *spec, stk__order **order_out, stk_error *err)
{
    stk__order *order;
    stk_status st;

    if (spec->count == 0 || spec->count > STK__PERMUTE_MAX)
        return STK_FAIL(err, STK_EINVAL, "an order of %llu samples; it must be 1 to 2^48",
            (unsigned long long)spec->count);
    order = stk__heap_zalloc(heap, 1, sizeof *order);
    if (order == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for an order");
    order->heap = heap;
    order->kind = spec->kind;
    order->count = spec->count;
    order->seed = spec->seed;
    st = fill(order, spec, err);
    if (st < 0) {
        stk__order_free(order);
        return st;
    }
    *order_out = order;
    return STK_OK;
}

void stk__order_free(stk__order *order)
{
    if (order == NULL)
        return;
    stk__alias_fini(&order->alias);
    stk__heap_free(order->heap, order->shard_starts, (size_t)order->shard_count + 1,
        sizeof *order->shard_starts);
    stk__heap_free(order->heap, order, 1, sizeof *order);
}

uint64_t stk__order_weights_hash(const stk__order *order)
{
    return order->weights_hash;
}

uint64_t stk__order_substitute(
    const stk__order *order, uint64_t epoch, uint64_t sample, uint32_t attempt)
{
    stk__philox_block block =
        stk__philox(order->seed, epoch, sample, STK__COUNTER_SUBSTITUTE, attempt, 0);

    return stk__below(block.word[0], order->count);
}

static void turn(stk__epoch *epoch, uint64_t number)
{
    const stk__order *order = epoch->order;

    epoch->number = number;
    if (order->kind == STK__ORDER_FULL)
        stk__permute_init(&epoch->permute, order->count, order->seed, number, STK__PERMUTE_SAMPLES);
    else if (order->kind == STK__ORDER_SHARDS)
        stk__shard_windows_set(&epoch->windows, order->seed, number);
}

stk_status stk__epoch_new(
    stk__heap *heap, const stk__order *order, stk__epoch **epoch_out, stk_error *err)
{
    stk__epoch *epoch = stk__heap_zalloc(heap, 1, sizeof *epoch);

    if (epoch == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for an epoch");
    epoch->heap = heap;
    epoch->order = order;
    if (order->kind == STK__ORDER_SHARDS) {
        stk_status st = stk__shard_windows_init(
            &epoch->windows, heap, order->shard_starts, order->shard_count, order->window, err);
        if (st < 0) {
            stk__epoch_free(epoch);
            return st;
        }
    }
    turn(epoch, 0);
    *epoch_out = epoch;
    return STK_OK;
}

void stk__epoch_free(stk__epoch *epoch)
{
    if (epoch == NULL)
        return;
    stk__shard_windows_fini(&epoch->windows);
    stk__heap_free(epoch->heap, epoch, 1, sizeof *epoch);
}

void stk__epoch_set(stk__epoch *epoch, uint64_t number)
{
    if (epoch->number != number)
        turn(epoch, number);
}

uint64_t stk__epoch_at(stk__epoch *epoch, uint64_t position)
{
    const stk__order *order = epoch->order;
    stk__philox_block block;

    assert(position < order->count);
    switch (order->kind) {
    case STK__ORDER_NONE:
        break;
    case STK__ORDER_FULL:
        return stk__permute_at(&epoch->permute, position);
    case STK__ORDER_SHARDS:
        return stk__shard_windows_at(&epoch->windows, position);
    case STK__ORDER_WEIGHTED:
        block = stk__philox(order->seed, epoch->number, position, STK__COUNTER_WEIGHTED, 0, 0);
        return stk__alias_draw(&order->alias, block.word[0], block.word[1]);
    }
    return position;
}
