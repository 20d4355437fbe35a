/*
 * .npy arrays: see stk_npy_probe() and stk_npy_read().
 *
 * Sizes in the header are compared with the bytes that are there before anything is copied. Data is
 * moved byte by byte or by memcpy, since other writers do not align it.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/size.h"
#include "codec/npy_head.h"

enum { MAGIC_BYTES = 6, VERSION_BYTES = 2 };

/* Where the dictionary lies. */
static stk_status find_dictionary(
    stk_view encoded, const stk_limits *limits, stk_view *text_out, stk_error *err)
{
    const uint8_t *p = encoded.data;
    size_t at = MAGIC_BYTES + VERSION_BYTES;
    uint64_t length;

    if (encoded.size < MAGIC_BYTES || memcmp(p, "\x93NUMPY", MAGIC_BYTES) != 0)
        return STK_FAIL_AT(err, STK_ECORRUPT, 0, "not a npy file");
    if (encoded.size < at + 4)
        return STK_FAIL_AT(err, STK_ECORRUPT, encoded.size, "npy ended in its header");
    if (p[6] < 1 || p[6] > 3 || p[7] != 0)
        return STK_FAIL_AT(err, STK_ENOTSUP, MAGIC_BYTES,
            "npy version %u.%u; 1.0, 2.0 and 3.0 are known", p[6], p[7]);
    length = p[6] == 1 ? stk__get_le16(p + at) : stk__get_le32(p + at);
    at += p[6] == 1 ? 2 : 4;
    if (length > limits->max_header_bytes)
        return STK_FAIL_AT(err, STK_ELIMIT, MAGIC_BYTES + VERSION_BYTES,
            "npy header of %llu bytes: more than %llu (limit max_header_bytes)",
            (unsigned long long)length, (unsigned long long)limits->max_header_bytes);
    if (length > encoded.size - at)
        return STK_FAIL_AT(err, STK_ECORRUPT, encoded.size, "npy ended in its header");
    *text_out = (stk_view){p + at, (size_t)length};
    return STK_OK;
}

stk_status stk_npy_probe(
    stk_view encoded, const stk_limits *limits, stk_npy_info *info_out, stk_error *err)
{
    const stk_limits defaults = STK_LIMITS_INIT;
    stk_npy_info info;
    uint64_t need;
    stk_view text;
    size_t at;

    STK_TRY(find_dictionary(encoded, limits != NULL ? limits : &defaults, &text, err));
    at = (size_t)((const uint8_t *)text.data - (const uint8_t *)encoded.data);
    STK_TRY(stk__npy_dictionary(text, at, &info, err));
    info.data_bytes = at + text.size;
    if (!stk__u64_mul(info.count, stk_dtype_bytes(info.dtype), &need) ||
        need > encoded.size - info.data_bytes)
        return STK_FAIL_AT(err, STK_ECORRUPT, encoded.size,
            "npy data has %zu bytes; its header says %llu elements of %zu",
            encoded.size - info.data_bytes, (unsigned long long)info.count,
            stk_dtype_bytes(info.dtype));
    *info_out = info;
    return STK_OK;
}

static void copy_element(uint8_t *to, const uint8_t *from, size_t size, bool swapped)
{
    if (!swapped) {
        memcpy(to, from, size);
        return;
    }
    for (size_t i = 0; i < size; i++)
        to[i] = from[size - 1 - i];
}

/* Elements are stored first axis fastest and wanted last axis fastest: count the axes like an
 * odometer, in the order of the output. */
static void copy_transposed(const stk_npy_info *info, const uint8_t *from, uint8_t *to)
{
    size_t size = stk_dtype_bytes(info->dtype);
    size_t stride[STK__COUNT_OF(info->shape)];
    uint64_t index[STK__COUNT_OF(info->shape)] = {0};
    size_t step = size;

    for (uint32_t i = 0; i < info->ndim; i++) {
        stride[i] = step;
        step *= (size_t)info->shape[i];
    }
    for (uint64_t n = 0; n < info->count; n++) {
        copy_element(to, from, size, info->swapped);
        to += size;
        for (uint32_t axis = info->ndim; axis-- > 0;) {
            from += stride[axis];
            if (++index[axis] < info->shape[axis])
                break;
            from -= stride[axis] * (size_t)info->shape[axis];
            index[axis] = 0;
        }
    }
}

stk_status stk_npy_read(stk_view encoded, const stk_limits *limits, stk_span dst, stk_error *err)
{
    const uint8_t *from;
    uint8_t *to = dst.data;
    stk_npy_info info;
    size_t size, bytes;

    STK_TRY(stk_npy_probe(encoded, limits, &info, err));
    size = stk_dtype_bytes(info.dtype);
    bytes = (size_t)info.count * size; /* fits: the probe found as many bytes */
    if (bytes > dst.size)
        return STK_FAIL(
            err, STK_ESHAPE, "npy array of %zu bytes, but memory for %zu", bytes, dst.size);
    if (bytes == 0)
        return STK_OK;
    from = (const uint8_t *)encoded.data + info.data_bytes;
    if (info.fortran && info.ndim > 1) {
        copy_transposed(&info, from, to);
    } else if (info.swapped) {
        for (size_t at = 0; at < bytes; at += size)
            copy_element(to + at, from + at, size, true);
    } else {
        memcpy(to, from, bytes);
    }
    return STK_OK;
}
