/* Without this: each picture costs dozens of calls of malloc, and threads meet in the allocator. */
#include "support/golden.h"

/*
 * Every call of the allocator in this process is counted: by the hooks of a sanitizer where one has
 * taken the allocator over, else by functions that stand before those of the C library.
 */
static volatile long calls; /* compilers think that malloc changes no variable */

#if defined(__has_feature)
#    define HAS_FEATURE(x) __has_feature(x)
#else
#    define HAS_FEATURE(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    HAS_FEATURE(address_sanitizer) || HAS_FEATURE(thread_sanitizer)

int __sanitizer_install_malloc_and_free_hooks(
    void (*on_malloc)(const volatile void *, size_t), void (*on_free)(const volatile void *));

static void on_malloc(const volatile void *memory, size_t size)
{
    (void)memory;
    (void)size;
    calls++;
}

static void on_free(const volatile void *memory)
{
    (void)memory;
}

static void start_counting(void)
{
    assert_true(__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) != 0);
}

#else

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    calls++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    calls++;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    calls++;
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    calls++;
    return __libc_memalign(alignment, size);
}

static void start_counting(void)
{
}

#endif

static stk_status take_nothing(
    void *ctx, const uint8_t *rows, size_t pitch_bytes, uint32_t count, stk_error *err)
{
    (void)ctx;
    (void)rows;
    (void)pitch_bytes;
    (void)count;
    (void)err;
    return STK_OK;
}

static void decode_some(bench *b, const blob *files, size_t count, int rounds)
{
    const stk__row_sink sink = {.rows = take_nothing};
    stk_image_info info;

    for (int i = 0; i < rounds; i++) {
        for (size_t k = 0; k < count; k++) {
            stk_rect rect = rect_random(&b->random, 131, 97);

            if (i == 0)
                rect = (stk_rect){.width = 131, .height = 97};
            assert_int_equal(
                stk__decoder_begin(b->decoder, blob_view(files[k]), &info, NULL), STK_OK);
            assert_int_equal(stk__decoder_read(b->decoder, &rect, STK__RGBX8, &sink, NULL), STK_OK);
        }
    }
}

static void pictures_after_the_first_ones_allocate_nothing(void **state)
{
    static const char *const names[] = {"sample_420.jpg", "sample_444.jpg", "sample_grey.jpg",
        "sample_progressive_420.jpg", "sample_cmyk.jpg"};
    bench *b = *state;
    blob files[COUNT_OF(names)];
    void *volatile probe;
    long before, after;

    for (size_t i = 0; i < COUNT_OF(names); i++)
        files[i] = blob_read(names[i]);
    start_counting();
    before = calls;
    probe = malloc(1); /* the counter counts at all */
    free(probe);
    assert_true(calls > before);
    decode_some(b, files, COUNT_OF(names), 2);
    before = calls;
    decode_some(b, files, COUNT_OF(names), 100);
    after = calls;
    assert_int_equal(after - before, 0);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        blob_free(files[i]);
}

/* PNG has no way to use a library object again, but its memory is ours. */
static void nor_do_those_of_png(void **state)
{
    bench *b = *state;
    blob files[2];
    stk_image_info info;
    const stk__row_sink sink = {.rows = take_nothing};
    long before = 0;

    if (!golden_is_built("x.png"))
        skip();
    files[0] = blob_read("kind_2_8.png");
    files[1] = blob_read("kind_6_16_i.png");
    for (int i = 0; i < 50; i++) {
        stk_rect rect = {.width = 21, .height = 13};

        if (i == 4)
            before = calls;
        assert_int_equal(
            stk__decoder_begin(b->decoder, blob_view(files[i % 2]), &info, NULL), STK_OK);
        assert_int_equal(stk__decoder_read(b->decoder, &rect, STK__RGBX8, &sink, NULL), STK_OK);
    }
    assert_int_equal(calls - before, 0);
    blob_free(files[0]);
    blob_free(files[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_after_the_first_ones_allocate_nothing),
        cmocka_unit_test(nor_do_those_of_png),
    };

    return cmocka_run_group_tests(tests, bench_set_up, bench_tear_down);
}
