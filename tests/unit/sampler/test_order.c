/* Without these: an epoch has a sample twice or not at all, a window of shards reads outside
 * itself, or a bad option is found out in mid-epoch. */
#include "sampler/order.h"
#include "support/test.h"

/* Every sample of an order once, from a fresh epoch; the heap is clean after. */
static void assert_each_once(const stk__order_spec *spec, uint64_t number)
{
    stk__heap heap = {0};
    stk__order *order = NULL;
    stk__epoch *epoch = NULL;
    uint8_t *seen = calloc((size_t)spec->count, 1);
    uint64_t allocations;

    assert_non_null(seen);
    assert_int_equal(stk__order_new(&heap, spec, &order, NULL), STK_OK);
    assert_int_equal(stk__epoch_new(&heap, order, &epoch, NULL), STK_OK);
    allocations = heap.allocations;
    stk__epoch_set(epoch, number);
    for (uint64_t i = 0; i < spec->count; i++) {
        uint64_t sample = stk__epoch_at(epoch, i);

        assert_true(sample < spec->count);
        assert_int_equal(seen[sample]++, 0);
    }
    assert_int_equal(heap.allocations, allocations); /* an epoch allocates nothing */
    stk__epoch_free(epoch);
    stk__order_free(order);
    assert_int_equal(heap.used_bytes, 0);
    free(seen);
}

static void none_and_full_have_each_sample_once(void **state)
{
    (void)state;

    for (uint64_t n = 1; n < 700; n = n * 3 / 2 + 1) {
        assert_each_once(&(stk__order_spec){.kind = STK__ORDER_NONE, .count = n}, 4);
        assert_each_once(&(stk__order_spec){.kind = STK__ORDER_FULL, .count = n, .seed = 3}, 4);
    }
}

/* Random shards, many of them empty. */
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

static void shards_have_each_sample_once(void **state)
{
    enum { SHARDS = 40 };

    rng *r = *state;

    for (int round = 0; round < 300; round++) {
        uint64_t starts[SHARDS + 1];
        uint32_t shard_count = 1 + (uint32_t)rng_below(r, SHARDS);
        uint64_t count = make_shards(r, starts, shard_count);
        const stk__order_spec spec = {
            .kind = STK__ORDER_SHARDS,
            .count = count,
            .seed = rng_next(r),
            .shard_starts = starts,
            .shard_count = shard_count,
            .window = 1 + (uint32_t)rng_below(r, shard_count + 3),
        };

        assert_each_once(&spec, rng_next(r));
    }
}

/* What the order by shards is for: in any stretch only the shards of one window are open. */
static void no_more_shards_are_open_than_the_window(void **state)
{
    enum { SHARDS = 12, EACH = 50, WIDTH = 4 };

    uint64_t starts[SHARDS + 1];
    stk__heap heap = {0};
    stk__order *order = NULL;
    stk__epoch *epoch = NULL;
    uint8_t used[SHARDS] = {0};
    int neighbours = 0;
    (void)state;

    for (uint32_t i = 0; i <= SHARDS; i++)
        starts[i] = (uint64_t)i * EACH;
    assert_int_equal(stk__order_new(&heap,
                         &(stk__order_spec){.kind = STK__ORDER_SHARDS,
                             .count = starts[SHARDS],
                             .seed = 9,
                             .shard_starts = starts,
                             .shard_count = SHARDS,
                             .window = WIDTH},
                         &order, NULL),
        STK_OK);
    assert_int_equal(stk__epoch_new(&heap, order, &epoch, NULL), STK_OK);
    for (uint64_t window = 0; window < SHARDS / WIDTH; window++) {
        uint8_t open[SHARDS] = {0};
        int count = 0;

        for (uint64_t i = 0; i < (uint64_t)WIDTH * EACH; i++) {
            uint64_t position = window * WIDTH * EACH + i;
            uint64_t sample = stk__epoch_at(epoch, position);

            count += open[sample / EACH]++ == 0;
            neighbours += i > 0 && sample == stk__epoch_at(epoch, position - 1) + 1;
        }
        assert_int_equal(count, WIDTH);
        for (int i = 0; i < SHARDS; i++) {
            assert_true(open[i] == 0 || open[i] == EACH);
            assert_true(open[i] == 0 || used[i]++ == 0); /* and each shard in one window only */
        }
    }
    assert_true(neighbours < 20); /* about 3 by chance, 597 in dataset order */
    stk__epoch_free(epoch);
    stk__order_free(order);
}

static void refuses_what_is_no_order(void **state)
{
    static const uint64_t starts[] = {0, 4, 3, 8}, late[] = {1, 4, 8}, missing[] = {0, 4, 7};
    static const double negative[] = {1, -1};
    static const stk__order_spec bad[] = {
        {.kind = STK__ORDER_FULL, .count = 0},
        {.kind = STK__ORDER_FULL, .count = (1ull << 48) + 1},
        {.kind = (stk__order_kind)9, .count = 5},
        {.kind = STK__ORDER_SHARDS,
            .count = 8,
            .shard_starts = starts,
            .shard_count = 3,
            .window = 1},
        {.kind = STK__ORDER_SHARDS,
            .count = 8,
            .shard_starts = late,
            .shard_count = 2,
            .window = 1},
        {.kind = STK__ORDER_SHARDS,
            .count = 8,
            .shard_starts = missing,
            .shard_count = 2,
            .window = 1},
        {.kind = STK__ORDER_SHARDS,
            .count = 7,
            .shard_starts = missing,
            .shard_count = 2,
            .window = 0},
        {.kind = STK__ORDER_SHARDS, .count = 7, .shard_starts = missing, .window = 1},
        {.kind = STK__ORDER_WEIGHTED, .count = 2, .weights = negative},
        {.kind = STK__ORDER_WEIGHTED, .count = 2},
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        stk__heap heap = {0};
        stk_error err = STK_ERROR_INIT;
        stk__order *order = NULL;

        assert_int_equal(stk__order_new(&heap, &bad[i], &order, &err), STK_EINVAL);
        assert_int_equal(err.status, STK_EINVAL);
        assert_true(err.text[0] != '\0');
        assert_null(order);
        assert_int_equal(heap.used_bytes, 0);
    }
}

/* A ceiling that is one byte short of each allocation in turn. */
static void a_full_heap_leaves_nothing_behind(void **state)
{
    static const uint64_t starts[] = {0, 4, 8};
    static const double weights[] = {1, 2, 3, 4, 5, 6, 7, 8};
    (void)state;

    for (int kind = 0; kind < 4; kind++) {
        const stk__order_spec spec = {
            .kind = (stk__order_kind)kind,
            .count = 8,
            .shard_starts = starts,
            .shard_count = 2,
            .window = 1,
            .weights = weights,
        };
        bool done = false;

        for (uint64_t ceiling = 1; !done; ceiling++) {
            stk__heap heap = {.ceiling_bytes = ceiling};
            stk__order *order = NULL;
            stk__epoch *epoch = NULL;
            stk_status st = stk__order_new(&heap, &spec, &order, NULL);

            if (st == STK_OK)
                st = stk__epoch_new(&heap, order, &epoch, NULL);
            done = st == STK_OK;
            assert_true(done || st == STK_ENOMEM);
            stk__epoch_free(epoch);
            stk__order_free(order);
            assert_int_equal(heap.used_bytes, 0);
        }
    }
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
        cmocka_unit_test(none_and_full_have_each_sample_once),
        cmocka_unit_test(shards_have_each_sample_once),
        cmocka_unit_test(no_more_shards_are_open_than_the_window),
        cmocka_unit_test(refuses_what_is_no_order),
        cmocka_unit_test(a_full_heap_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, seed_it, NULL);
}
