/* Without these: a view shows the bytes of another place as soon as an archive is longer than the
 * window, or small reads eat the time. */
#include "archive/tar_window.h"
#include "base/error.h"
#include "support/test.h"

enum { MIB = 1 << 20 };

/* A file whose bytes follow from their offset, and what was read of it. */
typedef struct made_file {
    uint64_t real_bytes; /* less than it claims: it became shorter */
    uint64_t read_bytes;
    unsigned reads;
    bool fails;
} made_file;

static uint8_t byte_at(uint64_t offset)
{
    return (uint8_t)(offset ^ offset >> 8 ^ offset >> 16 ^ offset * 31);
}

static stk_status read_made(
    void *ctx, uint64_t offset, stk_span dst, size_t *got_out, stk_error *err)
{
    made_file *file = ctx;
    uint8_t *p = dst.data;
    size_t got = 0;

    if (file->fails)
        return STK_FAIL(err, STK_ESOURCE, "no luck");
    for (; got < dst.size && offset + got < file->real_bytes; got++)
        p[got] = byte_at(offset + got);
    file->reads++;
    file->read_bytes += got;
    *got_out = got;
    return STK_OK;
}

static void start(stk__tar_window *window, stk__heap *heap, made_file *file, uint64_t claimed_bytes)
{
    const stk__tar_source source = {.read = read_made, .ctx = file, .size_bytes = claimed_bytes};
    stk_error err = STK_ERROR_INIT;

    assert_int_equal(stk__tar_window_init(window, heap, &source, &err), STK_OK);
}

static void stop(stk__tar_window *window, stk__heap *heap)
{
    stk__tar_window_fini(window);
    assert_int_equal(heap->used_bytes, 0);
}

static void check_bytes(const uint8_t *bytes, uint64_t offset, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++) {
        if (bytes[i] != byte_at(offset + i))
            fail_msg("byte %llu is another", (unsigned long long)(offset + i));
    }
}

/* Sizes of members and headers, of pieces as large as the window, and beyond. */
static uint64_t any_size(rng *r)
{
    static const uint64_t bounds[] = {2, 600, 5000, 70000, MIB / 2 + 2, MIB + 2, 3 * MIB};

    return 1 + rng_below(r, bounds[rng_below(r, COUNT_OF(bounds))]);
}

static void gives_the_bytes_of_any_place(void **state)
{
    enum { FILE_BYTES = 12 * MIB + 77 };

    rng r = rng_seed();
    stk__heap heap = {0};
    stk__tar_window window;
    made_file file = {.real_bytes = FILE_BYTES};
    stk_error err = STK_ERROR_INIT;
    uint64_t offset = 0;
    (void)state;

    start(&window, &heap, &file, FILE_BYTES);
    for (int round = 0; round < 400; round++) {
        uint64_t size = any_size(&r);
        const uint8_t *bytes = NULL;
        stk_status st;

        if (rng_below(&r, 4) == 0)
            offset = rng_below(&r, FILE_BYTES);
        if (offset + size > FILE_BYTES) {
            offset = 0;
            continue;
        }
        if (rng_below(&r, 8) == 0)
            stk__tar_window_far(&window);
        if (rng_below(&r, 4) == 0)
            st = stk__tar_window_get_aside(&window, offset, size, &bytes, &err);
        else
            st = stk__tar_window_get(&window, offset, size, &bytes, &err);
        assert_int_equal(st, STK_OK);
        check_bytes(bytes, offset, size);
        if (stk__tar_window_holds(&window, offset, size))
            check_bytes(stk__tar_window_at(&window, offset), offset, size);
        offset += size;
    }
    stop(&window, &heap);
}

static void bytes_aside_leave_views_alone(void **state)
{
    stk__heap heap = {0};
    stk__tar_window window;
    made_file file = {.real_bytes = 8 * MIB};
    stk_error err = STK_ERROR_INIT;
    const uint8_t *view, *aside;
    (void)state;

    start(&window, &heap, &file, 8 * MIB);
    assert_int_equal(stk__tar_window_get(&window, 4 * MIB, 512, &view, &err), STK_OK);
    assert_int_equal(stk__tar_window_get_aside(&window, 1000, 700, &aside, &err), STK_OK);
    check_bytes(aside, 1000, 700);
    check_bytes(view, 4 * MIB, 512);
    assert_true(stk__tar_window_holds(&window, 4 * MIB, 512));
    assert_ptr_equal(stk__tar_window_at(&window, 4 * MIB), view);
    assert_false(stk__tar_window_holds(&window, 1000, 700));
    stop(&window, &heap);
}

/* Headers of small members: as few reads as windows, and no byte twice but the cut piece. */
static void small_pieces_come_from_large_reads(void **state)
{
    enum { FILE_BYTES = 10 * MIB };

    stk__heap heap = {0};
    stk__tar_window window;
    made_file file = {.real_bytes = FILE_BYTES};
    stk_error err = STK_ERROR_INIT;
    const uint8_t *bytes;
    (void)state;

    start(&window, &heap, &file, FILE_BYTES);
    for (uint64_t offset = 0; offset + 1536 <= FILE_BYTES; offset += 1536)
        assert_int_equal(stk__tar_window_get(&window, offset, 1536, &bytes, &err), STK_OK);
    assert_in_range(file.reads, 10, 11);
    assert_int_equal(file.read_bytes, FILE_BYTES);
    stop(&window, &heap);
}

/* Headers of large members: little is read around each. */
static void far_places_cost_little(void **state)
{
    const uint64_t file_bytes = 1000ull * MIB;
    stk__heap heap = {0};
    stk__tar_window window;
    made_file file = {.real_bytes = file_bytes};
    stk_error err = STK_ERROR_INIT;
    const uint8_t *bytes;
    (void)state;

    start(&window, &heap, &file, file_bytes);
    for (uint64_t offset = 0; offset + 512 <= file_bytes; offset += 5 * MIB) {
        stk__tar_window_far(&window);
        assert_int_equal(stk__tar_window_get(&window, offset, 512, &bytes, &err), STK_OK);
        check_bytes(bytes, offset, 512);
    }
    assert_int_equal(file.reads, 200);
    assert_true(file.read_bytes <= 200 * 8192);
    /* Small ones again: 16, 32, ... KiB at a time, up to the whole window. */
    for (uint64_t offset = 0; offset + 512 <= 4 * MIB; offset += 512)
        assert_int_equal(stk__tar_window_get(&window, offset, 512, &bytes, &err), STK_OK);
    assert_true(file.reads <= 200 + 8 + 4);
    stop(&window, &heap);
}

static void a_small_file_takes_little_memory(void **state)
{
    stk__heap heap = {0};
    stk__tar_window window;
    made_file file = {.real_bytes = 10240};
    stk_error err = STK_ERROR_INIT;
    const uint8_t *bytes;
    (void)state;

    start(&window, &heap, &file, 10240);
    assert_int_equal(stk__tar_window_get(&window, 0, 512, &bytes, &err), STK_OK);
    assert_int_equal(stk__tar_window_get(&window, 512, 9728, &bytes, &err), STK_OK);
    assert_int_equal(file.reads, 1);
    assert_int_equal(heap.peak_bytes, 10240);
    stop(&window, &heap);
}

static void memory_for_large_pieces_ends_with_the_file(void **state)
{
    stk__heap heap = {0};
    stk__tar_window window;
    made_file file = {.real_bytes = 5 * MIB};
    stk_error err = STK_ERROR_INIT;
    const uint8_t *bytes;
    (void)state;

    start(&window, &heap, &file, 5 * MIB);
    assert_int_equal(stk__tar_window_get(&window, 0, 4 * MIB, &bytes, &err), STK_OK);
    assert_int_equal(stk__tar_window_get(&window, 0, 5 * MIB, &bytes, &err), STK_OK);
    check_bytes(bytes, 0, 5 * MIB);
    assert_int_equal(heap.peak_bytes, (1 + 5) * MIB);
    stop(&window, &heap);
}

static void a_file_that_shrinks_is_told_from_a_fault(void **state)
{
    stk__heap heap = {0};
    stk__tar_window window;
    made_file file = {.real_bytes = 3000};
    stk_error err = STK_ERROR_INIT;
    const uint8_t *bytes = NULL;
    (void)state;

    start(&window, &heap, &file, 10240);
    assert_int_equal(stk__tar_window_get(&window, 2560, 512, &bytes, &err), STK_ECORRUPT);
    assert_int_equal(err.offset, 3000);
    file.fails = true;
    assert_int_equal(stk__tar_window_get(&window, 2560, 512, &bytes, &err), STK_ESOURCE);
    assert_null(bytes);
    file.fails = false;
    file.real_bytes = 10240; /* a window after a failure has nothing false in it */
    assert_int_equal(stk__tar_window_get(&window, 2560, 512, &bytes, &err), STK_OK);
    check_bytes(bytes, 2560, 512);
    stop(&window, &heap);
}

static void no_memory_is_an_error(void **state)
{
    stk__heap heap = {.ceiling_bytes = MIB + 1000};
    stk__tar_window window;
    made_file file = {.real_bytes = 5 * MIB};
    stk_error err = STK_ERROR_INIT;
    const uint8_t *bytes;
    (void)state;

    start(&window, &heap, &file, 5 * MIB);
    assert_int_equal(stk__tar_window_get(&window, 0, 4 * MIB, &bytes, &err), STK_ENOMEM);
    assert_int_equal(stk__tar_window_get(&window, 0, 512, &bytes, &err), STK_OK);
    check_bytes(bytes, 0, 512);
    stop(&window, &heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_bytes_of_any_place),
        cmocka_unit_test(bytes_aside_leave_views_alone),
        cmocka_unit_test(small_pieces_come_from_large_reads),
        cmocka_unit_test(far_places_cost_little),
        cmocka_unit_test(a_small_file_takes_little_memory),
        cmocka_unit_test(memory_for_large_pieces_ends_with_the_file),
        cmocka_unit_test(a_file_that_shrinks_is_told_from_a_fault),
        cmocka_unit_test(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
