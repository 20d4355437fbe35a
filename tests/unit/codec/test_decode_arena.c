/* Without these: memory of a picture overlaps that of the same picture, or is asked for anew with
 * each one. */
#include <stoker/base.h>

#include "base/size.h"
#include "codec/decode_arena.h"
#include "support/test.h"

static void pieces_are_aligned_and_apart(void **state)
{
    stk__heap heap = {0};
    stk__arena arena;
    rng r = rng_seed();
    (void)state;

    stk__arena_init(&arena, &heap);
    for (int round = 0; round < 20; round++) {
        uint8_t *pieces[64];
        size_t sizes[64];

        for (size_t i = 0; i < COUNT_OF(pieces); i++) {
            sizes[i] = rng_below(&r, rng_below(&r, 8) == 0 ? 400000 : 500);
            pieces[i] = stk__arena_take(&arena, sizes[i]);
            assert_non_null(pieces[i]);
            assert_int_equal((uintptr_t)pieces[i] % STK_ALIGN_BYTES, 0);
            memset(pieces[i], (int)i, sizes[i]);
        }
        for (size_t i = 0; i < COUNT_OF(pieces); i++) {
            for (size_t k = 0; k < sizes[i]; k++)
                assert_int_equal(pieces[i][k], i);
        }
        stk__arena_reset(&arena);
    }
    stk__arena_fini(&arena);
    assert_true(stk__load_relaxed_u64(&heap.used_bytes) == 0);
}

static void rows_are_aligned_and_apart(void **state)
{
    stk__heap heap = {.ceiling_bytes = 4u << 20};
    stk__arena arena;
    uint8_t **rows;
    (void)state;

    stk__arena_init(&arena, &heap);
    rows = stk__arena_rows(&arena, 65, 9);
    assert_non_null(rows);
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal((uintptr_t)rows[i] % STK_ALIGN_BYTES, 0);
        assert_true(i == 0 || rows[i] - rows[i - 1] >= 65);
    }
    assert_null(stk__arena_rows(&arena, SIZE_MAX - 3, 1));
    assert_null(stk__arena_rows(&arena, SIZE_MAX / 2, 4));
    assert_null(stk__arena_rows(&arena, 1u << 20, 8));
    stk__arena_fini(&arena);
    assert_true(stk__load_relaxed_u64(&heap.used_bytes) == 0);
}

static void like_pictures_allocate_once(void **state)
{
    stk__heap heap = {0};
    stk__arena arena;
    uint64_t before = 0;
    (void)state;

    stk__arena_init(&arena, &heap);
    for (int round = 0; round < 10; round++) {
        if (round == 2)
            before = stk__load_relaxed_u64(&heap.allocations);
        for (int i = 0; i < 30; i++)
            assert_non_null(stk__arena_take(&arena, 100000));
        stk__arena_reset(&arena);
    }
    assert_true(stk__load_relaxed_u64(&heap.allocations) == before);
    stk__arena_fini(&arena);
}

static void giants_are_not_kept(void **state)
{
    stk__heap heap = {0};
    stk__arena arena;
    (void)state;

    stk__arena_init(&arena, &heap);
    assert_non_null(stk__arena_take(&arena, STK__ARENA_KEEP_BYTES + 1));
    stk__arena_reset(&arena);
    assert_true(stk__load_relaxed_u64(&heap.used_bytes) < STK__ARENA_KEEP_BYTES);
    assert_non_null(stk__arena_take(&arena, 10));
    stk__arena_fini(&arena);
    assert_true(stk__load_relaxed_u64(&heap.used_bytes) == 0);
}

static void a_ceiling_is_kept_and_used_to_the_end(void **state)
{
    stk__heap heap = {.ceiling_bytes = 300000};
    stk__arena arena;
    (void)state;

    stk__arena_init(&arena, &heap);
    assert_non_null(stk__arena_take(&arena, 200000));
    assert_null(stk__arena_take(&arena, 100000));
    assert_null(stk__arena_take(&arena, SIZE_MAX - 10));
    assert_non_null(stk__arena_take(&arena, 30000)); /* still room in the first block */
    stk__arena_fini(&arena);
    stk__arena_init(&arena, &heap);
    assert_non_null(stk__arena_take(&arena, 290000)); /* no room for a block of the usual size */
    stk__arena_fini(&arena);
    assert_true(stk__load_relaxed_u64(&heap.used_bytes) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_apart),
        cmocka_unit_test(rows_are_aligned_and_apart),
        cmocka_unit_test(like_pictures_allocate_once),
        cmocka_unit_test(giants_are_not_kept),
        cmocka_unit_test(a_ceiling_is_kept_and_used_to_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
