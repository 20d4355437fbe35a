/* Without these: crops, paddings and flips folded into one map pick other pixels than one after the
 * other do. */
#include <math.h>

#include "support/test.h"
#include "transform/axis.h"

enum { MOST = 64 };

/* What the map stands for, kept the plain way: one list of sources. */
typedef struct model {
    int32_t source[MOST];
    uint32_t count;
} model;

static void assert_same(const stk__axis *axis, const model *m)
{
    uint32_t low, high, want_low = UINT32_MAX, want_high = 0;
    bool any = false;

    assert_int_equal(axis->count, m->count);
    for (uint32_t i = 0; i < m->count; i++) {
        assert_int_equal(stk__axis_at(axis, i), m->source[i]);
        if (m->source[i] >= 0) {
            uint32_t s = (uint32_t)m->source[i];

            any = true;
            want_low = s < want_low ? s : want_low;
            want_high = s > want_high ? s : want_high;
        }
    }
    assert_int_equal(stk__axis_span(axis, &low, &high), any);
    if (any) {
        assert_int_equal(low, want_low);
        assert_int_equal(high, want_high);
    }
}

static int32_t model_at(const model *m, int64_t i, stk_padding_mode mode, uint32_t fill)
{
    const int64_t n = m->count;

    while (i < 0 || i >= n) {
        if (mode == STK_PAD_CONSTANT)
            return -1 - (int32_t)fill;
        if (mode == STK_PAD_EDGE)
            i = i < 0 ? 0 : n - 1;
        else if (mode == STK_PAD_REFLECT)
            i = i < 0 ? -i : 2 * n - 2 - i;
        else
            i = i < 0 ? -1 - i : 2 * n - 1 - i;
    }
    return m->source[i];
}

static void random_window(rng *r, stk__axis *axis, stk__heap *heap, model *m, uint32_t fill)
{
    const model before = *m;
    stk_padding_mode mode = (stk_padding_mode)rng_below(r, 4);
    int64_t reach = mode == STK_PAD_REFLECT ? (int64_t)m->count - 1 : (int64_t)m->count;
    int64_t start, end;

    if (reach > 9)
        reach = 9;
    start = (int64_t)rng_below(r, (uint64_t)(m->count + reach)) - reach;
    end = start + 1 + (int64_t)rng_below(r, (uint64_t)((int64_t)m->count + reach - start));
    if (end - start > MOST)
        end = start + MOST;
    m->count = (uint32_t)(end - start);
    for (uint32_t i = 0; i < m->count; i++)
        m->source[i] = model_at(&before, start + i, mode, fill);
    assert_true(stk__axis_window(axis, heap, start, m->count, mode, fill));
}

static void random_nearest(rng *r, stk__axis *axis, stk__heap *heap, model *m)
{
    const model before = *m;

    m->count = 1 + (uint32_t)rng_below(r, MOST);
    for (uint32_t i = 0; i < m->count; i++) {
        float at = floorf((float)i * ((float)before.count / (float)m->count));
        uint32_t from = at < (float)before.count ? (uint32_t)at : before.count - 1;

        if (m->count == 2 * before.count)
            from = i / 2;
        m->source[i] = before.source[m->count == before.count ? i : from];
    }
    assert_true(stk__axis_nearest(axis, heap, m->count));
}

static void any_sequence_is_one_map(void **state)
{
    rng *r = *state;
    stk__heap heap = {0};
    stk__axis axis = {0};

    for (int round = 0; round < 20000; round++) {
        model m = {.count = 1 + (uint32_t)rng_below(r, 40)};

        for (uint32_t i = 0; i < m.count; i++)
            m.source[i] = (int32_t)i;
        stk__axis_identity(&axis, m.count);
        for (uint32_t step = 0; step < 6; step++) {
            uint64_t kind = rng_below(r, 8);

            if (kind < 4) {
                random_window(r, &axis, &heap, &m, step);
            } else if (kind < 7) {
                for (uint32_t i = 0, j = m.count - 1; i < j; i++, j--) {
                    int32_t source = m.source[i];

                    m.source[i] = m.source[j];
                    m.source[j] = source;
                }
                stk__axis_flip(&axis);
            } else {
                random_nearest(r, &axis, &heap, &m);
            }
            assert_same(&axis, &m);
        }
    }
    stk__axis_fini(&axis, &heap);
    assert_int_equal(heap.used_bytes, 0);
}

static void stays_straight_as_long_as_it_can(void **state)
{
    stk__heap heap = {0};
    stk__axis axis = {0};
    (void)state;

    stk__axis_identity(&axis, 500);
    assert_true(stk__axis_window(&axis, &heap, 100, 300, STK_PAD_CONSTANT, 0));
    stk__axis_flip(&axis);
    assert_true(stk__axis_window(&axis, &heap, 10, 20, STK_PAD_REFLECT, 0));
    assert_true(axis.straight);
    assert_int_equal(axis.first, 389);
    assert_int_equal(axis.step, -1);
    assert_int_equal(heap.allocations, 0);
    assert_true(stk__axis_nearest(&axis, &heap, 20)); /* the same size: nothing to do */
    assert_true(axis.straight);
}

static void a_failed_allocation_leaves_the_map(void **state)
{
    stk__heap heap = {.ceiling_bytes = 50};
    stk__axis axis = {0};
    (void)state;

    stk__axis_identity(&axis, 50);
    assert_false(stk__axis_window(&axis, &heap, -1, 51, STK_PAD_EDGE, 0));
    assert_false(stk__axis_nearest(&axis, &heap, 7));
    assert_true(axis.straight && axis.count == 50 && axis.first == 0 && axis.step == 1);
    assert_int_equal(heap.used_bytes, 0);
    stk__axis_fini(&axis, &heap);
}

int main(void)
{
    static rng r;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(any_sequence_is_one_map, &r),
        cmocka_unit_test(stays_straight_as_long_as_it_can),
        cmocka_unit_test(a_failed_allocation_leaves_the_map),
    };

    r = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
