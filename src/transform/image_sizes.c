/* Ranges of fields, and the size that a transform gives: see image_laws.h. */
#include <math.h>

#include "base/error.h"
#include "base/text.h"
#include "transform/image_laws.h"

enum {
    OUTPUT_MAX = 65535, /* pixels of a side that a transform makes, or pads */
};

const char *stk__law_name(stk_transform_kind kind)
{
    switch (kind) {
    case STK_RESIZE:
        return "Resize";
    case STK_CENTER_CROP:
        return "CenterCrop";
    case STK_RANDOM_CROP:
        return "RandomCrop";
    case STK_RANDOM_RESIZED_CROP:
        return "RandomResizedCrop";
    case STK_RANDOM_HORIZONTAL_FLIP:
        return "RandomHorizontalFlip";
    case STK_NORMALIZE:
        return "Normalize";
    case STK_CROP:
        return "Crop";
    case STK_HORIZONTAL_FLIP:
        return "HorizontalFlip";
    }
    return "?";
}

/* "transform 2 (RandomCrop): width is 0; it must be 1 to 65,535" */
#define REFUSE(...)                                                                          \
    do {                                                                                     \
        char text[160];                                                                      \
        stk__text line = {text, sizeof text, 0};                                             \
        stk__text_put(&line, __VA_ARGS__);                                                   \
        return STK_FAIL(                                                                     \
            err, STK_EINVAL, "transform %zu (%s): %s", index, stk__law_name(t->kind), text); \
    } while (0)

static stk_status check_size(const stk_transform *t, size_t index, stk_error *err)
{
    if (t->height < 1 || t->height > OUTPUT_MAX)
        REFUSE("height is %u; it must be 1 to 65,535", t->height);
    if ((t->width < 1 && t->kind != STK_RESIZE) || t->width > OUTPUT_MAX)
        REFUSE("width is %u; it must be 1 to 65,535", t->width);
    return STK_OK;
}

static stk_status check_resampling(const stk_transform *t, size_t index, stk_error *err)
{
    if (t->interpolation != STK_BILINEAR && t->interpolation != STK_BICUBIC &&
        t->interpolation != STK_NEAREST)
        REFUSE("interpolation is %d; it must be bilinear (0), bicubic (1) or nearest (2)",
            (int)t->interpolation);
    return STK_OK;
}

static stk_status check_resize(const stk_transform *t, size_t index, stk_error *err)
{
    if (t->width != 0 && t->max_size != 0)
        REFUSE("max_size is %u; with a width it must be 0", t->max_size);
    if (t->max_size > OUTPUT_MAX || (t->max_size != 0 && t->max_size <= t->height))
        REFUSE("max_size is %u; it must be 0, or more than height (%u) and at most 65,535",
            t->max_size, t->height);
    return check_resampling(t, index, err);
}

static stk_status check_padding(const stk_transform *t, size_t index, stk_error *err)
{
    if (t->padding_mode < STK_PAD_CONSTANT || t->padding_mode > STK_PAD_SYMMETRIC)
        REFUSE("padding_mode is %d; it must be 0 to 3", (int)t->padding_mode);
    for (int side = 0; side < 4; side++) {
        if (t->padding[side] > OUTPUT_MAX)
            REFUSE("padding[%d] is %u; it must be 0 to 65,535", side, t->padding[side]);
    }
    return STK_OK;
}

/* Two positive numbers in order; the comparisons refuse NaN. */
static stk_status check_range(
    const stk_transform *t, size_t index, const char *name, const double *range, stk_error *err)
{
    if (!(range[0] > 0) || !(range[0] <= range[1]) || !(range[1] < (double)INFINITY))
        REFUSE("%s is %g, %g; it must be two positive numbers, the lower one first", name, range[0],
            range[1]);
    return STK_OK;
}

static stk_status check_normalize(const stk_transform *t, size_t index, stk_error *err)
{
    for (int c = 0; c < 3; c++) {
        if (!isfinite(t->mean[c]))
            REFUSE("mean[%d] is %g; it must be a number", c, (double)t->mean[c]);
        if (!isfinite(t->std[c]) || t->std[c] == 0)
            REFUSE("std[%d] is %g; it must be a number other than 0", c, (double)t->std[c]);
    }
    return STK_OK;
}

stk_status stk__law_check(const stk_transform *t, size_t index, stk_error *err)
{
    switch (t->kind) {
    case STK_RESIZE:
        STK_TRY(check_size(t, index, err));
        return check_resize(t, index, err);
    case STK_CENTER_CROP:
    case STK_CROP:
        return check_size(t, index, err);
    case STK_RANDOM_CROP:
        STK_TRY(check_size(t, index, err));
        return check_padding(t, index, err);
    case STK_RANDOM_RESIZED_CROP:
        STK_TRY(check_size(t, index, err));
        STK_TRY(check_resampling(t, index, err));
        STK_TRY(check_range(t, index, "scale", t->scale, err));
        return check_range(t, index, "ratio", t->ratio, err);
    case STK_RANDOM_HORIZONTAL_FLIP:
        if (!(t->probability >= 0) || !(t->probability <= 1))
            REFUSE("probability is %g; it must be 0 to 1", t->probability);
        return STK_OK;
    case STK_NORMALIZE:
        return check_normalize(t, index, err);
    case STK_HORIZONTAL_FLIP:
        return STK_OK;
    }
    REFUSE("kind is %d, which is none", (int)t->kind);
}

/* The short side becomes height, the long one in proportion (cut, not rounded), max_size at most.
 */
static stk_status short_side(
    const stk_transform *t, size_t index, uint32_t *width, uint32_t *height, stk_error *err)
{
    const bool upright = *width <= *height;
    uint64_t old_short = upright ? *width : *height, old_long = upright ? *height : *width;
    uint64_t new_short = t->height, new_long = new_short * old_long / old_short;

    if (t->max_size != 0 && new_long > t->max_size) {
        new_short = t->max_size * new_short / new_long;
        new_long = t->max_size;
    }
    if (new_short < 1 || new_long > OUTPUT_MAX)
        return STK_FAIL(err, STK_ESHAPE,
            "transform %zu (Resize): a picture of %ux%u becomes %llux%llu; sides must be 1 to "
            "65,535",
            index, *width, *height, (unsigned long long)(upright ? new_short : new_long),
            (unsigned long long)(upright ? new_long : new_short));
    *width = (uint32_t)(upright ? new_short : new_long);
    *height = (uint32_t)(upright ? new_long : new_short);
    return STK_OK;
}

/* One axis of a random crop: long enough with its padding, and for what its padding repeats. */
static stk_status random_crop_fits(
    const stk_transform *t, size_t index, bool rows, uint32_t size, stk_error *err)
{
    uint64_t before = t->padding[rows ? 1 : 0], after = t->padding[rows ? 3 : 2];
    uint64_t padded = before + size + after, most = before > after ? before : after;
    uint32_t crop = rows ? t->height : t->width;

    if (padded < crop && !t->pad_if_needed)
        return STK_FAIL(err, STK_ESHAPE,
            "transform %zu (RandomCrop): %s is %u; the picture has %llu with its padding", index,
            rows ? "height" : "width", crop, (unsigned long long)padded);
    if (padded < crop)
        most += crop - padded;
    if ((t->padding_mode == STK_PAD_REFLECT && most >= size) ||
        (t->padding_mode == STK_PAD_SYMMETRIC && most > size))
        return STK_FAIL(err, STK_ESHAPE,
            "transform %zu (RandomCrop): %llu %s of %s padding; the picture has %u", index,
            (unsigned long long)most, rows ? "rows" : "columns",
            t->padding_mode == STK_PAD_REFLECT ? "reflected" : "symmetric", size);
    return STK_OK;
}

static stk_status random_crop(
    const stk_transform *t, size_t index, uint32_t *width, uint32_t *height, stk_error *err)
{
    STK_TRY(random_crop_fits(t, index, true, *height, err));
    STK_TRY(random_crop_fits(t, index, false, *width, err));
    *width = t->width;
    *height = t->height;
    return STK_OK;
}

stk_status stk__law_size(
    const stk_transform *t, size_t index, uint32_t *width, uint32_t *height, stk_error *err)
{
    switch (t->kind) {
    case STK_RESIZE:
        if (t->width == 0)
            return short_side(t, index, width, height, err);
        break;
    case STK_RANDOM_CROP:
        return random_crop(t, index, width, height, err);
    case STK_CROP:
        if ((uint64_t)t->left + t->width > *width || (uint64_t)t->top + t->height > *height)
            return STK_FAIL(err, STK_ESHAPE,
                "transform %zu (Crop): %ux%u pixels from column %u, row %u; the picture has %ux%u",
                index, t->width, t->height, t->left, t->top, *width, *height);
        break;
    case STK_CENTER_CROP:
    case STK_RANDOM_RESIZED_CROP:
        break;
    case STK_RANDOM_HORIZONTAL_FLIP:
    case STK_HORIZONTAL_FLIP:
    case STK_NORMALIZE:
        return STK_OK;
    }
    *width = t->width;
    *height = t->height;
    return STK_OK;
}
