/* Without these: steps come out of order, a restart loses slots, a slow read stops everything. */
#include "os/clock.h"
#include "pipeline/window.h"
#include "support/pipeline_kit.h"

enum { COUNT = 90, BATCH = 8 };

typedef struct window_rig {
    rig base;
    stk__schedule schedule;
    stk__order *order;
    stk__window *window;
} window_rig;

static void setup(window_rig *w, uint32_t threads, uint32_t prefetch)
{
    stk_field_spec fields[2];
    stk_loader_options options;
    stk__column_spec columns[2];

    *w = (window_rig){.base.folder = make_temp_folder()};
    w->base.dataset = numbered(w->base.folder, COUNT, 25, NULL, 0);
    numbered_fields(fields, &options);
    assert_int_equal(rig_plan(&w->base, fields, 2, NULL), STK_OK);
    stk__field_plan_columns(&w->base.plan, BATCH, columns);
    assert_int_equal(stk__arena_set_columns(w->base.arena, columns, 2, BATCH, NULL), STK_OK);
    w->schedule = (stk__schedule){
        .plan = &w->base.plan, .ranks = {.count = COUNT, .batch = BATCH, .world = 1}};
    w->schedule.steps = stk__ranks_steps(&w->schedule.ranks);
    const stk__order_spec spec = {.kind = STK__ORDER_NONE, .count = COUNT};
    assert_int_equal(
        stk__order_new(stk__arena_heap(w->base.arena), &spec, &w->order, NULL), STK_OK);
    const stk__window_options window = {.arena = w->base.arena,
        .schedule = &w->schedule,
        .order = w->order,
        .threads = threads,
        .io_threads = 2,
        .prefetch = prefetch};
    assert_int_equal(stk__window_new(&window, &w->window, NULL), STK_OK);
}

static void teardown(window_rig *w)
{
    stk__window_free(w->window);
    stk__order_free(w->order);
    rig_free(&w->base);
}

/* The next step is that of (epoch, step), complete and right. */
static void expect_step(window_rig *w, uint64_t epoch, uint64_t number)
{
    stk__step *step = NULL;
    stk_batch *batch;
    int64_t labels[BATCH];

    assert_int_equal(stk__window_next(w->window, UINT64_MAX, &step, NULL), STK_OK);
    assert_int_equal(step->epoch, epoch);
    assert_int_equal(step->step, number);
    batch = stk__window_accept(w->window);
    assert_int_equal(stk_batch_epoch(batch), epoch);
    assert_int_equal(stk_batch_step(batch), number);
    for (size_t i = 0; i < append_labels(batch, labels, 0); i++)
        assert_int_equal(labels[i], number * BATCH + i);
    stk_batch_unref(batch);
}

static void steps_come_in_order_through_epochs(void **state)
{
    static const uint32_t threads[] = {0, 1, 4};
    (void)state;

    for (size_t t = 0; t < COUNT_OF(threads); t++) {
        for (uint32_t prefetch = 1; prefetch <= 5; prefetch += 2) {
            window_rig w;

            setup(&w, threads[t], prefetch);
            for (uint64_t nth = 0; nth < 4 * w.schedule.steps; nth++)
                expect_step(&w, nth / w.schedule.steps, nth % w.schedule.steps);
            teardown(&w);
        }
    }
}

static void a_restart_drops_what_flies_and_loses_no_slot(void **state)
{
    rng r = rng_seed();
    window_rig w;
    stk__window_stats stats;
    (void)state;

    setup(&w, 3, 3);
    for (int round = 0; round < 300; round++) {
        uint64_t epoch = rng_below(&r, 5), step = rng_below(&r, w.schedule.steps);
        uint64_t takes = rng_below(&r, 5);

        stk__window_restart(w.window, epoch, step);
        for (uint64_t i = 0; i < takes; i++) {
            uint64_t nth = step + i;
            expect_step(&w, epoch + nth / w.schedule.steps, nth % w.schedule.steps);
        }
    }
    stk__window_get_stats(w.window, &stats);
    assert_int_equal(stats.slots, 4); /* those of steady state: in flight and one in hand */
    teardown(&w);
}

static void a_deadline_ends_the_wait(void **state)
{
    window_rig w;
    stk__step *step = NULL;
    stk_batch *kept[4];
    (void)state;

    setup(&w, 1, 3);
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        stk_status st;
        while ((st = stk__window_next(w.window, stk__clock_ns() + 1, &step, NULL)) == STK_AGAIN)
            ;
        assert_int_equal(st, STK_OK);
        kept[i] = stk__window_accept(w.window);
    }
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        stk_batch_unref(kept[i]);
    teardown(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_come_in_order_through_epochs),
        cmocka_unit_test(a_restart_drops_what_flies_and_loses_no_slot),
        cmocka_unit_test(a_deadline_ends_the_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
