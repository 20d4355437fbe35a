/* Without these: ranks end at different steps and hang in the all-reduce, or a run on another
 * number of ranks sees other global batches. */
#include "sampler/ranks.h"
#include "support/test.h"

enum { LARGEST = 400 };

/* How often each position comes in an epoch, over all ranks and steps. */
static void count_positions(stk__ranks ranks, uint32_t *seen)
{
    uint64_t steps = stk__ranks_steps(&ranks);
    bool empty = false;

    memset(seen, 0, LARGEST * sizeof *seen);
    for (ranks.rank = 0; ranks.rank < ranks.world; ranks.rank++) {
        uint64_t nth = 0;

        assert_int_equal(stk__ranks_steps(&ranks), steps);
        for (uint64_t step = 0; step < steps; step++) {
            stk__slice slice = stk__ranks_slice(&ranks, step);

            assert_true(slice.count <= ranks.batch);
            assert_true(slice.count == ranks.batch || step + 1 == steps);
            empty = empty || slice.count == 0;
            for (uint32_t i = 0; i < slice.count; i++, nth++) {
                uint64_t position = (slice.first + i) % ranks.count;

                seen[position]++;
                assert_int_equal(stk__ranks_position(&ranks, nth), position);
                assert_int_equal(nth / ranks.batch, step);
            }
        }
        assert_int_equal(stk__ranks_total(&ranks), nth);
    }
    ranks.rank = 0;
    assert_true(stk__ranks_has_empty(&ranks) == empty);
}

static void every_tail_keeps_its_word(void **state)
{
    static uint32_t seen[LARGEST];
    rng *r = *state;

    for (int round = 0; round < 3000; round++) {
        stk__ranks ranks = {
            .count = 1 + rng_below(r, LARGEST),
            .batch = 1 + (uint32_t)rng_below(r, 40),
            .world = 1 + (uint32_t)rng_below(r, 12),
            .tail = (stk__tail_kind)rng_below(r, 3),
        };
        uint64_t whole = (uint64_t)ranks.batch * ranks.world;
        uint64_t kept = ranks.count / whole * whole;

        count_positions(ranks, seen);
        for (uint64_t i = 0; i < ranks.count; i++) {
            if (ranks.tail == STK__TAIL_SHORT)
                assert_int_equal(seen[i], 1);
            else if (ranks.tail == STK__TAIL_DROP)
                assert_int_equal(seen[i], i < kept);
            else /* the first ones come again, as often as it takes */
                assert_int_equal(seen[i],
                    (stk__ranks_steps(&ranks) * whole + ranks.count - 1 - i) / ranks.count);
        }
    }
}

static void short_tails_differ_by_one_at_most(void **state)
{
    (void)state;

    for (uint64_t count = 1; count < 120; count++) {
        stk__ranks ranks = {.count = count, .batch = 4, .world = 6};
        uint32_t least = UINT32_MAX, most = 0;

        for (ranks.rank = 0; ranks.rank < 6; ranks.rank++) {
            uint32_t size = stk__ranks_slice(&ranks, stk__ranks_steps(&ranks) - 1).count;

            least = size < least ? size : least;
            most = size > most ? size : most;
        }
        assert_true(most - least <= 1);
    }
}

/* The positions of each step are those of any other split of the same global batch. */
static void steps_are_the_same_for_every_split(void **state)
{
    static const uint32_t worlds[] = {1, 2, 3, 4, 6, 8, 12, 24};
    (void)state;

    for (uint64_t count = 1; count < 130; count++) {
        for (int tail = 0; tail < 3; tail++) {
            for (size_t i = 0; i < COUNT_OF(worlds); i++) {
                stk__ranks ranks = {.count = count,
                    .batch = 24 / worlds[i],
                    .world = worlds[i],
                    .tail = (stk__tail_kind)tail};
                uint64_t next = 0;

                for (uint64_t step = 0; step < stk__ranks_steps(&ranks); step++) {
                    for (ranks.rank = 0; ranks.rank < ranks.world; ranks.rank++) {
                        stk__slice slice = stk__ranks_slice(&ranks, step);

                        assert_true(slice.count == 0 || slice.first == next);
                        next += slice.count;
                    }
                    ranks.rank = 0;
                    assert_int_equal(next, tail == STK__TAIL_SHORT && (step + 1) * 24 > count
                                               ? count
                                               : (step + 1) * 24);
                }
            }
        }
    }
}

static void the_largest_numbers_do_not_wrap(void **state)
{
    stk__ranks ranks = {.count = 1ull << 48,
        .batch = 1u << 20,
        .rank = UINT32_MAX - 1,
        .world = UINT32_MAX,
        .tail = STK__TAIL_WRAP};
    (void)state;

    assert_int_equal(stk__ranks_steps(&ranks), 1);
    assert_int_equal(stk__ranks_slice(&ranks, 0).first, (uint64_t)(UINT32_MAX - 1) << 20);
    assert_true(stk__ranks_position(&ranks, 0) < ranks.count);
    ranks.tail = STK__TAIL_SHORT;
    assert_int_equal(stk__ranks_total(&ranks), 65536);
    ranks.world = 1;
    ranks.rank = 0;
    ranks.batch = 1;
    assert_int_equal(stk__ranks_steps(&ranks), 1ull << 48);
    assert_int_equal(stk__ranks_position(&ranks, (1ull << 48) - 1), (1ull << 48) - 1);
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
        cmocka_unit_test(every_tail_keeps_its_word),
        cmocka_unit_test(short_tails_differ_by_one_at_most),
        cmocka_unit_test(steps_are_the_same_for_every_split),
        cmocka_unit_test(the_largest_numbers_do_not_wrap),
    };

    return cmocka_run_group_tests(tests, seed_it, NULL);
}
