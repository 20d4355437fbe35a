/* A finished row of RGB into the target, in its layout and type: see image_stage.h. */
#include <string.h>

#include "transform/image_stage.h"

/* Bytes to values of the chain's type; at: where the element of number `first` goes. */
static void write_values(const stk__stage *stage, size_t first, const uint8_t *src, size_t count,
    const stk__values *values)
{
    const stk__kernels *k = stage->kernels;
    const stk__target *target = &stage->target;
    const stk_dtype dtype = target->chain->dtype;
    void *dst = target->pixels + first * stk_dtype_bytes(dtype);

    switch (dtype) {
    case STK_F32:
        k->values_f32(dst, src, count, values);
        break;
    case STK_F16:
        k->values_f16(dst, src, count, values);
        break;
    case STK_BF16:
        k->values_bf16(dst, src, count, values);
        break;
    default: /* the chain has checked */
        memcpy(dst, src, count);
        break;
    }
}

static void write_planes(stk__stage *stage, uint32_t y, const uint8_t *rgb)
{
    const stk__target *target = &stage->target;
    const size_t width = target->width, plane = width * target->height, at = width * y;
    const size_t part_bytes = stk__size_align(width + STK__ROW_SLACK, STK_ALIGN_BYTES);
    uint8_t *part[3];

    if (target->chain->dtype == STK_U8) {
        for (size_t c = 0; c < 3; c++)
            part[c] = target->pixels + c * plane + at;
        stage->kernels->planes(part[0], part[1], part[2], rgb, width);
        return;
    }
    for (size_t c = 0; c < 3; c++)
        part[c] = stage->parts + c * part_bytes;
    stage->kernels->planes(part[0], part[1], part[2], rgb, width);
    for (size_t c = 0; c < 3; c++)
        write_values(stage, c * plane + at, part[c], width, &target->chain->planes[c]);
}

bool stk__stage_is_direct(const stk__stage *stage)
{
    const stk__image_chain *chain = stage->target.chain;

    return chain != NULL && chain->layout == STK_NHWC && chain->dtype == STK_U8 &&
           stage->x.straight && stage->y.straight && stage->y.step == 1;
}

uint8_t *stk__stage_place(const stk__stage *stage, uint32_t row)
{
    return stage->target.pixels + (size_t)row * stage->target.width * 3;
}

void stk__stage_write(stk__stage *stage, uint32_t y, const uint8_t *rgb)
{
    const stk__target *target = &stage->target;
    const size_t width = target->width;

    if (target->chain == NULL)
        stage->kernels->expand(target->pixels + y * width * 4, rgb, width);
    else if (target->chain->layout == STK_NHWC)
        write_values(stage, y * width * 3, rgb, width * 3, &target->chain->packed);
    else
        write_planes(stage, y, rgb);
}
