/* Without these: a window of a resized picture has other pixels than the same part of the whole,
 * and a kernel reads past the end of a row. */
#include "support/test.h"
#include "transform/weights.h"

/* Sum of an output over inputs that are numbered as the axis has them. */
static int64_t whole_sum(const stk__weights *w, uint32_t i, const int32_t *input)
{
    int64_t sum = 0;

    for (uint32_t t = 0; t < w->taps[i]; t++)
        sum += (int64_t)w->weight[(size_t)i * w->per + t] * input[w->first[i] + t];
    return sum;
}

static void a_part_is_that_part_of_the_whole(void **state)
{
    enum { MOST = 300 };

    rng *r = *state;
    stk__heap heap = {0};
    stk__weights w = {0};
    stk__taps_memory memory = {0};
    stk__kernels kernels;
    int32_t input[MOST], lying[2 * MOST];

    stk__kernels_init(&kernels, 0);
    for (int round = 0; round < 5000; round++) {
        uint32_t inputs = 1 + (uint32_t)rng_below(r, rng_below(r, 3) ? MOST : 6);
        uint32_t outputs = 1 + (uint32_t)rng_below(r, 120), low, high;
        stk__taps_part part = {.begin = (uint32_t)rng_below(r, outputs)};

        part.count = 1 + (uint32_t)rng_below(r, outputs - part.begin);
        part.backward = rng_below(r, 2) > 0;
        part.mirrored = rng_below(r, 3) == 0;
        assert_true(stk__weights_make(&w, &heap, &kernels,
            &(stk__axis_resize){
                inputs, outputs, rng_below(r, 2) ? STK_BICUBIC : STK_BILINEAR, rng_below(r, 3) > 0},
            (uint32_t)rng_below(r, 2 * MOST)));
        stk__weights_span(&w, &part, &low, &high);
        assert_true(low <= high && high < inputs);
        assert_true(stk__weights_taps(&w, &part, &memory, &heap));
        assert_int_equal(memory.taps.count, part.count);
        assert_true(memory.taps.inputs >= high - low + 1);

        for (uint32_t i = 0; i < 2 * MOST; i++)
            lying[i] = 1000000; /* what is outside the span must weigh nothing */
        for (uint32_t i = 0; i < inputs; i++) {
            uint32_t place = part.mirrored ? inputs - 1 - i : i;

            input[i] = (int32_t)rng_below(r, 256);
            if (place >= low && place <= high)
                lying[place - low] = input[i];
        }
        for (uint32_t k = 0; k < part.count; k++) {
            uint32_t i = part.begin + (part.backward ? part.count - 1 - k : k);
            const stk__taps *taps = &memory.taps;
            int64_t sum = 0;

            assert_true(taps->first[k] + taps->per <= taps->inputs);
            assert_true(memory.last[k] <= high - low);
            for (uint32_t t = 0; t < taps->per; t++)
                sum += (int64_t)taps->weight[(size_t)k * taps->per + t] * lying[taps->first[k] + t];
            assert_int_equal(sum, whole_sum(&w, i, input));
            if (k >= 3) {
                uint32_t a = taps->first[k - 3], b = taps->first[k];
                assert_true((a < b ? b - a : a - b) <= taps->spread);
            }
        }
    }
    stk__taps_fini(&memory, &heap);
    stk__weights_fini(&w, &heap);
    assert_int_equal(heap.used_bytes, 0);
}

int main(void)
{
    static rng r;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(a_part_is_that_part_of_the_whole, &r),
    };

    r = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
