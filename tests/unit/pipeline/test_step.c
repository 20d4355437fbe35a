/* Without these: members are read twice or not at all, and one bad member takes its neighbours
 * along. */
#include "dataset/dataset.h"
#include "pipeline/step.h"
#include "support/pipeline_kit.h"

enum { COUNT = 60, BATCH = 16 };

typedef struct step_rig {
    rig base;
    stk__schedule schedule;
    stk__order *order;
    stk__epoch *epoch;
    stk__step step;
    stk__worker worker;
} step_rig;

static void setup(step_rig *s, stk__order_kind kind, const unsigned *bad, size_t bad_count,
    const uint64_t *known, size_t known_count)
{
    stk_field_spec fields[2];
    stk_loader_options options;
    stk__heap *heap;

    *s = (step_rig){.base.folder = make_temp_folder()};
    s->base.dataset = numbered(s->base.folder, COUNT, 25, bad, bad_count);
    numbered_fields(fields, &options);
    assert_int_equal(rig_plan(&s->base, fields, 2, NULL), STK_OK);
    heap = stk__arena_heap(s->base.arena);
    s->schedule = (stk__schedule){.plan = &s->base.plan,
        .ranks = {.count = COUNT, .batch = BATCH, .world = 1},
        .seed = 5,
        .damaged = known,
        .damaged_count = known_count,
        .by_size = kind == STK__ORDER_FULL};
    s->schedule.steps = stk__ranks_steps(&s->schedule.ranks);
    const stk__order_spec spec = {.kind = kind, .count = COUNT, .seed = 5};
    assert_int_equal(stk__order_new(heap, &spec, &s->order, NULL), STK_OK);
    assert_int_equal(stk__epoch_new(heap, s->order, &s->epoch, NULL), STK_OK);
    assert_int_equal(stk__step_init(&s->step, heap, &s->schedule, NULL), STK_OK);
    assert_int_equal(stk__worker_init(&s->worker, heap, &s->base.plan, NULL), STK_OK);
    s->step.slot = rig_slot(&s->base, BATCH);
}

static void teardown(step_rig *s)
{
    stk_batch *slot = s->step.slot;

    stk__worker_fini(&s->worker);
    stk__step_fini(&s->step);
    stk__epoch_free(s->epoch);
    stk__order_free(s->order);
    stk_batch_unref(slot);
    rig_free(&s->base);
}

static void note(void *ctx, stk__row *row, uint32_t field, const stk_error *err)
{
    stk__step_fail(ctx, row, field, err);
}

/* Do all jobs of the step with real bytes. */
static void do_jobs(step_rig *s)
{
    for (size_t i = 0; i < s->step.job_count; i++) {
        const stk__job *job = &s->step.job[s->step.turn[i]];
        stk_span bytes = {malloc((size_t)job->size + 1), (size_t)job->size};

        assert_int_equal(
            stk_dataset_read(s->base.dataset, job->source, job->offset, bytes, NULL), STK_OK);
        stk__step_make(&s->step, &s->worker, job, bytes.data, note, &s->step);
        free(bytes.data);
    }
}

static void every_piece_lies_in_exactly_one_read(void **state)
{
    static const stk__order_kind kinds[] = {STK__ORDER_NONE, STK__ORDER_FULL};
    (void)state;

    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        step_rig s;
        size_t pieces = 0;
        bool turned[2 * BATCH] = {false};

        setup(&s, kinds[k], NULL, 0, NULL, 0);
        assert_int_equal(stk__step_plan(&s.step, s.epoch, 0, 1, NULL), STK_OK);
        assert_int_equal(s.step.rows, BATCH);
        for (size_t i = 0; i < s.step.job_count; i++) {
            const stk__job *job = &s.step.job[i];

            assert_int_equal(job->first, pieces);
            for (uint32_t n = 0; n < job->count; n++) {
                const stk__piece *piece = &s.step.piece[s.step.sorted[job->first + n]];
                assert_int_equal(piece->source, job->source);
                assert_true(piece->offset >= job->offset);
                assert_true(piece->offset + piece->size <= job->offset + job->size);
            }
            pieces += job->count;
            assert_false(turned[s.step.turn[i]]);
            turned[s.step.turn[i]] = true;
            if (i > 0 && kinds[k] == STK__ORDER_FULL)
                assert_true(s.step.job[s.step.turn[i - 1]].size >= s.step.job[s.step.turn[i]].size);
        }
        assert_int_equal(pieces, s.step.piece_count);
        assert_int_equal(pieces, 2 * BATCH);
        if (kinds[k] == STK__ORDER_NONE)
            assert_int_equal(s.step.job_count, 2); /* samples 16 to 24 and 25 to 31: two shards */
        do_jobs(&s);
        for (size_t i = 0; i < s.step.rows; i++)
            assert_int_equal(*(int64_t *)stk__slot_row(s.step.slot, 0, i), s.step.row[i].sample);
        teardown(&s);
    }
}

static void a_bad_member_fails_its_row_and_no_other(void **state)
{
    static const unsigned bad[] = {2};
    step_rig s;
    (void)state;

    setup(&s, STK__ORDER_NONE, bad, 1, NULL, 0);
    assert_int_equal(stk__step_plan(&s.step, s.epoch, 0, 0, NULL), STK_OK);
    do_jobs(&s);
    for (size_t i = 0; i < BATCH; i++)
        assert_int_equal(s.step.row[i].bad_field, i == 2 ? 0 : UINT32_MAX);
    assert_non_null(s.step.row[2].error);
    assert_string_equal(s.step.row[2].error->key, "000002");
    teardown(&s);
}

static void known_damage_is_marked_and_not_read(void **state)
{
    static const uint64_t known[] = {1, 5};
    step_rig s;
    (void)state;

    setup(&s, STK__ORDER_NONE, NULL, 0, known, 2);
    assert_int_equal(stk__step_plan(&s.step, s.epoch, 0, 0, NULL), STK_OK);
    assert_int_equal(s.step.piece_count, 2 * (BATCH - 2));
    for (size_t i = 0; i < s.step.piece_count; i++)
        assert_true(s.step.piece[i].row != 1 && s.step.piece[i].row != 5);
    assert_non_null(strstr(s.step.row[5].error->text, "listed as damaged"));
    assert_true(stk__schedule_knows(&s.schedule, 5));
    assert_false(stk__schedule_knows(&s.schedule, 4));
    assert_false(stk__schedule_knows(&s.schedule, 6));
    teardown(&s);
}

static void the_lowest_field_decides_whoever_comes_first(void **state)
{
    stk_error first = STK_ERROR_INIT, second = STK_ERROR_INIT;
    step_rig s;
    (void)state;

    setup(&s, STK__ORDER_NONE, NULL, 0, NULL, 0);
    assert_int_equal(stk__step_plan(&s.step, s.epoch, 0, 0, NULL), STK_OK);
    strcpy(first.text, "field 1");
    strcpy(second.text, "field 0");
    stk__step_fail(&s.step, &s.step.row[3], 1, &first);
    stk__step_fail(&s.step, &s.step.row[3], 0, &second);
    stk__step_fail(&s.step, &s.step.row[3], 1, &first);
    assert_int_equal(s.step.row[3].bad_field, 0);
    assert_string_equal(s.step.row[3].error->text, "field 0");
    teardown(&s);
}

static void reading_singly_makes_the_same_rows(void **state)
{
    static const unsigned bad[] = {7};
    step_rig s;
    (void)state;

    setup(&s, STK__ORDER_NONE, bad, 1, NULL, 0);
    assert_int_equal(stk__step_plan(&s.step, s.epoch, 0, 0, NULL), STK_OK);
    for (size_t i = 0; i < s.step.job_count; i++)
        stk__step_make_singly(&s.step, &s.worker, &s.step.job[i], note, &s.step);
    for (size_t i = 0; i < BATCH; i++) {
        if (i != 7)
            assert_int_equal(*(int64_t *)stk__slot_row(s.step.slot, 0, i), i);
        assert_int_equal(s.step.row[i].bad_field, i == 7 ? 0 : UINT32_MAX);
    }
    teardown(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_lies_in_exactly_one_read),
        cmocka_unit_test(a_bad_member_fails_its_row_and_no_other),
        cmocka_unit_test(known_damage_is_marked_and_not_read),
        cmocka_unit_test(the_lowest_field_decides_whoever_comes_first),
        cmocka_unit_test(reading_singly_makes_the_same_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
