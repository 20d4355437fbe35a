/* Without these: an index is in another order on the next machine, or one that is in order already
 * takes for ever. */
#include "base/sort.h"
#include "support/test.h"

enum { LARGEST = 3000 };

typedef struct keys {
    const uint64_t *of;
} keys;

/* By key, equal keys by position: strict, so there is one result. */
static bool before(const void *ctx, uint32_t a, uint32_t b)
{
    const keys *k = ctx;

    return k->of[a] < k->of[b] || (k->of[a] == k->of[b] && a < b);
}

static bool before_counted(const void *ctx, uint32_t a, uint32_t b)
{
    (*(size_t *)(uintptr_t)ctx)++;
    return a < b;
}

static void puts_any_input_in_order(void **state)
{
    static uint64_t of[LARGEST];
    static uint32_t numbers[LARGEST];
    static bool seen[LARGEST];
    rng r = rng_seed();
    (void)state;

    for (int round = 0; round < 300; round++) {
        size_t count = round < 20 ? (size_t)round : rng_below(&r, LARGEST);
        uint64_t spread = 1 + rng_below(&r, 2 * LARGEST); /* few: many are equal */
        const keys k = {.of = of};

        for (size_t i = 0; i < count; i++) {
            of[i] = round % 4 == 0 ? count - i : rng_below(&r, spread);
            numbers[i] = (uint32_t)i;
            seen[i] = false;
        }
        stk__sort_u32(numbers, count, before, &k);
        for (size_t i = 0; i < count; i++) {
            assert_true(i == 0 || before(&k, numbers[i - 1], numbers[i]));
            assert_false(seen[numbers[i]]);
            seen[numbers[i]] = true;
        }
    }
}

static void what_is_in_order_costs_one_look(void **state)
{
    static uint32_t numbers[LARGEST];
    size_t asked = 0;
    (void)state;

    for (uint32_t i = 0; i < LARGEST; i++)
        numbers[i] = i;
    stk__sort_u32(numbers, LARGEST, before_counted, &asked);
    assert_int_equal(asked, LARGEST - 1);
    asked = 0;
    for (uint32_t i = 0; i < LARGEST; i++)
        numbers[i] = LARGEST - 1 - i;
    stk__sort_u32(numbers, LARGEST, before_counted, &asked);
    assert_true(asked < 2 * LARGEST * 12); /* n log n for the worst, too */
    for (uint32_t i = 0; i < LARGEST; i++)
        assert_int_equal(numbers[i], i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_any_input_in_order),
        cmocka_unit_test(what_is_in_order_costs_one_look),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
