/*
 * WebP through libwebp; the only file that includes it.
 *
 * The container is read by webp_riff.h; the library gets the one chunk with the picture, so that
 * alpha, which is left out, is not even decoded where it lies in a chunk of its own. Of an
 * animation that is its first frame, on a black canvas where it is smaller.
 *
 * A crop is decoded by the library's own cropping, with a margin that keeps the ends of its chroma
 * filter away from the crop. The library takes its working memory from malloc and has no other way;
 * it is estimated and counted against the heap while it is in use.
 */
#include <stdio.h>
#include <string.h>
#include <webp/decode.h>

#include "base/error.h"
#include "base/size.h"
#include "codec/codec_table.h"
#include "codec/decode_arena.h"
#include "codec/sniff.h"
#include "codec/webp_riff.h"

typedef struct webp {
    stk__heap *heap;
    stk_limits limits;
    stk__arena arena;
    stk_view encoded; /* of the picture in progress; not ours */
    stk__webp_still still;
    uint32_t width, height; /* of the picture: the canvas where there is one */
} webp;

/* A half-open range of pixels along one axis. */
typedef struct range {
    uint32_t from, to;
} range;

/* ---- The header ------------------------------------------------------------------------------ */

static const uint8_t *chunk_of(const webp *w)
{
    return (const uint8_t *)w->encoded.data + w->still.at;
}

static stk_status status_of(const webp *w, VP8StatusCode code, stk_error *err)
{
    switch (code) {
    case VP8_STATUS_OK:
        return STK_OK;
    case VP8_STATUS_OUT_OF_MEMORY:
        return STK_FAIL(
            err, STK_ENOMEM, "no memory to decode a WebP of %u x %u pixels", w->width, w->height);
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
        return STK_FAIL_AT(
            err, STK_ECORRUPT, w->still.at + w->still.size, "WebP data ended within the picture");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return STK_FAIL_AT(
            err, STK_ENOTSUP, w->still.at, "WebP with a feature that libwebp does not have");
    default:
        return STK_FAIL_AT(err, STK_ECORRUPT, w->still.at, "WebP picture is damaged");
    }
}

/* Size of the picture, compared with what the container says of it. */
static stk_status take_size(webp *w, const WebPBitstreamFeatures *found, stk_error *err)
{
    const stk__webp_still *still = &w->still;
    uint32_t width = (uint32_t)found->width, height = (uint32_t)found->height;
    uint32_t told_width = width, told_height = height;

    if (still->animated) {
        told_width = still->width;
        told_height = still->height;
    } else if (still->canvas) {
        told_width = still->canvas_width;
        told_height = still->canvas_height;
    }
    if (width != told_width || height != told_height)
        return STK_FAIL_AT(err, STK_ECORRUPT, still->at,
            "WebP picture of %u x %u pixels where its container says %u x %u", width, height,
            told_width, told_height);
    w->width = still->canvas ? still->canvas_width : width;
    w->height = still->canvas ? still->canvas_height : height;
    w->still.width = width;
    w->still.height = height;
    if ((uint64_t)w->width * w->height > w->limits.max_pixels)
        return STK_FAIL_AT(err, STK_ELIMIT, 0,
            "WebP of %u x %u pixels: more than %llu (limit max_pixels)", w->width, w->height,
            (unsigned long long)w->limits.max_pixels);
    return STK_OK;
}

static stk_status webp_begin(
    void *state, stk_view encoded, stk_image_info *info_out, stk_error *err)
{
    webp *w = state;
    WebPBitstreamFeatures found;

    stk__arena_reset(&w->arena);
    w->encoded = encoded;
    w->width = w->height = 0;
    STK_TRY(stk__webp_find(encoded, &w->still, err));
    STK_TRY(status_of(w, WebPGetFeatures(chunk_of(w), w->still.size, &found), err));
    STK_TRY(take_size(w, &found, err));
    info_out->width = w->width;
    info_out->height = w->height;
    info_out->orientation = w->still.orientation;
    info_out->channels = w->still.alpha || found.has_alpha ? 4 : 3;
    info_out->depth = 8;
    return STK_OK;
}

/* ---- The pixels ------------------------------------------------------------------------------ */

/* The part of an axis to decode: `crop` and a margin, from an even pixel on, since the library
 * moves odd ones. */
static range widen(range crop, uint32_t whole)
{
    enum { MARGIN = 4 };

    uint32_t from = crop.from > MARGIN ? (crop.from - MARGIN) & ~1u : 0;
    uint32_t to = whole - crop.to > MARGIN ? crop.to + MARGIN : whole;

    return (range){from, to};
}

/* What the library takes by itself: four bytes a pixel for lossless pictures, a few rows of blocks
 * for the others, tables. */
static size_t library_bytes(const stk__webp_still *still)
{
    size_t width = (size_t)still->width + 64;

    return (still->lossless ? width * ((size_t)still->height + 32) * 4 : width * 128) +
           ((size_t)256 << 10);
}

static stk_status decode(
    webp *w, range x, range y, stk__pixels pixels, uint8_t *to, size_t pitch_bytes, stk_error *err)
{
    WebPDecoderConfig config;
    size_t counted = library_bytes(&w->still);
    VP8StatusCode code;

    if (!WebPInitDecoderConfig(&config))
        return STK_FAIL(
            err, STK_ENOTSUP, "libwebp of another version than this build was made for");
    config.options.use_cropping = 1;
    config.options.crop_left = (int)x.from;
    config.options.crop_top = (int)y.from;
    config.options.crop_width = (int)(x.to - x.from);
    config.options.crop_height = (int)(y.to - y.from);
    config.output.colorspace = pixels == STK__RGBX8 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = to;
    config.output.u.RGBA.stride = (int)pitch_bytes;
    config.output.u.RGBA.size = pitch_bytes * (y.to - y.from);
    if (!stk__heap_reserve(w->heap, counted))
        return STK_FAIL(
            err, STK_ENOMEM, "no memory to decode a WebP of %u x %u pixels", w->width, w->height);
    code = WebPDecode(chunk_of(w), w->still.size, &config);
    stk__heap_unreserve(w->heap, counted);
    return status_of(w, code, err);
}

/* Rows of the region, decoded into the arena. */
static stk_status decode_region(webp *w, range x, range y, stk__pixels pixels,
    const uint8_t **rows_out, size_t *pitch_out, stk_error *err)
{
    size_t pitch_bytes = stk__size_align((size_t)(x.to - x.from) * pixels, STK_ALIGN_BYTES);
    size_t bytes;
    uint8_t *rows = NULL;

    if (pitch_bytes <= INT32_MAX && stk__size_mul(pitch_bytes, y.to - y.from, &bytes))
        rows = stk__arena_take(&w->arena, bytes);
    if (rows == NULL)
        return STK_FAIL(
            err, STK_ENOMEM, "no memory to decode a WebP of %u x %u pixels", w->width, w->height);
    STK_TRY(decode(w, x, y, pixels, rows, pitch_bytes, err));
    *rows_out = rows;
    *pitch_out = pitch_bytes;
    return STK_OK;
}

/* A crop that lies within the picture. */
static stk_status read_still(
    webp *w, const stk_rect *crop, stk__pixels pixels, const stk__row_sink *sink, stk_error *err)
{
    range x = widen((range){crop->left, crop->left + crop->width}, w->still.width);
    range y = widen((range){crop->top, crop->top + crop->height}, w->still.height);
    const uint8_t *rows;
    size_t pitch_bytes;

    STK_TRY(decode_region(w, x, y, pixels, &rows, &pitch_bytes, err));
    rows += (crop->top - y.from) * pitch_bytes + (size_t)(crop->left - x.from) * pixels;
    return sink->rows(sink->ctx, rows, pitch_bytes, crop->height, err);
}

/* Put the frame on a black canvas of the crop's size. */
static void place_frame(const webp *w, const stk_rect *crop, stk__pixels pixels,
    const uint8_t *frame, size_t frame_pitch, uint8_t *canvas, size_t canvas_pitch)
{
    const stk__webp_still *still = &w->still;
    uint32_t left = crop->left > still->left ? crop->left : still->left;
    uint32_t right = crop->left + crop->width;

    if (right > still->left + still->width)
        right = still->left + still->width;
    for (uint32_t row = 0; row < crop->height; row++) {
        uint8_t *to = canvas + row * canvas_pitch;
        uint32_t y = crop->top + row;

        memset(to, 0, canvas_pitch);
        if (left < right && y >= still->top && y < still->top + still->height)
            memcpy(to + (size_t)(left - crop->left) * pixels,
                frame + (y - still->top) * frame_pitch + (size_t)(left - still->left) * pixels,
                (size_t)(right - left) * pixels);
    }
}

/* The first frame of an animation: rare, so it is decoded whole. */
static stk_status read_frame(
    webp *w, const stk_rect *crop, stk__pixels pixels, const stk__row_sink *sink, stk_error *err)
{
    size_t pitch_bytes = stk__size_align((size_t)crop->width * pixels, STK_ALIGN_BYTES);
    const uint8_t *frame;
    size_t frame_pitch, bytes;
    uint8_t *canvas = NULL;

    STK_TRY(decode_region(w, (range){0, w->still.width}, (range){0, w->still.height}, pixels,
        &frame, &frame_pitch, err));
    if (stk__size_mul(pitch_bytes, crop->height, &bytes))
        canvas = stk__arena_take(&w->arena, bytes);
    if (canvas == NULL)
        return STK_FAIL(
            err, STK_ENOMEM, "no memory to decode a WebP of %u x %u pixels", w->width, w->height);
    place_frame(w, crop, pixels, frame, frame_pitch, canvas, pitch_bytes);
    return sink->rows(sink->ctx, canvas, pitch_bytes, crop->height, err);
}

static stk_status webp_read(void *state, const stk_rect *crop, stk__pixels pixels,
    const stk__row_sink *sink, stk_error *err)
{
    webp *w = state;
    bool fills = w->still.width == w->width && w->still.height == w->height;
    stk_status st =
        fills ? read_still(w, crop, pixels, sink, err) : read_frame(w, crop, pixels, sink, err);

    stk__arena_reset(&w->arena);
    return st;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void webp_close(void *state)
{
    webp *w = state;

    if (w == NULL)
        return;
    stk__arena_fini(&w->arena);
    stk__heap_free(w->heap, w, 1, sizeof *w);
}

static stk_status webp_open(
    stk__heap *heap, const stk_limits *limits, void **state_out, stk_error *err)
{
    webp *w = stk__heap_zalloc(heap, 1, sizeof *w);

    if (w == NULL)
        return STK_FAIL(err, STK_ENOMEM, "no memory for a WebP decoder");
    w->heap = heap;
    w->limits = *limits;
    stk__arena_init(&w->arena, heap);
    *state_out = w;
    return STK_OK;
}

const stk__codec stk__codec_webp = {
    .name = "webp",
    .bid = stk__sniff_webp,
    .open = webp_open,
    .close = webp_close,
    .begin = webp_begin,
    .read = webp_read,
};
