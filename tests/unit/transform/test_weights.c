/* Without these: one weight is off by one unit and 1 pixel in 100 differs from torchvision's. */
#include "os/cpu.h"
#include "support/test.h"
#include "transform/weights.h"

static const stk__kernels *scalar(void)
{
    static stk__kernels kernels;

    stk__kernels_init(&kernels, 0);
    return &kernels;
}

static void make(stk__weights *w, stk__heap *heap, uint32_t inputs, uint32_t outputs,
    stk_interpolation interpolation, bool antialias)
{
    const stk__axis_resize of = {inputs, outputs, interpolation, antialias};

    assert_true(stk__weights_make(w, heap, scalar(), &of, inputs));
}

/* By hand: scale 2, support 2, output 1 is around input 3; distances 3/4, 1/4, 1/4, 3/4 of the
 * filter: weights 1/8, 3/8, 3/8, 1/8, and 3/8 * 2^16 = 24576 is the last below 2^15. */
static void halving_by_the_triangle(void **state)
{
    static const int16_t want[4] = {8192, 24576, 24576, 8192};
    stk__heap heap = {0};
    stk__weights w = {0};
    (void)state;

    make(&w, &heap, 8, 4, STK_BILINEAR, true);
    assert_int_equal(w.precision, 16);
    assert_int_equal(w.per, 4);
    assert_int_equal(w.first[1], 1);
    assert_int_equal(w.taps[1], 4);
    assert_memory_equal(w.weight + 4, want, sizeof want);
    assert_int_equal(w.first[0], 0); /* cut at the edge: 3/7, 3/7, 1/7 */
    assert_int_equal(w.taps[0], 3);
    assert_int_equal(w.weight[0], 28087); /* 3/7 * 2^16 = 28086.86 */
    assert_int_equal(w.weight[2], 9362);
    assert_int_equal(w.weight[3], 0);
    stk__weights_fini(&w, &heap);
    assert_int_equal(heap.used_bytes, 0);
}

static void doubling_without_antialiasing(void **state)
{
    stk__heap heap = {0};
    stk__weights w = {0};
    (void)state;

    make(&w, &heap, 4, 8, STK_BILINEAR, false);
    assert_int_equal(w.precision, 14); /* output 0 is input 0: a weight of 1 */
    assert_int_equal(w.weight[0], 1 << 14);
    assert_int_equal(w.first[3], 1); /* at 1.25 */
    assert_int_equal(w.weight[3 * 2], 12288);
    assert_int_equal(w.weight[3 * 2 + 1], 4096);
    assert_int_equal(w.first[7], 3); /* at 3.25: the second tap falls on the last input, too */
    assert_int_equal(w.taps[7], 1);
    assert_int_equal(w.weight[7 * 2], 1 << 14);
    stk__weights_fini(&w, &heap);
}

static void weights_add_up_and_stay_inside(void **state)
{
    rng *r = *state;
    stk__heap heap = {0};
    stk__weights w = {0};

    for (int round = 0; round < 3000; round++) {
        uint32_t inputs = 1 + (uint32_t)rng_below(r, round % 10 == 0 ? 2000 : 100);
        uint32_t outputs = 1 + (uint32_t)rng_below(r, 100);
        stk_interpolation mode = rng_below(r, 2) ? STK_BICUBIC : STK_BILINEAR;
        bool antialias = rng_below(r, 3) > 0;
        int32_t largest = 0;

        make(&w, &heap, inputs, outputs, mode, antialias);
        assert_true(w.precision >= 13 && w.precision <= 22 && w.per % 2 == 0);
        for (uint32_t i = 0; i < outputs; i++) {
            int32_t sum = 0;

            assert_true(w.taps[i] >= 1 && w.taps[i] <= w.per);
            assert_true(w.first[i] + w.taps[i] <= inputs);
            assert_true(i == 0 || w.first[i] >= w.first[i - 1]);
            assert_true(i == 0 || w.first[i] + w.taps[i] >= w.first[i - 1] + w.taps[i - 1]);
            for (uint32_t t = 0; t < w.per; t++) {
                int32_t weight = w.weight[(size_t)i * w.per + t];

                assert_true(t < w.taps[i] || weight == 0);
                largest = weight > largest ? weight : largest;
                sum += weight;
            }
            assert_true(abs(sum - (1 << w.precision)) <= (int)(w.taps[i] + 1) / 2);
        }
        if (antialias) /* one bit more of precision would not fit */
            assert_true(w.precision == 22 || 2 * largest + 1 >= (1 << 15));
    }
    stk__weights_fini(&w, &heap);
}

static void asked_twice_it_is_made_once(void **state)
{
    stk__heap heap = {0};
    stk__weights w = {0};
    stk__kernels none = {0}; /* would crash if they were called */
    (void)state;

    make(&w, &heap, 375, 256, STK_BICUBIC, true);
    assert_true(
        stk__weights_make(&w, &heap, &none, &(stk__axis_resize){375, 256, STK_BICUBIC, true}, 375));
    assert_int_equal(w.of.outputs, 256);
    stk__weights_fini(&w, &heap);
}

static void without_memory_it_is_empty_and_can_be_asked_again(void **state)
{
    stk__weights w = {0};
    stk__heap heap = {0};
    const stk__axis_resize of = {200, 100, STK_BILINEAR, true};
    uint64_t ceiling = 1;
    (void)state;

    for (;; ceiling += 500) {
        heap.ceiling_bytes = ceiling;
        if (stk__weights_make(&w, &heap, scalar(), &of, 200))
            break;
        assert_int_equal(w.of.outputs, 0);
    }
    assert_true(ceiling > 1000);
    assert_int_equal(w.of.outputs, 100);
    heap.ceiling_bytes = heap.used_bytes;
    assert_false(stk__weights_make(
        &w, &heap, scalar(), &(stk__axis_resize){2000, 1000, STK_BILINEAR, true}, 0));
    heap.ceiling_bytes = 0;
    make(&w, &heap, 200, 100, STK_BILINEAR, true);
    assert_int_equal(w.taps[50], 4);
    stk__weights_fini(&w, &heap);
    assert_int_equal(heap.used_bytes, 0);
}

/* All crops of a picture are made in the memory that the first one got. */
static void room_is_made_for_the_most_inputs(void **state)
{
    stk__heap heap = {0};
    stk__weights w = {0};
    uint64_t allocations;
    (void)state;

    assert_true(stk__weights_make(
        &w, &heap, scalar(), &(stk__axis_resize){3, 224, STK_BICUBIC, true}, 500));
    allocations = heap.allocations;
    for (uint32_t inputs = 1; inputs <= 500; inputs++)
        make(&w, &heap, inputs, 224, STK_BICUBIC, true);
    assert_int_equal(heap.allocations, allocations);
    stk__weights_fini(&w, &heap);
}

static void the_largest_axes_pass(void **state)
{
    stk__heap heap = {0};
    stk__weights w = {0};
    (void)state;

    make(&w, &heap, 65535, 1, STK_BICUBIC, true);
    assert_int_equal(w.taps[0], 65535);
    assert_int_equal(w.precision, 22);
    make(&w, &heap, 1, 65535, STK_BICUBIC, true);
    assert_int_equal(w.per, 2);
    make(&w, &heap, 65535, 65534, STK_BILINEAR, true);
    stk__weights_fini(&w, &heap);
}

int main(void)
{
    static rng r;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halving_by_the_triangle),
        cmocka_unit_test(doubling_without_antialiasing),
        cmocka_unit_test_prestate(weights_add_up_and_stay_inside, &r),
        cmocka_unit_test(asked_twice_it_is_made_once),
        cmocka_unit_test(without_memory_it_is_empty_and_can_be_asked_again),
        cmocka_unit_test(room_is_made_for_the_most_inputs),
        cmocka_unit_test(the_largest_axes_pass),
    };

    r = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
