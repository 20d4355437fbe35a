/*
 * What holds for every picture, good or bad, of any format.
 *
 * The last four bytes of an input choose a crop. A picture decodes whole or not at all; a crop has
 * the pixels of the whole; a failure has a status, a text and an offset inside the bytes; the heap
 * is empty at the end.
 */
#ifndef FUZZ_PICTURE_H
#define FUZZ_PICTURE_H

#include "codec/codec.h"
#include "fuzz_target.h"

typedef struct fuzz_rows {
    uint8_t *data;
    size_t row_bytes;
    uint32_t rows, height;
} fuzz_rows;

static inline stk_status fuzz_take_rows(
    void *ctx, const uint8_t *pixels, size_t pitch_bytes, uint32_t count, stk_error *err)
{
    fuzz_rows *to = ctx;
    (void)err;

    FUZZ_CHECK(count > 0 && count <= to->height - to->rows);
    for (uint32_t i = 0; i < count; i++)
        memcpy(to->data + (to->rows + i) * to->row_bytes, pixels + i * pitch_bytes, to->row_bytes);
    to->rows += count;
    return STK_OK;
}

static inline stk_status fuzz_decode(stk__decoder *decoder, stk_view encoded, const stk_rect *crop,
    stk__pixels kind, fuzz_rows *out, stk_error *err)
{
    const stk__row_sink sink = {.ctx = out, .rows = fuzz_take_rows};
    stk_image_info info;
    stk_status st;

    FUZZ_CHECK(stk__decoder_begin(decoder, encoded, &info, err) == STK_OK);
    *out = (fuzz_rows){.row_bytes = (size_t)crop->width * kind, .height = crop->height};
    out->data = malloc(out->row_bytes * crop->height);
    FUZZ_CHECK(out->data != NULL);
    st = stk__decoder_read(decoder, crop, kind, &sink, err);
    FUZZ_CHECK(st < 0 || out->rows == crop->height);
    return st;
}

static inline void fuzz_check_error(stk_status st, const stk_error *err, size_t size)
{
    FUZZ_CHECK(st == STK_ECORRUPT || st == STK_ENOTSUP || st == STK_ELIMIT || st == STK_ENOMEM);
    FUZZ_CHECK(err->status == st && err->text[0] != '\0');
    FUZZ_CHECK(st == STK_ENOMEM || !err->has_offset || err->offset <= size);
}

static inline bool fuzz_same(
    const fuzz_rows *part, const stk_rect *crop, const fuzz_rows *whole, uint32_t width)
{
    for (uint32_t y = 0; y < crop->height; y++) {
        for (uint32_t x = 0; x < crop->width; x++) {
            if (memcmp(part->data + y * part->row_bytes + x * 4u,
                    whole->data + ((size_t)(crop->top + y) * width + crop->left + x) * 3, 3) != 0)
                return false;
        }
    }
    return true;
}

/* Four bytes choose a rectangle inside width x height. */
static inline stk_rect fuzz_crop(const uint8_t *four, uint32_t width, uint32_t height)
{
    stk_rect crop;

    crop.left = width * four[0] / 256;
    crop.top = height * four[1] / 256;
    crop.width = 1 + (width - crop.left - 1) * four[2] / 255;
    crop.height = 1 + (height - crop.top - 1) * four[3] / 255;
    return crop;
}

static inline void fuzz_picture(const uint8_t *data, size_t size)
{
    stk_limits limits = STK_LIMITS_INIT;
    stk__heap heap = {.ceiling_bytes = 64u << 20};
    stk_error err = STK_ERROR_INIT;
    stk__decoder *decoder = NULL;
    stk_image_info info;
    uint8_t *exact;
    stk_status st;

    if (size < 4)
        return;
    size -= 4;
    exact = fuzz_exact(data, size);
    limits.max_pixels = 1u << 18;
    limits.max_scans = 20;
    FUZZ_CHECK(stk__decoder_new(&heap, &limits, &decoder, &err) == STK_OK);
    st = stk__decoder_begin(decoder, (stk_view){exact, size}, &info, &err);
    if (st == STK_OK) {
        stk_rect all = {.width = info.width, .height = info.height};
        stk_rect crop = fuzz_crop(data + size, info.width, info.height);
        fuzz_rows whole, part;
        stk_status of_part;

        FUZZ_CHECK(info.orientation >= 1 && info.orientation <= 8);
        FUZZ_CHECK((uint64_t)info.width * info.height <= limits.max_pixels);
        of_part = fuzz_decode(decoder, (stk_view){exact, size}, &crop, STK__RGBX8, &part, &err);
        if (of_part < 0)
            fuzz_check_error(of_part, &err, size);
        st = fuzz_decode(decoder, (stk_view){exact, size}, &all, STK__RGB8, &whole, &err);
        FUZZ_CHECK(st < 0 || of_part == STK_OK || of_part == STK_ENOMEM);
        if (st == STK_OK && of_part == STK_OK)
            FUZZ_CHECK(fuzz_same(&part, &crop, &whole, info.width));
        free(whole.data);
        free(part.data);
    }
    if (st < 0)
        fuzz_check_error(st, &err, size);
    stk__decoder_free(decoder);
    FUZZ_CHECK(stk__load_relaxed_u64(&heap.used_bytes) == 0);
    free(exact);
}

#endif
