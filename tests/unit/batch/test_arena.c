/* Without these: a batch that somebody keeps is overwritten, or slots leak until the ceiling is
 * hit. */
#include "batch/arena.h"
#include "support/test.h"

static stk__arena *make(uint64_t ceiling, size_t rows)
{
    const stk__column_spec columns[] = {
        {.name = "image", .dtype = STK_U8, .ndim = 3, .shape = {3, 4, 5}},
        {.name = "label", .dtype = STK_I64},
        {.name = "text", .dtype = STK_U8, .ragged = true, .text = true, .start_bytes = 8},
    };
    stk__arena *arena = NULL;

    assert_int_equal(stk__arena_new(ceiling, &arena, NULL), STK_OK);
    assert_int_equal(stk__arena_set_columns(arena, columns, COUNT_OF(columns), rows, NULL), STK_OK);
    return arena;
}

static stk_batch *locked(stk__arena *arena, stk_batch *(*get)(stk__arena *arena))
{
    stk_batch *slot;

    stk__mutex_lock(stk__arena_mutex(arena));
    slot = get(arena);
    stk__mutex_unlock(stk__arena_mutex(arena));
    return slot;
}

static stk_batch *take(stk__arena *arena)
{
    return locked(arena, stk__arena_take_locked);
}

static stk_batch *grow(stk__arena *arena)
{
    return locked(arena, stk__arena_grow_locked);
}

static void a_slot_comes_back_when_its_last_reference_goes(void **state)
{
    stk__arena *arena = make(0, 4);
    stk_batch *first = grow(arena);
    (void)state;

    assert_non_null(first);
    assert_null(take(arena));
    stk_batch_ref(first);
    stk_batch_unref(first);
    assert_null(take(arena)); /* still held once */
    stk_batch_unref(first);
    assert_ptr_equal(take(arena), first);
    stk_batch_unref(first);
    stk__arena_unref(arena);
}

static void a_batch_outlives_its_arena(void **state)
{
    stk__arena *arena = make(0, 4);
    stk_batch *kept = grow(arena);
    (void)state;

    stk__slot_set_rows(kept, 4);
    memset(stk__slot_row(kept, 0, 3), 7, 60);
    stk__arena_unref(arena);
    assert_int_equal(((const uint8_t *)stk_batch_tensor(kept, 0)->data)[3 * 60 + 59], 7);
    stk_batch_unref(kept); /* frees all of it: the sanitizer run sees a leak otherwise */
}

static void shapes_strides_and_alignment_are_those_of_dlpack(void **state)
{
    stk__arena *arena = make(0, 4);
    stk_batch *slot = grow(arena);
    const stk_tensor *image = stk_batch_tensor(slot, 0);
    (void)state;

    stk__slot_set_rows(slot, 3);
    assert_int_equal(image->ndim, 4);
    assert_int_equal(image->shape[0], 3);
    assert_int_equal(image->shape[3], 5);
    assert_int_equal(image->strides[0], 60);
    assert_int_equal(image->strides[1], 20);
    assert_int_equal(image->strides[3], 1);
    assert_int_equal((uintptr_t)image->data % STK_ALIGN_BYTES, 0);
    assert_int_equal(stk_batch_tensor(slot, 1)->ndim, 1);
    assert_int_equal(stk_batch_tensor(slot, 1)->strides[0], 1);
    assert_null(stk_batch_tensor(slot, 3));
    stk_batch_unref(slot);
    stk__arena_unref(arena);
}

/* Ragged rows against a plain model: laid out, written, resized in any order. */
static void ragged_rows_keep_their_bytes_when_one_is_resized(void **state)
{
    enum { ROWS = 6, LONGEST = 40 };

    rng r = rng_seed();
    stk__arena *arena = make(0, ROWS);
    stk_batch *slot = grow(arena);
    (void)state;

    for (int round = 0; round < 300; round++) {
        uint64_t sizes[ROWS];
        uint8_t model[ROWS][LONGEST];
        const stk_tensor *text = stk_batch_tensor(slot, 2);

        for (int i = 0; i < ROWS; i++)
            sizes[i] = rng_below(&r, LONGEST + 1);
        assert_int_equal(stk__slot_lay_ragged(slot, 2, sizes, ROWS, NULL), STK_OK);
        stk__slot_set_rows(slot, ROWS);
        for (size_t i = 0; i < ROWS; i++) {
            size_t room;
            void *row = stk__slot_ragged(slot, 2, i, &room);
            assert_int_equal(room, sizes[i]);
            rng_fill(&r, model[i], sizeof model[i]);
            memcpy(row, model[i], room);
        }
        for (int k = 0; k < 3; k++) {
            size_t row = (size_t)rng_below(&r, ROWS), room;
            sizes[row] = rng_below(&r, LONGEST + 1);
            assert_int_equal(stk__slot_resize_ragged(slot, 2, row, sizes[row], NULL), STK_OK);
            rng_fill(&r, model[row], sizeof model[row]);
            memcpy(stk__slot_ragged(slot, 2, row, &room), model[row], sizes[row]);
        }
        for (size_t i = 0; i < ROWS; i++) {
            assert_int_equal(text->offsets[i + 1] - text->offsets[i], sizes[i]);
            assert_memory_equal((uint8_t *)text->data + text->offsets[i], model[i], sizes[i]);
        }
        assert_int_equal(text->shape[0], text->offsets[ROWS]);
    }
    stk_batch_unref(slot);
    stk__arena_unref(arena);
}

static void the_ceiling_refuses_a_slot_and_nothing_is_lost(void **state)
{
    stk__arena *arena = make(20000, 128); /* one slot of about 10,000 bytes */
    stk_batch *first = grow(arena);
    uint64_t used = stk__load_relaxed_u64(&stk__arena_heap(arena)->used_bytes);
    uint64_t huge = 1 << 20;
    stk_error err = STK_ERROR_INIT;
    (void)state;

    assert_non_null(first);
    assert_null(grow(arena));
    assert_int_equal(stk__load_relaxed_u64(&stk__arena_heap(arena)->used_bytes), used);
    assert_int_equal(
        stk__load_relaxed_u64(&stk__arena_heap(arena)->peak_bytes), used); /* nor lent meanwhile */
    assert_int_equal(stk__slot_lay_ragged(first, 2, &huge, 1, &err), STK_ENOMEM);
    assert_non_null(strstr(err.text, "field text"));
    stk_batch_unref(first);
    stk__arena_unref(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_comes_back_when_its_last_reference_goes),
        cmocka_unit_test(a_batch_outlives_its_arena),
        cmocka_unit_test(shapes_strides_and_alignment_are_those_of_dlpack),
        cmocka_unit_test(ragged_rows_keep_their_bytes_when_one_is_resized),
        cmocka_unit_test(the_ceiling_refuses_a_slot_and_nothing_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
