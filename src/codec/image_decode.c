/* The public calls on pictures: one decoder for one call, in memory of its own. */
#include <string.h>

#include "base/error.h"
#include "codec/codec.h"

stk_status stk_image_probe(
    stk_view encoded, const stk_limits *limits, stk_image_info *info_out, stk_error *err)
{
    stk__heap heap = {0};
    stk__decoder *decoder = NULL;
    stk_status st;

    STK_TRY(stk__decoder_new(&heap, limits, &decoder, err));
    st = stk__decoder_begin(decoder, encoded, info_out, err);
    stk__decoder_free(decoder);
    return st;
}

/* Rows of a crop on their way into the caller's memory. */
typedef struct landing {
    uint8_t *next;
    size_t pitch_bytes;
    size_t row_bytes;
} landing;

static stk_status land_rows(
    void *ctx, const uint8_t *pixels, size_t pitch_bytes, uint32_t count, stk_error *err)
{
    landing *to = ctx;
    (void)err;

    for (uint32_t i = 0; i < count; i++) {
        memcpy(to->next, pixels + i * pitch_bytes, to->row_bytes);
        to->next += to->pitch_bytes;
    }
    return STK_OK;
}

static stk_status decode(stk__decoder *decoder, stk_view encoded, const stk_rect *crop,
    const stk_image *dst, stk_error *err)
{
    stk_image_info info;
    stk_rect whole;
    landing to = {
        .next = dst->data,
        .pitch_bytes = dst->pitch_bytes,
        .row_bytes = (size_t)dst->width * STK__RGB8,
    };
    const stk__row_sink sink = {.ctx = &to, .rows = land_rows};

    STK_TRY(stk__decoder_begin(decoder, encoded, &info, err));
    whole = (stk_rect){.width = info.width, .height = info.height};
    if (crop == NULL)
        crop = &whole;
    if (dst->width != crop->width || dst->height != crop->height)
        return STK_FAIL(err, STK_ESHAPE, "memory for %u x %u pixels, but the part has %u x %u",
            dst->width, dst->height, crop->width, crop->height);
    return stk__decoder_read(decoder, crop, STK__RGB8, &sink, err);
}

stk_status stk_image_decode(stk_view encoded, const stk_rect *crop, const stk_limits *limits,
    const stk_image *dst, stk_error *err)
{
    stk__heap heap = {0};
    stk__decoder *decoder = NULL;
    stk_status st;

    if (dst->pitch_bytes < (size_t)dst->width * STK__RGB8)
        return STK_FAIL(err, STK_EINVAL, "pitch of %zu bytes for rows of %u pixels",
            dst->pitch_bytes, dst->width);
    STK_TRY(stk__decoder_new(&heap, limits, &decoder, err));
    st = decode(decoder, encoded, crop, dst, err);
    stk__decoder_free(decoder);
    return st;
}
