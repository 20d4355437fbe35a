/* Sizes and parameters of transforms: see image_laws.h and docs/draws.md. */
#include "transform/image_laws.h"

#include <math.h>

#include "base/philox.h"
#include "transform/det_math.h"

enum {
    TRIES = 10, /* of a random resized crop, then the middle */
};

double stk__draws_unit(stk__draws *draws)
{
    return stk__unit(
        stk__philox(draws->seed, draws->epoch, draws->sample, draws->transform, draws->next++, 0)
            .word[0]);
}

uint64_t stk__draws_below(stk__draws *draws, uint64_t bound)
{
    return stk__below(
        stk__philox(draws->seed, draws->epoch, draws->sample, draws->transform, draws->next++, 0)
            .word[0],
        bound);
}

/* (larger - smaller) / 2 to nearest, halves to even. */
static int64_t middle(uint64_t larger, uint64_t smaller)
{
    uint64_t gap = larger - smaller, half = gap / 2;

    return (int64_t)(half + (gap & half & 1));
}

/* Where a centre crop of one axis begins: padded evenly, the odd pixel behind, where it is too
 * short. */
static int64_t center_of(uint32_t size, uint32_t crop)
{
    if (crop > size)
        return -(int64_t)((crop - size) / 2);
    return middle(size, crop);
}

stk__window stk__law_center_crop(const stk_transform *transform, uint32_t width, uint32_t height)
{
    return (stk__window){
        .left = center_of(width, transform->width),
        .top = center_of(height, transform->height),
        .width = transform->width,
        .height = transform->height,
    };
}

/* Padding before and after one axis of a random crop. What is missing is added on both sides. */
static void crop_padding(const stk_transform *transform, bool rows, uint32_t size,
    uint64_t *before_out, uint64_t *after_out)
{
    uint64_t before = transform->padding[rows ? 1 : 0], after = transform->padding[rows ? 3 : 2];
    uint32_t crop = rows ? transform->height : transform->width;
    uint64_t padded = before + size + after;

    if (transform->pad_if_needed && padded < crop) {
        before += crop - padded;
        after += crop - padded;
    }
    *before_out = before;
    *after_out = after;
}

/* Start of one axis of a random crop; no draw where there is no choice. */
static int64_t random_start(
    const stk_transform *transform, bool rows, uint32_t size, stk__draws *draws)
{
    uint32_t crop = rows ? transform->height : transform->width;
    uint64_t before, after, padded, at = 0;

    crop_padding(transform, rows, size, &before, &after);
    padded = before + size + after;
    if (padded > crop)
        at = stk__draws_below(draws, padded - crop + 1);
    return (int64_t)at - (int64_t)before;
}

stk__window stk__law_random_crop(
    const stk_transform *transform, uint32_t width, uint32_t height, stk__draws *draws)
{
    stk__window window = {.width = transform->width, .height = transform->height};

    window.top = random_start(transform, true, height, draws);
    window.left = random_start(transform, false, width, draws);
    return window;
}

/* round(x) of a size, at least 1 and at most `most`. */
static uint32_t rounded_side(double x, uint32_t most)
{
    double side = stk__round_even(x);

    return side < 1 ? 1 : side > most ? most : (uint32_t)side;
}

/* No try fitted: the middle, of the nearest ratio that is allowed. */
static stk_rect middle_crop(const stk_transform *transform, uint32_t width, uint32_t height)
{
    double ratio = (double)width / (double)height;
    stk_rect rect = {.width = width, .height = height};

    if (ratio < transform->ratio[0])
        rect.height = rounded_side(width / transform->ratio[0], height);
    else if (ratio > transform->ratio[1])
        rect.width = rounded_side(height * transform->ratio[1], width);
    rect.left = (width - rect.width) / 2;
    rect.top = (height - rect.height) / 2;
    return rect;
}

stk_rect stk__law_random_resized_crop(
    const stk_transform *transform, uint32_t width, uint32_t height, stk__draws *draws)
{
    const double area = (double)width * (double)height;
    const double low = stk__log(transform->ratio[0]), high = stk__log(transform->ratio[1]);
    const double *scale = transform->scale;

    for (int try = 0; try < TRIES; try++) {
        double target = area * (scale[0] + (scale[1] - scale[0]) * stk__draws_unit(draws));
        double aspect = stk__exp(low + (high - low) * stk__draws_unit(draws));
        double w = sqrt(target * aspect), h = sqrt(target / aspect);

        if (!(w < STK__SIDE_MAX + 1.0) || !(h < STK__SIDE_MAX + 1.0))
            continue; /* before the conversion to an integer */
        w = stk__round_even(w);
        h = stk__round_even(h);
        if (w > 0 && w <= width && h > 0 && h <= height) {
            stk_rect rect = {.width = (uint32_t)w, .height = (uint32_t)h};

            rect.top = (uint32_t)stk__draws_below(draws, height - rect.height + 1);
            rect.left = (uint32_t)stk__draws_below(draws, width - rect.width + 1);
            return rect;
        }
    }
    return middle_crop(transform, width, height);
}

bool stk__law_flip(const stk_transform *transform, stk__draws *draws)
{
    return stk__draws_unit(draws) < transform->probability;
}
