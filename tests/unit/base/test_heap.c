/* Without these: a loader grows past its ceiling and the machine ends the job, or a size from a
 * file wraps and a small block is written as a large one. */
#include <pthread.h>

#include <stoker/base.h>

#include "base/heap.h"
#include "support/test.h"

static void counts_to_the_byte(void **state)
{
    stk__heap heap = {.ceiling_bytes = 1000};
    char *a, *b;
    (void)state;

    a = stk__heap_alloc(&heap, 10, 40);
    b = stk__heap_zalloc(&heap, 6, 100);
    assert_non_null(a);
    assert_non_null(b);
    for (int i = 0; i < 600; i++)
        assert_int_equal(b[i], 0);
    assert_int_equal(heap.used_bytes, 1000);
    assert_null(stk__heap_alloc(&heap, 1, 1)); /* at the ceiling */
    assert_int_equal(heap.used_bytes, 1000);
    assert_int_equal(heap.allocations, 2);
    stk__heap_free(&heap, a, 10, 40);
    assert_int_equal(heap.used_bytes, 600);
    assert_int_equal(heap.peak_bytes, 1000);
    stk__heap_free(&heap, b, 6, 100);
    stk__heap_free(&heap, NULL, 6, 100);
    assert_int_equal(heap.used_bytes, 0);
}

static void refuses_what_would_wrap(void **state)
{
    stk__heap heap = {0};
    (void)state;

    assert_null(stk__heap_alloc(&heap, SIZE_MAX / 2 + 1, 2));
    assert_null(stk__heap_zalloc(&heap, SIZE_MAX, SIZE_MAX));
    assert_null(stk__heap_alloc_aligned(&heap, SIZE_MAX));
    assert_null(stk__heap_alloc_aligned(&heap, SIZE_MAX - 70));
    assert_null(stk__heap_grow(&heap, NULL, 0, SIZE_MAX, 16));
    assert_null(stk__heap_text(&heap, "x", SIZE_MAX));
    assert_int_equal(heap.used_bytes, 0);
    assert_true(stk__heap_reserve(&heap, 5));
    assert_false(stk__heap_reserve(&heap, SIZE_MAX)); /* the sum would wrap to 4 */
    assert_int_equal(heap.used_bytes, 5);
    assert_int_equal(heap.peak_bytes, 5);
    stk__heap_unreserve(&heap, 5);
}

static void a_block_of_nothing_is_a_block(void **state)
{
    stk__heap heap = {0};
    void *a = stk__heap_alloc(&heap, 0, 8), *b = stk__heap_zalloc(&heap, 8, 0);
    void *c = stk__heap_alloc_aligned(&heap, 0);
    (void)state;

    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
    stk__heap_free(&heap, a, 0, 8);
    stk__heap_free(&heap, b, 8, 0);
    stk__heap_free_aligned(&heap, c, 0);
    stk__heap_free_aligned(&heap, NULL, 99);
    assert_int_equal(heap.used_bytes, 0);
}

static void aligned_blocks_of_any_size_can_be_written(void **state)
{
    static const size_t sizes[] = {1, 63, 64, 65, 4096, (2u << 20) - 1, 2u << 20, (2u << 20) + 1};
    stk__heap heap = {0};
    (void)state;

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        unsigned char *block = stk__heap_alloc_aligned(&heap, sizes[i]);

        assert_non_null(block);
        assert_int_equal((uintptr_t)block % STK_ALIGN_BYTES, 0);
        assert_int_equal(heap.used_bytes, sizes[i]);
        memset(block, 0x5a, sizes[i]);
        stk__heap_free_aligned(&heap, block, sizes[i]);
        assert_int_equal(heap.used_bytes, 0);
    }
}

static void growing_keeps_contents_and_the_old_block_on_refusal(void **state)
{
    stk__heap heap = {.ceiling_bytes = 100};
    uint32_t *numbers = stk__heap_grow(&heap, NULL, 0, 10, sizeof *numbers), *more;
    (void)state;

    assert_non_null(numbers);
    for (uint32_t i = 0; i < 10; i++)
        numbers[i] = i;
    assert_null(stk__heap_grow(&heap, numbers, 10, 26, sizeof *numbers)); /* 104 bytes */
    assert_null(stk__heap_grow(&heap, numbers, 10, 9, sizeof *numbers));  /* only upward */
    assert_int_equal(heap.used_bytes, 40);
    more = stk__heap_grow(&heap, numbers, 10, 25, sizeof *numbers);
    assert_non_null(more);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(more[i], i);
    assert_int_equal(heap.used_bytes, 100);
    stk__heap_free(&heap, more, 25, sizeof *more);
    assert_int_equal(heap.used_bytes, 0);
}

static void texts_are_copies_with_an_end(void **state)
{
    stk__heap heap = {0};
    char *text = stk__heap_text(&heap, "train-000012.tar", 5);
    (void)state;

    assert_string_equal(text, "train");
    stk__heap_free(&heap, text, 6, 1);
    assert_int_equal(heap.used_bytes, 0);
}

enum { THREADS = 4, ROUNDS = 20000, PIECE = 100 };

static void *take_and_give(void *ctx)
{
    stk__heap *heap = ctx;
    size_t refused = 0;

    for (int i = 0; i < ROUNDS; i++) {
        if (stk__heap_reserve(heap, PIECE))
            stk__heap_unreserve(heap, PIECE);
        else
            refused++;
    }
    return (void *)refused;
}

/* Room for each thread's piece: none is ever refused for what another one only tried to get. */
static void threads_share_a_ceiling_exactly(void **state)
{
    stk__heap heap = {.ceiling_bytes = THREADS * PIECE + PIECE - 1};
    pthread_t threads[THREADS];
    void *refused;
    (void)state;

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, &heap), 0);
    for (int i = 0; i < ROUNDS; i++) /* what can never fit, meanwhile */
        assert_false(stk__heap_reserve(&heap, THREADS * PIECE + PIECE));
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &refused), 0);
        assert_null(refused);
    }
    assert_int_equal(heap.used_bytes, 0);
    assert_true(heap.peak_bytes >= PIECE && heap.peak_bytes <= THREADS * PIECE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_to_the_byte),
        cmocka_unit_test(refuses_what_would_wrap),
        cmocka_unit_test(a_block_of_nothing_is_a_block),
        cmocka_unit_test(aligned_blocks_of_any_size_can_be_written),
        cmocka_unit_test(growing_keeps_contents_and_the_old_block_on_refusal),
        cmocka_unit_test(texts_are_copies_with_an_end),
        cmocka_unit_test(threads_share_a_ceiling_exactly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
