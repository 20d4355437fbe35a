/**
 * stoker/codec.h: from encoded bytes to pixels and arrays, in memory of the caller.
 *
 * Pixels are 8-bit RGB, sRGB as stored: no colour management, grey is repeated into the three
 * channels, alpha is left out without blending, CMYK becomes R = (255-C)(255-K)/255
 * (docs/colour.md). EXIF orientation is told by stk_image_probe() and never applied by
 * stk_image_decode().
 *
 * All calls here are safe on untrusted bytes: reads stay inside the input, writes inside the
 * output. Any number of threads may call any of them at once; calls share nothing.
 */
#ifndef STOKER_CODEC_H
#define STOKER_CODEC_H

#include <stoker/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the header of a picture says. */
typedef struct stk_image_info {
    uint32_t width, height; /* as stored, before any orientation */
    uint32_t orientation;   /* EXIF: 1 to 8, 1 when there is none or it makes no sense */
    uint32_t channels;      /* as stored: 1 to 4 */
    uint32_t depth;         /* bits per channel as stored: 1, 2, 4, 8, 16 */
    const char *format;     /* "jpeg", "png", "webp"; static storage */
    bool progressive;       /* a JPEG of several scans, or an interlaced PNG */
} stk_image_info;

/**
 * Read the header of a picture.
 *
 * @return STK_OK, STK_ECORRUPT (no picture, or cut in its header; err->offset says where),
 *         STK_ENOTSUP (known format, absent from this build, or a kind it lacks: the text names
 * it), STK_ELIMIT (more pixels than `limits`, NULL: the defaults), STK_ENOMEM.
 */
STK_API STK_MUST_CHECK stk_status stk_image_probe(
    stk_view encoded, const stk_limits *limits, stk_image_info *info_out, stk_error *err);

/**
 * Decode one encoded picture, or a part of it, into memory of the caller: 3 bytes a pixel, RGB.
 *
 * A crop has exactly the pixels that the same part of the whole picture has.
 *
 * @param encoded  One picture of any format of this build. Borrowed; not kept.
 * @param crop     Part wanted, in stored pixels, inside the picture; NULL: all of it.
 * @param limits   NULL: the defaults.
 * @param dst      Where rows go; width and height must be the crop's.
 *
 * @return STK_OK, STK_ECORRUPT, STK_ENOTSUP, STK_ELIMIT as for stk_image_probe(),
 *         STK_ESHAPE (crop outside the picture, or dst of another size), STK_ENOMEM.
 *         After a failure the rows of dst are unspecified and nothing around them was touched.
 */
STK_API STK_MUST_CHECK stk_status stk_image_decode(stk_view encoded, const stk_rect *crop,
    const stk_limits *limits, const stk_image *dst, stk_error *err);

/** What the header of a .npy says. */
typedef struct stk_npy_info {
    stk_dtype dtype;
    uint32_t ndim; /* 0 to 8 */
    uint64_t shape[8];
    uint64_t count;    /* elements */
    bool fortran;      /* first axis fastest */
    bool swapped;      /* not in this machine's byte order */
    size_t data_bytes; /* from here on: offset of the data */
} stk_npy_info;

/**
 * Read the header of a .npy (versions 1, 2, 3) and compare it with the size of `encoded`.
 *
 * @return STK_OK, STK_ECORRUPT (bad header; short data: the text has both byte counts),
 *         STK_ENOTSUP (dtype without a place here: strings, dates, complex, structured; object
 *         arrays are pickles and are never read), STK_ELIMIT (header longer than the limit).
 * Source: NumPy format specification, NEP 1 and its versions 2.0 and 3.0.
 */
STK_API STK_MUST_CHECK stk_status stk_npy_probe(
    stk_view encoded, const stk_limits *limits, stk_npy_info *info_out, stk_error *err);

/**
 * Copy the elements of a .npy in C order and native byte order.
 *
 * @param dst  At least count * stk_dtype_bytes(dtype) bytes; no alignment is needed.
 * @return as stk_npy_probe(), and STK_ESHAPE when dst is too small.
 */
STK_API STK_MUST_CHECK stk_status stk_npy_read(
    stk_view encoded, const stk_limits *limits, stk_span dst, stk_error *err);

/**
 * Read one integer in decimal, by the rules of Python's int(): blanks around it, one sign, leading
 * zeros, single underscores between digits.
 *
 * @return STK_OK, or STK_ECORRUPT (empty, other text, or not within int64; the text quotes it).
 */
STK_API STK_MUST_CHECK stk_status stk_text_integer(
    stk_view text, int64_t *number_out, stk_error *err);

/** Check for UTF-8. @return STK_OK, or STK_ECORRUPT with the offset of the first bad byte. */
STK_API STK_MUST_CHECK stk_status stk_text_utf8(stk_view text, stk_error *err);

/**
 * Check that bytes are one JSON text (RFC 8259) in UTF-8, UTF-16 or UTF-32, with or without a byte
 * order mark. Nothing is converted.
 *
 * @return STK_OK, STK_ECORRUPT with the offset, STK_ELIMIT (nested deeper than the limit).
 */
STK_API STK_MUST_CHECK stk_status stk_json_check(
    stk_view text, const stk_limits *limits, stk_error *err);

#ifdef __cplusplus
}
#endif

#endif
