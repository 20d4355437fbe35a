/* Without these: the order by shards leans on which position was asked for before, and a resumed
 * run goes on with other samples than the one that was stopped. */
#include "sampler/shard_windows.h"
#include "support/test.h"

enum { SHARDS = 30, LARGEST = 30 * 400 };

static uint64_t make_shards(rng *r, uint64_t *starts, uint32_t shard_count)
{
    uint64_t at = 0;

    for (uint32_t i = 0; i <= shard_count; i++) {
        starts[i] = at;
        if (i < shard_count && rng_below(r, 3) != 0)
            at += rng_below(r, rng_below(r, 10) == 0 ? 400 : 20);
    }
    if (at == 0)
        starts[shard_count] = at = 1;
    return at;
}

/* The whole epoch as a list, as docs/order.md says it. */
static void slow_twin(const uint64_t *starts, uint32_t shard_count, uint32_t width, uint64_t seed,
    uint64_t epoch, uint64_t *samples)
{
    static uint64_t inside[LARGEST];
    stk__permute shards, permute;
    uint64_t done = 0;

    stk__permute_init(&shards, shard_count, seed, epoch, STK__PERMUTE_SHARDS);
    for (uint32_t from = 0; from < shard_count; from += width) {
        uint64_t count = 0;

        for (uint32_t i = from; i < from + width && i < shard_count; i++) {
            uint64_t shard = stk__permute_at(&shards, i);
            for (uint64_t k = starts[shard]; k < starts[shard + 1]; k++)
                inside[count++] = k;
        }
        if (count == 0)
            continue;
        stk__permute_init(&permute, count, seed, epoch, STK__PERMUTE_WINDOW + from / width);
        for (uint64_t i = 0; i < count; i++)
            samples[done++] = inside[stk__permute_at(&permute, i)];
    }
}

static void equals_its_slow_twin_in_any_sequence(void **state)
{
    static uint64_t samples[LARGEST];
    rng *r = *state;

    for (int round = 0; round < 200; round++) {
        uint64_t starts[SHARDS + 1], seed = rng_next(r);
        uint32_t shard_count = 1 + (uint32_t)rng_below(r, SHARDS);
        uint32_t width = 1 + (uint32_t)rng_below(r, shard_count + 3);
        uint64_t count = make_shards(r, starts, shard_count);
        stk__heap heap = {0};
        stk__shard_windows windows = {0};

        assert_int_equal(
            stk__shard_windows_init(&windows, &heap, starts, shard_count, width, NULL), STK_OK);
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            slow_twin(starts, shard_count, width, seed, epoch, samples);
            stk__shard_windows_set(&windows, seed, epoch);
            for (uint64_t i = 0; i < count; i++)
                assert_int_equal(stk__shard_windows_at(&windows, i), samples[i]);
            for (int k = 0; k < 200; k++) {
                uint64_t position = rng_below(r, count);
                assert_int_equal(stk__shard_windows_at(&windows, position), samples[position]);
            }
        }
        stk__shard_windows_fini(&windows);
        assert_int_equal(heap.used_bytes, 0);
    }
}

static void takes_the_widest_window(void **state)
{
    static const uint64_t starts[] = {0, 5, 9};
    stk__heap heap = {0};
    stk__shard_windows windows = {0};
    uint32_t seen = 0;
    (void)state;

    assert_int_equal(stk__shard_windows_init(&windows, &heap, starts, 2, UINT32_MAX, NULL), STK_OK);
    stk__shard_windows_set(&windows, 1, 1);
    for (uint64_t i = 0; i < 9; i++)
        seen |= 1u << stk__shard_windows_at(&windows, i);
    assert_int_equal(seen, 0x1ff);
    stk__shard_windows_fini(&windows);
    stk__shard_windows_fini(&windows); /* twice is fine */
}

static int seed_it(void **state)
{
    static rng r;

    r = rng_seed();
    *state = &r;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_its_slow_twin_in_any_sequence),
        cmocka_unit_test(takes_the_widest_window),
    };

    return cmocka_run_group_tests(tests, seed_it, NULL);
}
