/* The public calls: a chain and a run for one picture in memory. See stoker/transform.h. */
#include <stoker/transform.h>

#include "base/error.h"
#include "os/cpu.h"
#include "transform/image_chain.h"
#include "transform/kernels/kernels.h"
#include "transform/scratch.h"

enum {
    STRIP_ROWS = 16, /* rows that are made RGBX at a time */
};

stk_status stk_transform_shape(const stk_transform *chain, size_t count, uint32_t width,
    uint32_t height, uint32_t *width_out, uint32_t *height_out, stk_error *err)
{
    stk__heap heap = {0};
    stk__image_chain *checked = NULL;
    stk_status st;

    /* a float type, so that a Normalize passes */
    st = stk__image_chain_new(&heap, chain, count, STK_NHWC, STK_F32, &checked, err);
    if (st < 0)
        return st;
    st = stk__image_chain_shape(checked, width, height, width_out, height_out, err);
    stk__image_chain_free(checked);
    return st;
}

/* The rows of the part that a run wants, from RGB in memory. */
static stk_status give_rows(stk__heap *heap, stk__image_run *run, const stk_image *src,
    const stk_rect *part, uint32_t cpu, stk_error *err)
{
    stk__scratch strip = {0};
    stk__kernels kernels;
    const size_t pitch = (size_t)part->width * 4;
    uint8_t *rows = stk__scratch_need(&strip, heap, STRIP_ROWS, STRIP_ROWS, pitch, 0);
    stk_status st = STK_OK;

    if (rows == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for %d rows of a picture", STRIP_ROWS);
    stk__kernels_init(&kernels, cpu);
    for (uint32_t row = 0; row < part->height && st >= 0; row += STRIP_ROWS) {
        uint32_t count = part->height - row < STRIP_ROWS ? part->height - row : STRIP_ROWS;

        for (uint32_t i = 0; i < count; i++)
            kernels.expand(rows + i * pitch,
                (const uint8_t *)src->data + (part->top + row + i) * src->pitch_bytes +
                    (size_t)part->left * 3,
                part->width);
        st = stk__image_run_rows(run, rows, pitch, count, err);
    }
    stk__scratch_fini(&strip, heap);
    return st;
}

static stk_status check_memory(const stk_image *src, uint32_t width, uint32_t height,
    stk_dtype dtype, stk_span dst, stk_error *err)
{
    const size_t size = (size_t)width * height * 3 * stk_dtype_bytes(dtype);

    if (src->data == NULL || src->pitch_bytes < (size_t)src->width * 3)
        return STK_FAIL(err, STK_EINVAL, "source has %zu bytes a row; %u pixels need %zu",
            src->data != NULL ? src->pitch_bytes : 0, src->width, (size_t)src->width * 3);
    if (dst.data == NULL || dst.size != size)
        return STK_FAIL(err, STK_ESHAPE, "output has %zu bytes; %ux%u pixels of %s need %zu",
            dst.data != NULL ? dst.size : 0, width, height, stk_dtype_name(dtype), size);
    if ((uintptr_t)dst.data % stk_dtype_bytes(dtype) != 0)
        return STK_FAIL(err, STK_EINVAL, "output is not aligned to %s", stk_dtype_name(dtype));
    return STK_OK;
}

stk_status stk_image_transform(const stk_image *src, const stk_transform *chain, size_t count,
    const stk_draw *draw, stk_layout layout, stk_dtype dtype, stk_span dst, stk_error *err)
{
    stk__heap heap = {0};
    stk__image_chain *checked = NULL;
    stk__image_run *run = NULL;
    const uint32_t cpu = stk__cpu_flags();
    uint32_t width, height;
    stk_rect part;
    stk_status st;

    if (src == NULL)
        return STK_FAIL(err, STK_EINVAL, "source is NULL");
    st = stk__image_chain_new(&heap, chain, count, layout, dtype, &checked, err);
    if (st < 0)
        goto out;
    st = stk__image_chain_shape(checked, src->width, src->height, &width, &height, err);
    if (st < 0)
        goto out;
    st = check_memory(src, width, height, dtype, dst, err);
    if (st < 0)
        goto out;
    st = stk__image_run_new(&heap, checked, cpu, &run, err);
    if (st < 0)
        goto out;
    st = stk__image_run_begin(run, src->width, src->height, draw, dst.data, &part, err);
    if (st < 0)
        goto out;
    if (part.height > 0)
        st = give_rows(&heap, run, src, &part, cpu, err);
    if (st < 0)
        goto out;
    st = stk__image_run_end(run, err);
out:
    stk__image_run_free(run);
    stk__image_chain_free(checked);
    return st;
}
