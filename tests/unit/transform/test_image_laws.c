/* Without these: crops are drawn by another law than torchvision's, and accuracy drops by a point
 * for no visible reason. Exact draws: test_draws_vectors.c. */
#include <math.h>

#include "random_chain.h"
#include "transform/image_laws.h"

#define SAMPLES 40000

static stk__draws draws_of(uint64_t sample)
{
    return (stk__draws){.seed = 11, .epoch = 2, .sample = sample, .transform = 1};
}

/* Offsets by torchvision 0.29: round((size - crop) / 2.0), pad (crop - size) // 2 in front. */
static void centre_crops_as_torchvision_does(void **state)
{
    static const struct {
        uint32_t size, crop;
        int64_t start;
    } cases[] = {{10, 10, 0}, {11, 10, 0}, {12, 10, 1}, {13, 10, 2}, {14, 10, 2}, {15, 10, 2},
        {17, 10, 4}, {9, 10, 0}, {8, 10, -1}, {7, 10, -1}, {6, 10, -2}, {500, 224, 138},
        {375, 224, 76}, {341, 224, 58}};

    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stk_transform t = sized(STK_CENTER_CROP, cases[i].crop, 7);
        stk__window window = stk__law_center_crop(&t, 7, cases[i].size);

        assert_int_equal(window.top, cases[i].start);
        assert_int_equal(window.left, 0);
        assert_int_equal(window.height, cases[i].crop);
    }
}

static void crops_are_inside_and_uniform(void **state)
{
    stk_transform t = sized(STK_RANDOM_CROP, 30, 35);
    uint32_t rows[11] = {0}, columns[6] = {0};
    (void)state;

    for (uint64_t s = 0; s < SAMPLES; s++) {
        stk__draws draws = draws_of(s);
        stk__window window = stk__law_random_crop(&t, 40, 40, &draws);

        assert_true(window.top >= 0 && window.top <= 10 && window.left >= 0 && window.left <= 5);
        assert_int_equal(draws.next, 2);
        rows[window.top]++;
        columns[window.left]++;
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++) /* five sigma */
        assert_true(fabs(rows[i] - SAMPLES / 11.0) < 5 * sqrt(SAMPLES / 11.0));
    for (size_t i = 0; i < COUNT_OF(columns); i++)
        assert_true(fabs(columns[i] - SAMPLES / 6.0) < 5 * sqrt(SAMPLES / 6.0));
}

static void no_choice_no_draw(void **state)
{
    stk_transform t = sized(STK_RANDOM_CROP, 40, 35);
    stk__draws draws = draws_of(5);
    (void)state;

    assert_int_equal(stk__law_random_crop(&t, 35, 40, &draws).top, 0);
    assert_int_equal(draws.next, 0);
    assert_int_equal(stk__law_random_crop(&t, 36, 40, &draws).top, 0);
    assert_int_equal(draws.next, 1);
}

/* Most tries of a large picture are taken, so the share of its area is nearly uniform and the ratio
 * nearly log-uniform. */
static void resized_crops_follow_their_law(void **state)
{
    stk_transform t = sized(STK_RANDOM_RESIZED_CROP, 224, 224);
    double area = 0, log_ratio = 0, squares = 0;
    (void)state;

    t.scale[0] = 0.05;
    t.scale[1] = 0.25; /* always fits */
    for (uint64_t s = 0; s < SAMPLES; s++) {
        stk__draws draws = draws_of(s);
        stk_rect rect = stk__law_random_resized_crop(&t, 1000, 1000, &draws);
        double x = log((double)rect.width / rect.height);

        assert_int_equal(draws.next, 4);
        assert_true(rect.left + rect.width <= 1000 && rect.top + rect.height <= 1000);
        assert_true(fabs(x) < log(4.0 / 3) + 0.01);
        area += rect.width * (double)rect.height * 1e-6;
        log_ratio += x;
        squares += x * x;
    }
    assert_true(fabs(area / SAMPLES - 0.15) < 5 * (0.2 / sqrt(12.0)) / sqrt(SAMPLES));
    assert_true(fabs(log_ratio / SAMPLES) < 5 * log(4.0 / 3) / sqrt(3.0 * SAMPLES));
    assert_true(fabs(squares / SAMPLES - pow(log(4.0 / 3), 2) / 3) < 0.001);
}

static void what_never_fits_is_cut_from_the_middle(void **state)
{
    stk_transform t = sized(STK_RANDOM_RESIZED_CROP, 8, 8);
    stk__draws draws = draws_of(1);
    stk_rect rect;
    (void)state;

    t.scale[0] = t.scale[1] = 1;
    rect = stk__law_random_resized_crop(&t, 1000, 100, &draws);
    assert_int_equal(draws.next, 20);
    assert_int_equal(rect.width, 133); /* round(100 * 4 / 3) */
    assert_int_equal(rect.height, 100);
    assert_int_equal(rect.left, 433);
    rect = stk__law_random_resized_crop(&t, 100, 1000, &draws);
    assert_int_equal(rect.height, 133); /* round(100 / (3 / 4)) */
    assert_int_equal(rect.top, 433);
    t.ratio[0] = t.ratio[1] = 1e300; /* absurd, but in range: no overflow on the way */
    rect = stk__law_random_resized_crop(&t, 100, 100, &draws);
    assert_true(rect.width == 100 && rect.height == 1);
}

static void flips_as_often_as_they_say(void **state)
{
    static const double shares[] = {0, 0.1, 0.5, 0.9, 1};
    (void)state;

    for (size_t i = 0; i < COUNT_OF(shares); i++) {
        stk_transform t = transform_of(STK_RANDOM_HORIZONTAL_FLIP);
        double flips = 0, sigma = sqrt(shares[i] * (1 - shares[i]) * SAMPLES);

        t.probability = shares[i];
        for (uint64_t s = 0; s < SAMPLES; s++) {
            stk__draws draws = draws_of(s);

            flips += stk__law_flip(&t, &draws);
        }
        assert_true(fabs(flips - shares[i] * SAMPLES) <= 5 * sigma);
    }
}

static void draws_differ_by_each_part_of_their_place(void **state)
{
    stk__draws places[] = {{1, 2, 3, 4, 5}, {9, 2, 3, 4, 5}, {1, 9, 3, 4, 5}, {1, 2, 9, 4, 5},
        {1, 2, 3, 9, 5}, {1, 2, 3, 4, 9}};
    double first = stk__draws_unit(&places[0]);
    (void)state;

    for (size_t i = 1; i < COUNT_OF(places); i++)
        assert_true(stk__draws_unit(&places[i]) != first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(centre_crops_as_torchvision_does),
        cmocka_unit_test(crops_are_inside_and_uniform),
        cmocka_unit_test(no_choice_no_draw),
        cmocka_unit_test(resized_crops_follow_their_law),
        cmocka_unit_test(what_never_fits_is_cut_from_the_middle),
        cmocka_unit_test(flips_as_often_as_they_say),
        cmocka_unit_test(draws_differ_by_each_part_of_their_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
