/* The container of WebP, without a library: see webp_riff.h. */
#include "codec/webp_riff.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "codec/exif_orientation.h"

enum {
    RIFF_HEAD_BYTES = 12,
    CHUNK_HEAD_BYTES = 8,
    VP8X_BYTES = 10,
    ANMF_HEAD_BYTES = 16,
    FLAG_ALPHA = 0x10,
    FLAG_ANIMATION = 0x02,
};

static uint32_t get24(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
}

/* Chunks from `at` to `end` of the data. */
typedef struct walk {
    const uint8_t *data;
    size_t at, end;
    const uint8_t *name; /* of the chunk that next_chunk() found */
    size_t begin;        /* where its head is */
    stk_view body;
} walk;

/* STK_OK, STK_END after the last, STK_ECORRUPT if one reaches past the end. */
static stk_status next_chunk(walk *w, stk_error *err)
{
    size_t left = w->end - w->at;
    size_t length;

    if (left == 0)
        return STK_END;
    if (left < CHUNK_HEAD_BYTES)
        return STK_FAIL_AT(err, STK_ECORRUPT, w->at, "WebP ended within the head of a chunk");
    w->begin = w->at;
    w->name = w->data + w->at;
    length = stk__get_le32(w->name + 4);
    if (length > left - CHUNK_HEAD_BYTES)
        return STK_FAIL_AT(err, STK_ECORRUPT, w->at,
            "WebP chunk of %zu bytes, but its container ends %zu bytes after its head", length,
            left - CHUNK_HEAD_BYTES);
    w->body = (stk_view){w->name + CHUNK_HEAD_BYTES, length};
    left -= CHUNK_HEAD_BYTES + length;
    w->at += CHUNK_HEAD_BYTES + length;
    if (length % 2 == 1 && left > 0)
        w->at++; /* padding; after the last chunk writers leave it out */
    return STK_OK;
}

static bool is_named(const walk *w, const char *name)
{
    return memcmp(w->name, name, 4) == 0;
}

static bool take_still(const walk *w, stk__webp_still *still)
{
    bool lossless = is_named(w, "VP8L");

    if (still->size != 0 || (!lossless && !is_named(w, "VP8 ")))
        return false;
    still->at = w->begin;
    still->size = CHUNK_HEAD_BYTES + w->body.size;
    still->lossless = lossless;
    return true;
}

static stk_status take_canvas(const walk *w, stk__webp_still *still, stk_error *err)
{
    const uint8_t *p = w->body.data;

    if (w->body.size < VP8X_BYTES)
        return STK_FAIL_AT(err, STK_ECORRUPT, w->begin, "WebP head of %zu bytes", w->body.size);
    still->canvas = true;
    still->alpha = (p[0] & FLAG_ALPHA) != 0;
    still->animated = (p[0] & FLAG_ANIMATION) != 0;
    still->canvas_width = get24(p + 4) + 1;
    still->canvas_height = get24(p + 7) + 1;
    return STK_OK;
}

/* The first frame: its place on the canvas, then chunks of its own. */
static stk_status take_frame(const walk *w, stk__webp_still *still, stk_error *err)
{
    const uint8_t *p = w->body.data;
    stk_status st;
    walk inner;

    if (w->body.size < ANMF_HEAD_BYTES)
        return STK_FAIL_AT(err, STK_ECORRUPT, w->begin, "WebP frame of %zu bytes", w->body.size);
    still->left = get24(p) * 2;
    still->top = get24(p + 3) * 2;
    still->width = get24(p + 6) + 1;
    still->height = get24(p + 9) + 1;
    if (still->left + still->width > still->canvas_width ||
        still->top + still->height > still->canvas_height)
        return STK_FAIL_AT(err, STK_ECORRUPT, w->begin, "first frame of a WebP outside its canvas");
    inner = (walk){
        .data = w->data,
        .at = w->begin + CHUNK_HEAD_BYTES + ANMF_HEAD_BYTES,
        .end = w->begin + CHUNK_HEAD_BYTES + w->body.size,
    };
    while ((st = next_chunk(&inner, err)) == STK_OK) {
        if (take_still(&inner, still))
            return STK_OK;
    }
    if (st < 0)
        return st;
    return STK_FAIL_AT(err, STK_ECORRUPT, w->begin, "first frame of a WebP without a picture");
}

static stk_status take_chunk(const walk *w, stk__webp_still *still, stk_error *err)
{
    if (is_named(w, "VP8X") && !still->canvas)
        return take_canvas(w, still, err);
    if (is_named(w, "EXIF") && still->orientation == 1)
        still->orientation = stk__exif_orientation(w->body);
    if (still->animated) {
        if (is_named(w, "ANMF") && still->size == 0)
            return take_frame(w, still, err);
    } else {
        STK_IGNORE(!take_still(w, still)); /* any other chunk is none of ours */
    }
    return STK_OK;
}

stk_status stk__webp_find(stk_view encoded, stk__webp_still *still_out, stk_error *err)
{
    stk__webp_still still = {.orientation = 1};
    walk w = {.data = encoded.data, .at = RIFF_HEAD_BYTES};
    uint64_t whole;
    stk_status st;

    if (encoded.size < RIFF_HEAD_BYTES)
        return STK_FAIL_AT(err, STK_ECORRUPT, encoded.size, "WebP ended in its header");
    whole = (uint64_t)stk__get_le32(w.data + 4) + 8;
    if (whole > encoded.size)
        return STK_FAIL_AT(err, STK_ECORRUPT, encoded.size, "WebP ended at byte %zu of %llu",
            encoded.size, (unsigned long long)whole);
    if (whole < RIFF_HEAD_BYTES)
        return STK_FAIL_AT(
            err, STK_ECORRUPT, 4, "WebP container of %llu bytes", (unsigned long long)whole);
    w.end = (size_t)whole;
    while ((st = next_chunk(&w, err)) == STK_OK) {
        st = take_chunk(&w, &still, err);
        if (st < 0)
            return st;
    }
    if (st < 0)
        return st;
    if (still.size == 0)
        return STK_FAIL_AT(err, STK_ECORRUPT, w.end, "WebP without a picture");
    *still_out = still;
    return STK_OK;
}
