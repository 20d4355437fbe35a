/* Without these: a sample is lost or doubled in a shuffle, or samples that lie side by side stay
 * near each other in every epoch, and training is worse without anybody seeing why. */
#include <math.h>

#include "sampler/permute.h"
#include "support/test.h"

static void is_a_bijection_for_every_small_n(void **state)
{
    static uint8_t seen[2048];
    (void)state;

    for (uint64_t n = 1; n <= sizeof seen; n++) {
        stk__permute permute;

        stk__permute_init(&permute, n, n * 7919, n % 3, n % 5);
        memset(seen, 0, sizeof seen);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t image = stk__permute_at(&permute, i);

            assert_true(image < n);
            assert_int_equal(seen[image]++, 0);
            assert_int_equal(stk__permute_find(&permute, image), i);
        }
    }
}

/* Sizes around squares, powers of two and the largest: where a rectangle can be one too small. */
static void comes_back_for_every_large_n(void **state)
{
    static const uint64_t sizes[] = {65535, 65536, 65537, (1u << 20) - 1, 1281167, 4294967295u,
        4294967296u, 4294967297u, 1ull << 46, (1ull << 24) * ((1ull << 24) - 1),
        (1ull << 24) * ((1ull << 24) - 1) + 1, ((1ull << 24) - 1) * ((1ull << 24) - 1),
        STK__PERMUTE_MAX - 1, STK__PERMUTE_MAX};
    rng *r = *state;

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        stk__permute permute;

        stk__permute_init(&permute, sizes[i], rng_next(r), rng_next(r), 0);
        assert_true(permute.rows * permute.columns >= sizes[i]);
        assert_true((permute.rows - 1) * (permute.rows - 1) < sizes[i]);
        for (int k = 0; k < 20000; k++) {
            uint64_t position = k < 4   ? (uint64_t)k
                                : k < 8 ? sizes[i] - 1 - (uint64_t)(k - 4)
                                        : rng_below(r, sizes[i]);
            uint64_t image = stk__permute_at(&permute, position);

            assert_true(image < sizes[i]);
            assert_int_equal(stk__permute_find(&permute, image), position);
        }
    }
}

/* Chi-square of counts that should all be the same, as a normal number by the cube root of Wilson
 * and Hilferty, which also holds for a few cells. */
static double deviation(const uint32_t *counts, size_t cells, double draws)
{
    double want = draws / (double)cells, sum = 0, freedom = (double)(cells - 1);

    for (size_t i = 0; i < cells; i++)
        sum += (counts[i] - want) * (counts[i] - want) / want;
    return (cbrt(sum / freedom) - (1 - 2 / (9 * freedom))) / sqrt(2 / (9 * freedom));
}

/* Seeds are fixed, so each figure is one number for ever; 5 deviations come by chance in one of a
 * million, and a scheme that is off goes to dozens. */
static void assert_even(const uint32_t *counts, size_t cells, double draws, const char *what)
{
    double z = deviation(counts, cells, draws);

    if (!(fabs(z) < 5))
        fail_msg("%s: %.1f standard deviations from even", what, z);
}

/* Each of the 24 orders of four is as likely as any other. */
static void every_order_of_four_is_as_likely(void **state)
{
    enum { SEEDS = 240000 };

    uint32_t counts[256] = {0}, packed[24];
    size_t kinds = 0;
    (void)state;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        stk__permute permute;

        stk__permute_init(&permute, 4, seed, 1, 0);
        counts[stk__permute_at(&permute, 0) | stk__permute_at(&permute, 1) << 2 |
               stk__permute_at(&permute, 2) << 4 | stk__permute_at(&permute, 3) << 6]++;
    }
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        if (counts[i] > 0) {
            assert_true(kinds < 24);
            packed[kinds++] = counts[i];
        }
    }
    assert_int_equal(kinds, 24);
    assert_even(packed, 24, SEEDS, "orders of four");
}

/* Over many seeds each value lands at each place as often, and so does each pair of values at a
 * pair of places: beside each other, one column apart, first and last. */
static void pairs_land_evenly(void **state)
{
    static const uint64_t sizes[] = {2, 3, 5, 16, 100, 256, 257, 289, 300, 1000};
    static uint32_t single[3][1000], apart[3][1000];
    (void)state;

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        uint64_t n = sizes[i], seeds = 60 * n < 30000 ? 30000 : 60 * n;
        const uint64_t seconds[3] = {1, n / 2 > 0 ? n / 2 : 1, n - 1};
        char what[64];

        memset(single, 0, sizeof single);
        memset(apart, 0, sizeof apart);
        for (uint64_t seed = 0; seed < seeds; seed++) {
            stk__permute permute;

            stk__permute_init(&permute, n, seed, 0, 0);
            for (int k = 0; k < 3; k++) {
                uint64_t a = stk__permute_at(&permute, 0);
                uint64_t b = stk__permute_at(&permute, seconds[k]);

                single[k][b]++;
                apart[k][(b + n - a) % n]++;
            }
        }
        for (int k = 0; k < 3; k++) {
            snprintf(what, sizeof what, "n %d, place %d", (int)n, (int)seconds[k]);
            assert_even(single[k], n, (double)seeds, what);
            assert_int_equal(apart[k][0], 0);
            if (n > 2)
                assert_even(apart[k] + 1, n - 1, (double)seeds, what);
        }
    }
}

/* Epochs, seeds and streams that differ by one give orders that have nothing to do with each other:
 * the shift between them is even, too. */
static void neighbouring_keys_have_nothing_in_common(void **state)
{
    enum { N = 400, SEEDS = 40000 };

    static uint32_t apart[3][N];
    (void)state;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        stk__permute base, other[3];

        stk__permute_init(&base, N, seed, seed, 0);
        stk__permute_init(&other[0], N, seed + 1, seed, 0);
        stk__permute_init(&other[1], N, seed, seed + 1, 0);
        stk__permute_init(&other[2], N, seed, seed, 1);
        for (int k = 0; k < 3; k++)
            apart[k][(stk__permute_at(&base, 5) + N - stk__permute_at(&other[k], 5)) % N]++;
    }
    assert_even(apart[0], N, SEEDS, "next seed");
    assert_even(apart[1], N, SEEDS, "next epoch");
    assert_even(apart[2], N, SEEDS, "next stream");
}

/* In one large permutation: correlation of neighbours, fixed points, and how even the values of a
 * stretch are spread, as a batch wants it. */
static void one_large_permutation_looks_like_chance(void **state)
{
    enum { N = 1281167, CELLS = 1000, BATCH = 50000 };

    static uint32_t spread[CELLS];
    uint64_t before = 0, fixed = 0, ascents = 0;
    const double n = (double)N, mean = (n - 1) / 2, variance = (n * n - 1) / 12;
    double sum = 0;
    stk__permute permute;
    (void)state;

    stk__permute_init(&permute, N, 42, 0, 0);
    for (uint64_t i = 0; i < N; i++) {
        uint64_t value = stk__permute_at(&permute, i);

        fixed += value == i;
        if (i > 0) {
            sum += ((double)value - mean) * ((double)before - mean) / variance;
            ascents += value > before;
        }
        if (i < BATCH)
            spread[value * CELLS / N]++;
        before = value;
    }
    assert_true(fabs(sum / n) * sqrt(n) < 5);                      /* a normal number by chance */
    assert_true(fixed <= 8);                                       /* mean 1, as Poisson */
    assert_true(fabs((double)ascents - n / 2) < 5 * sqrt(n / 12)); /* Eulerian numbers */
    assert_even(spread, CELLS, BATCH, "the first stretch");
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
        cmocka_unit_test(is_a_bijection_for_every_small_n),
        cmocka_unit_test(comes_back_for_every_large_n),
        cmocka_unit_test(every_order_of_four_is_as_likely),
        cmocka_unit_test(pairs_land_evenly),
        cmocka_unit_test(neighbouring_keys_have_nothing_in_common),
        cmocka_unit_test(one_large_permutation_looks_like_chance),
    };

    return cmocka_run_group_tests(tests, seed_it, NULL);
}
