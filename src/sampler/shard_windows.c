/* The order by shards: see shard_windows.h, and docs/order.md for the specification. */
#include "sampler/shard_windows.h"

#include "base/error.h"
#include "base/size.h"

stk_status stk__shard_windows_init(stk__shard_windows *windows, stk__heap *heap,
    const uint64_t *starts, uint32_t count, uint32_t width, stk_error *err)
{
    windows->heap = heap;
    windows->starts = starts;
    windows->count = count;
    windows->width = width;
    windows->shards = stk__heap_alloc(heap, count, sizeof *windows->shards);
    windows->firsts = stk__heap_alloc(heap, (size_t)count + 1, sizeof *windows->firsts);
    if (windows->shards == NULL || windows->firsts == NULL) {
        stk__shard_windows_fini(windows);
        return STK_FAIL(err, STK_ENOMEM, "no memory for the order of %u shards", count);
    }
    return STK_OK;
}

void stk__shard_windows_fini(stk__shard_windows *windows)
{
    if (windows->heap == NULL)
        return;
    stk__heap_free(
        windows->heap, windows->firsts, (size_t)windows->count + 1, sizeof *windows->firsts);
    stk__heap_free(windows->heap, windows->shards, windows->count, sizeof *windows->shards);
    *windows = (stk__shard_windows){0};
}

void stk__shard_windows_set(stk__shard_windows *windows, uint64_t seed, uint64_t epoch)
{
    stk__permute permute;
    uint64_t first = 0;

    stk__permute_init(&permute, windows->count, seed, epoch, STK__PERMUTE_SHARDS);
    for (uint32_t i = 0; i < windows->count; i++) {
        uint32_t shard = (uint32_t)stk__permute_at(&permute, i);

        windows->shards[i] = shard;
        windows->firsts[i] = first;
        first += windows->starts[shard + 1] - windows->starts[shard];
    }
    windows->firsts[windows->count] = first;
    windows->seed = seed;
    windows->epoch = epoch;
    windows->begin = windows->end = 0;
}

/* The last place in [from, to) whose first position is not above `position`; that of `from` is not.
 * Empty shards begin where the next one does, so they are never the last. */
static uint32_t place_of(const uint64_t *firsts, uint32_t from, uint32_t to, uint64_t position)
{
    while (to - from > 1) {
        uint32_t middle = from + (to - from) / 2;

        if (firsts[middle] <= position)
            from = middle;
        else
            to = middle;
    }
    return from;
}

static void open_window(stk__shard_windows *windows, uint64_t position)
{
    uint32_t place = place_of(windows->firsts, 0, windows->count, position);
    uint32_t window = place / windows->width;

    windows->from = window * windows->width;
    windows->to = (uint32_t)stk__u64_min((uint64_t)windows->from + windows->width, windows->count);
    windows->begin = windows->firsts[windows->from];
    windows->end = windows->firsts[windows->to];
    stk__permute_init(&windows->inside, windows->end - windows->begin, windows->seed,
        windows->epoch, STK__PERMUTE_WINDOW + (uint64_t)window);
}

uint64_t stk__shard_windows_at(stk__shard_windows *windows, uint64_t position)
{
    uint32_t place;

    if (position < windows->begin || position >= windows->end)
        open_window(windows, position);
    position = windows->begin + stk__permute_at(&windows->inside, position - windows->begin);
    place = place_of(windows->firsts, windows->from, windows->to, position);
    return windows->starts[windows->shards[place]] + (position - windows->firsts[place]);
}
