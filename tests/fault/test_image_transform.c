/* Without this: a failed allocation in the midst of a picture leaks its scratch, or the next
 * picture is written through a pointer to memory that was given back. */
#include "base/fault.h"
#include "base/heap.h"
#include "os/cpu.h"
#include "support/test.h"
#include "transform/image_chain.h"

enum { WIDTH = 90, HEIGHT = 70, OUT = 12 };

/* Two resamplings, padding between them and a table of columns: every kind of scratch. */
static stk_status chain_of(stk__heap *heap, stk__image_chain **chain_out, stk_error *err)
{
    stk_transform chain[4] = {
        STK_TRANSFORM_INIT, STK_TRANSFORM_INIT, STK_TRANSFORM_INIT, STK_TRANSFORM_INIT};

    chain[0].kind = STK_RESIZE;
    chain[0].height = 40;
    chain[1].kind = STK_RANDOM_CROP;
    chain[1].height = chain[1].width = 60;
    chain[1].pad_if_needed = true;
    chain[1].padding_mode = STK_PAD_EDGE;
    chain[2].kind = STK_RESIZE;
    chain[2].height = chain[2].width = 10;
    chain[3].kind = STK_CENTER_CROP;
    chain[3].height = chain[3].width = OUT;
    return stk__image_chain_new(heap, chain, 4, STK_NCHW, STK_U8, chain_out, err);
}

static stk_status picture(
    stk__image_run *run, uint32_t width, uint32_t height, uint8_t *out, stk_error *err)
{
    static const uint8_t row[WIDTH * 2 * 4];
    stk_rect part;
    stk_status st = stk__image_run_begin(run, width, height, NULL, out, &part, err);

    if (st < 0)
        return st;
    for (uint32_t y = 0; y < part.height && st >= 0; y++)
        st = stk__image_run_rows(run, row, sizeof row, 1, err);
    return st >= 0 ? stk__image_run_end(run, err) : st;
}

/* A chain, a run, a picture, and a larger one; then the same again, which always works. */
static stk_status life(stk__heap *heap, stk_error *err)
{
    uint8_t out[OUT * OUT * 3];
    stk__image_chain *chain = NULL;
    stk__image_run *run = NULL;
    stk_status st = chain_of(heap, &chain, err);

    if (st >= 0)
        st = stk__image_run_new(heap, chain, stk__cpu_flags(), &run, err);
    if (st >= 0)
        st = picture(run, WIDTH, HEIGHT, out, err);
    if (st >= 0)
        st = picture(run, WIDTH * 2, HEIGHT * 2, out, err);
    if (st < 0 && run != NULL && stk__fault_disarm()) {
        assert_int_equal(picture(run, WIDTH, HEIGHT, out, NULL), STK_OK);
        assert_int_equal(picture(run, WIDTH * 2, HEIGHT * 2, out, NULL), STK_OK);
    }
    stk__image_run_free(run);
    if (chain != NULL)
        stk__image_chain_free(chain);
    return st;
}

static void survives_every_failed_allocation(void **state)
{
    uint32_t nth = 0;
    stk_status st;
    (void)state;

    do {
        stk__heap heap = {0};
        stk_error err = STK_ERROR_INIT;

        stk__fault_arm(STK__FAULT_ALLOC, ++nth);
        st = life(&heap, &err);
        stk__fault_disarm();
        assert_true(st == STK_OK || st == STK_ENOMEM);
        assert_int_equal(err.status, st);
        assert_int_equal(heap.used_bytes, 0);
    } while (st != STK_OK);
    print_message("%u allocations failed\n", nth - 1);
    assert_true(nth > 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
