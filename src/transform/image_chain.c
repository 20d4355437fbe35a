/* Chains: checked, copied, and their shapes. See image_chain.h. */
#include "transform/image_chain.h"

#include <string.h>

#include "base/error.h"
#include "transform/chain_int.h"
#include "transform/image_laws.h"

static stk_status check_output(stk_layout layout, stk_dtype dtype, stk_error *err)
{
    if (layout != STK_NHWC && layout != STK_NCHW)
        return STK_FAIL(
            err, STK_EINVAL, "layout is %d; it must be NHWC (0) or NCHW (1)", (int)layout);
    if (dtype != STK_U8 && dtype != STK_F16 && dtype != STK_BF16 && dtype != STK_F32)
        return STK_FAIL(err, STK_EINVAL,
            "dtype of a picture is %s; it must be uint8, float16, bfloat16 or float32",
            stk_dtype_name(dtype));
    return STK_OK;
}

static stk_status check_chain(
    const stk_transform *transforms, size_t count, stk_dtype dtype, stk_error *err)
{
    for (size_t i = 0; i < count; i++) {
        STK_TRY(stk__law_check(&transforms[i], i, err));
        if (transforms[i].kind != STK_NORMALIZE)
            continue;
        if (i + 1 < count)
            return STK_FAIL(err, STK_EINVAL,
                "transform %zu (Normalize): %s comes after it; it must be the last", i,
                stk__law_name(transforms[i + 1].kind));
        if (dtype == STK_U8)
            return STK_FAIL(err, STK_EINVAL,
                "transform %zu (Normalize): dtype is uint8; it must be a float", i);
    }
    return STK_OK;
}

static void set_values(stk__image_chain *chain)
{
    static const float no_mean[3] = {0, 0, 0}, no_std[3] = {1, 1, 1};
    const bool normal = chain->geometry < chain->count;
    const float *mean = normal ? chain->transforms[chain->geometry].mean : no_mean;
    const float *std = normal ? chain->transforms[chain->geometry].std : no_std;

    chain->packed.plain = true;
    for (int c = 0; c < 3; c++) {
        chain->planes[c].plain = mean[c] == 0 && std[c] == 1;
        chain->packed.plain = chain->packed.plain && chain->planes[c].plain;
    }
    for (int i = 0; i < STK__VALUE_PERIOD; i++) {
        chain->packed.mean[i] = mean[i % 3];
        chain->packed.std[i] = std[i % 3];
        for (int c = 0; c < 3; c++) {
            chain->planes[c].mean[i] = mean[c];
            chain->planes[c].std[i] = std[c];
        }
    }
}

static bool resizes(const stk_transform *t)
{
    return (t->kind == STK_RESIZE || t->kind == STK_RANDOM_RESIZED_CROP) &&
           t->interpolation != STK_NEAREST;
}

/* Does the transform's output have one size whatever comes in? */
static bool sets_size(const stk_transform *t)
{
    switch (t->kind) {
    case STK_RESIZE:
        return t->width != 0;
    case STK_CENTER_CROP:
    case STK_RANDOM_CROP:
    case STK_RANDOM_RESIZED_CROP:
    case STK_CROP:
        return true;
    case STK_RANDOM_HORIZONTAL_FLIP:
    case STK_NORMALIZE:
    case STK_HORIZONTAL_FLIP:
        break;
    }
    return false;
}

/* From the first transform that sets the size on, all sizes are known: those that never work are
 * refused here. */
static stk_status find_fixed(stk__image_chain *chain, stk_error *err)
{
    for (size_t i = 0; i < chain->geometry; i++) {
        const stk_transform *t = &chain->transforms[i];

        if (chain->fixed) {
            STK_TRY(stk__law_size(t, i, &chain->fixed_width, &chain->fixed_height, err));
        } else if (sets_size(t)) {
            chain->fixed = true;
            chain->fixed_width = t->width;
            chain->fixed_height = t->height;
        }
    }
    return STK_OK;
}

stk_status stk__image_chain_new(stk__heap *heap, const stk_transform *transforms, size_t count,
    stk_layout layout, stk_dtype dtype, stk__image_chain **chain_out, stk_error *err)
{
    stk__image_chain *chain = NULL;
    stk_status st;

    if (count > 0 && transforms == NULL)
        return STK_FAIL(err, STK_EINVAL, "chain is NULL with a count of %zu", count);
    STK_TRY(check_output(layout, dtype, err));
    STK_TRY(check_chain(transforms, count, dtype, err));
    chain = stk__heap_zalloc(heap, 1, sizeof *chain);
    if (chain == NULL) {
        st = STK_FAIL(err, STK_ENOMEM, "no memory for a chain of transforms");
        goto out;
    }
    chain->heap = heap; /* before anything else can fail: freeing needs it */
    chain->transforms = stk__heap_alloc(heap, count, sizeof *transforms);
    if (chain->transforms == NULL) {
        st = STK_FAIL(err, STK_ENOMEM, "no memory for a chain of %zu transforms", count);
        goto out;
    }
    chain->count = count;
    if (count > 0)
        memcpy(chain->transforms, transforms, count * sizeof *transforms);
    for (size_t i = 0; i < count; i++) {
        if (transforms[i].kind != STK_RANDOM_CROP) /* what others pad is black */
            memset(chain->transforms[i].fill, 0, sizeof chain->transforms[i].fill);
    }
    chain->layout = layout;
    chain->dtype = dtype;
    chain->geometry = count > 0 && transforms[count - 1].kind == STK_NORMALIZE ? count - 1 : count;
    chain->stages = 1;
    for (size_t i = 0; i < chain->geometry; i++)
        chain->stages += resizes(&transforms[i]);
    set_values(chain);
    st = find_fixed(chain, err);
    if (st < 0)
        goto out;
    *chain_out = chain;
    chain = NULL;
out:
    stk__image_chain_free(chain);
    return st;
}

void stk__image_chain_free(stk__image_chain *chain)
{
    if (chain == NULL)
        return;
    stk__heap_free(chain->heap, chain->transforms, chain->count, sizeof *chain->transforms);
    stk__heap_free(chain->heap, chain, 1, sizeof *chain);
}

bool stk__image_chain_fixed(
    const stk__image_chain *chain, uint32_t *width_out, uint32_t *height_out)
{
    if (!chain->fixed)
        return false;
    *width_out = chain->fixed_width;
    *height_out = chain->fixed_height;
    return true;
}

stk_status stk__image_chain_shape(const stk__image_chain *chain, uint32_t width, uint32_t height,
    uint32_t *width_out, uint32_t *height_out, stk_error *err)
{
    if (width < 1 || height < 1 || width > STK__SIDE_MAX || height > STK__SIDE_MAX)
        return STK_FAIL(
            err, STK_ESHAPE, "a picture of %ux%u; sides must be 1 to 2^28", width, height);
    for (size_t i = 0; i < chain->geometry; i++)
        STK_TRY(stk__law_size(&chain->transforms[i], i, &width, &height, err));
    *width_out = width;
    *height_out = height;
    return STK_OK;
}

/* Bytes that a resampling from `from` to `to` pixels keeps: of each output of both axes its
 * weights, as doubles and twice as 16-bit numbers, and its place; and the ring of rows. */
static size_t resampling_bytes(const stk_transform *t, const uint32_t from[2], const uint32_t to[2])
{
    const double radius = t->interpolation == STK_BICUBIC ? 2 : 1;
    double bytes = 0, taps = 0;

    for (int axis = 0; axis < 2; axis++) {
        const double scale = (double)from[axis] / to[axis];

        taps = 2 * radius * (scale > 1 && t->antialias ? scale : 1) + 2;
        bytes += to[axis] * (taps * 12 + 24);
    }
    return (size_t)(bytes + (taps + 8) * (to[0] * 3.0 + 128));
}

size_t stk__image_chain_scratch_bytes(
    const stk__image_chain *chain, uint32_t width, uint32_t height)
{
    size_t bytes = 2048; /* handles */
    uint32_t before[2] = {width, height};
    bool resampled = false;

    for (size_t i = 0; i < chain->geometry; i++) {
        uint32_t after[2] = {before[0], before[1]};

        if (stk__law_size(&chain->transforms[i], i, &after[0], &after[1], NULL) < 0)
            break; /* no picture of this size will pass, so none needs more */
        if (resizes(&chain->transforms[i])) {
            if (resampled)
                bytes += (size_t)before[0] * before[1] * 4; /* the picture between the two */
            bytes += resampling_bytes(&chain->transforms[i], before, after);
            resampled = true;
        }
        memcpy(before, after, sizeof before);
    }
    return bytes + ((size_t)before[0] * 3 + 128) * 8;
}
