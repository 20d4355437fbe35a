/*
 * The container of WebP, without a library: finds the one still picture that is to be decoded.
 *
 * Source: RFC 9649, section 2.
 */
#ifndef STK__WEBP_RIFF_H
#define STK__WEBP_RIFF_H

#include <stoker/base.h>

typedef struct stk__webp_still {
    size_t at;     /* where its chunk begins */
    size_t size;   /* of the chunk, head included; all there */
    bool lossless; /* "VP8L", else "VP8 " */
    bool alpha;    /* the container says so */
    bool canvas;   /* canvas_width and canvas_height are told (extended format) */
    bool animated; /* the still is the first frame, at left, top of the canvas */
    uint32_t canvas_width, canvas_height;
    uint32_t left, top, width, height; /* of the frame, if animated */
    uint32_t orientation;              /* of the EXIF chunk; 1 without one */
} stk__webp_still;

/* Walk the container to its end and check that all of it is there. STK_ECORRUPT with the offset. */
STK_MUST_CHECK stk_status stk__webp_find(
    stk_view encoded, stk__webp_still *still_out, stk_error *err);

#endif
