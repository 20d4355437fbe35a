/* Without this: the one decoder that cannot get memory takes the process or leaks with it. */
#include "base/fault.h"
#include "support/golden.h"

static const char *const names[] = {
    "sample_420.jpg",
    "sample_progressive_420.jpg",
    "c40.jpg",
    "kind_2_8.png",
    "kind_6_16_i.png",
    "lossy.webp",
    "frame_on_canvas.webp",
};

/* The first allocation fails, the second, ... until there is none left to fail. */
static void decoding_survives_every_failed_allocation(void **state)
{
    (void)state;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        uint32_t nth = 0;
        bool struck = true;
        blob file;

        if (!golden_is_built(names[i]))
            continue;
        file = blob_read(names[i]);
        while (struck) {
            stk__heap heap = {0};
            stk_error err = STK_ERROR_INIT;
            stk__decoder *decoder = NULL;
            pixels p = {0};
            stk_status st;

            stk__fault_arm(STK__FAULT_ALLOC, ++nth);
            st = stk__decoder_new(&heap, NULL, &decoder, &err);
            if (st == STK_OK)
                st = pixels_decode(decoder, blob_view(file), (stk_rect){0}, STK__RGBX8, &p, &err);
            struck = stk__fault_disarm();
            free(p.data);
            p.data = NULL;
            if (struck) { /* an arena may get by with less; else this is the end of it */
                assert_true(st == STK_ENOMEM || st == STK_OK);
                assert_int_equal(err.status, st);
            } else {
                assert_int_equal(st, STK_OK);
            }
            if (decoder != NULL) { /* as good as new */
                assert_int_equal(
                    pixels_decode(decoder, blob_view(file), (stk_rect){0}, STK__RGBX8, &p, &err),
                    STK_OK);
                free(p.data);
            }
            stk__decoder_free(decoder);
            assert_true(stk__load_relaxed_u64(&heap.used_bytes) == 0);
        }
        assert_true(nth > 3); /* decoder, what its library keeps, arena: all lie on the path */
        blob_free(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
