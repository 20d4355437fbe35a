/* Without these: a sample of weight 0 is trained on, or rare samples come too often or never. */
#include <math.h>

#include "base/philox.h"
#include "sampler/alias.h"
#include "support/test.h"

/* The probability of each index by the table itself, summed exactly enough. */
static void probabilities(const stk__alias *alias, double *of)
{
    memset(of, 0, (size_t)alias->count * sizeof *of);
    for (uint64_t i = 0; i < alias->count; i++) {
        double own = (double)alias->thresholds[i] * 0x1p-64;

        of[i] += own / (double)alias->count;
        of[alias->others[i]] += (1 - own) / (double)alias->count;
    }
}

static void assert_table_is_true(const double *weights, uint64_t count)
{
    stk__heap heap = {0};
    stk__alias alias = {0};
    double *of = malloc((size_t)count * sizeof *of);
    double sum = 0;

    assert_non_null(of);
    assert_int_equal(stk__alias_init(&alias, &heap, weights, count, NULL), STK_OK);
    probabilities(&alias, of);
    for (uint64_t i = 0; i < count; i++)
        sum += weights[i];
    for (uint64_t i = 0; i < count; i++) {
        assert_true(fabs(of[i] - weights[i] / sum) < 1e-12);
        if (weights[i] == 0) {
            assert_true(alias.thresholds[i] == 0);
            for (uint64_t k = 0; k < count; k++)
                assert_true(alias.others[k] != i);
        }
    }
    stk__alias_fini(&alias);
    assert_int_equal(heap.used_bytes, 0);
    free(of);
}

static void holds_the_weights_it_was_given(void **state)
{
    static const double plain[] = {1, 2, 0, 5, 0.5, 0, 0.25, 3};
    static const double same[] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
    static const double tiny[] = {4e-320, 0, 1e-320};
    static const double one[] = {1e-9};
    rng *r = *state;

    assert_table_is_true(plain, COUNT_OF(plain));
    assert_table_is_true(same, COUNT_OF(same));
    assert_table_is_true(tiny, COUNT_OF(tiny));
    assert_table_is_true(one, 1);
    for (int round = 0; round < 100; round++) {
        double weights[300];
        uint64_t count = 1 + rng_below(r, COUNT_OF(weights));

        for (uint64_t i = 0; i < count; i++)
            weights[i] = rng_below(r, 4) == 0 ? 0 : exp((double)rng_float(r, -20, 20));
        weights[rng_below(r, count)] = 1;
        assert_table_is_true(weights, count);
    }
}

static void draws_by_weight(void **state)
{
    enum { DRAWS = 400000 };

    static const double weights[] = {1e308, 0, 1.5e308, 0.5e308, 1e-5};
    static const double shares[] = {1.0 / 3, 0, 0.5, 1.0 / 6, 0};
    const double draws = (double)DRAWS;
    uint32_t counts[COUNT_OF(weights)] = {0};
    stk__heap heap = {0};
    stk__alias alias = {0};
    (void)state;

    assert_int_equal(stk__alias_init(&alias, &heap, weights, COUNT_OF(weights), NULL), STK_OK);
    for (uint64_t i = 0; i < DRAWS; i++) {
        stk__philox_block block = stk__philox(1, 2, i, 0, 0, 0);
        uint64_t drawn = stk__alias_draw(&alias, block.word[0], block.word[1]);

        assert_true(drawn < COUNT_OF(weights));
        counts[drawn]++;
    }
    for (size_t i = 0; i < COUNT_OF(weights); i++)
        assert_true(fabs(counts[i] - shares[i] * draws) <= 5 * sqrt(shares[i] * draws));
    stk__alias_fini(&alias);
}

/* The last word of all: a full column must not go to its neighbour. */
static void ends_of_the_words_are_safe(void **state)
{
    static const double weights[] = {1, 1, 2, 0};
    stk__heap heap = {0};
    stk__alias alias = {0};
    (void)state;

    assert_int_equal(stk__alias_init(&alias, &heap, weights, 4, NULL), STK_OK);
    for (uint64_t i = 0; i < 4; i++) {
        assert_true(stk__alias_draw(&alias, i << 62, UINT64_MAX) < 3);
        assert_true(stk__alias_draw(&alias, i << 62, 0) < 3);
        assert_true(stk__alias_draw(&alias, (i << 62) + (UINT64_MAX >> 2), UINT64_MAX) < 3);
    }
    stk__alias_fini(&alias);
}

static void refuses_what_is_no_weight(void **state)
{
    const double bad[][3] = {
        {1, -1e-300, 1}, {1, NAN, 1}, {INFINITY, 1, 1}, {0, 0, 0}, {-0.0, 0, 0}};
    (void)state;

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        stk__heap heap = {0};
        stk__alias alias = {0};
        stk_error err = STK_ERROR_INIT;

        assert_int_equal(stk__alias_init(&alias, &heap, bad[i], 3, &err), STK_EINVAL);
        assert_true(err.text[0] != '\0');
        assert_int_equal(heap.allocations, 0);
        assert_int_equal(stk__alias_init(&alias, &heap, bad[i], 0, &err), STK_EINVAL);
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
        cmocka_unit_test(holds_the_weights_it_was_given),
        cmocka_unit_test(draws_by_weight),
        cmocka_unit_test(ends_of_the_words_are_safe),
        cmocka_unit_test(refuses_what_is_no_weight),
    };

    return cmocka_run_group_tests(tests, seed_it, NULL);
}
