/*
 * The markers of a JPEG: see jpeg_markers.h.
 *
 * A crop at the top of a picture is decoded without touching what lies below. So that a file that
 * was cut there is not taken for good, its markers are followed: a few microseconds, since memchr
 * does nearly all of it.
 */
#include "codec/jpeg_markers.h"

#include <string.h>

#include "base/bytes.h"

enum {
    BYTE_STUFFED = 0x00,
    TEM = 0x01,
    RST0 = 0xd0,
    RST7 = 0xd7,
    SOI = 0xd8,
    EOI = 0xd9,
    SOS = 0xda,
    SOF0 = 0xc0,
    SOF15 = 0xcf,
    DHT = 0xc4,
    JPG = 0xc8,
    DAC = 0xcc,
    FILL = 0xff,
};

/* Markers that stand alone and may stand within a scan. */
static bool is_bare(uint8_t marker)
{
    return marker == BYTE_STUFFED || marker == TEM || (marker >= RST0 && marker <= RST7);
}

/* The next marker at or after *at; *at is then behind it. */
static bool next_marker(stk_view encoded, size_t *at, uint8_t *marker_out)
{
    const uint8_t *data = encoded.data;
    const uint8_t *ff = memchr(data + *at, FILL, encoded.size - *at);
    size_t i;

    if (ff == NULL)
        return false;
    i = (size_t)(ff - data);
    while (i < encoded.size && data[i] == FILL)
        i++;
    if (i == encoded.size)
        return false;
    *marker_out = data[i];
    *at = i + 1;
    return true;
}

/* Step over the segment whose marker stands before *at. false: it reaches past the end. */
static bool skip_segment(stk_view encoded, size_t *at)
{
    const uint8_t *data = encoded.data;
    size_t length = encoded.size - *at >= 2 ? stk__get_be16(data + *at) : SIZE_MAX;

    if (length < 2 || length > encoded.size - *at)
        return false;
    *at += length;
    return true;
}

bool stk__jpeg_ends(stk_view encoded, size_t from, uint8_t marker, size_t *stop_out)
{
    size_t at = from;

    for (;;) {
        if (marker == EOI)
            return true;
        if (marker == SOI) {
            *stop_out = at - 2;
            return false;
        }
        if (!is_bare(marker) && !skip_segment(encoded, &at))
            break;
        if (!next_marker(encoded, &at, &marker))
            break;
    }
    *stop_out = encoded.size;
    return false;
}

uint8_t stk__jpeg_frame(stk_view encoded)
{
    uint8_t marker;
    size_t at = 0;

    while (next_marker(encoded, &at, &marker)) {
        if (marker >= SOF0 && marker <= SOF15 && marker != DHT && marker != JPG && marker != DAC)
            return marker;
        if (marker == SOS || marker == EOI)
            break;
        if (marker != SOI && !is_bare(marker) && !skip_segment(encoded, &at))
            break;
    }
    return 0;
}

bool stk__jpeg_frame_known(uint8_t frame)
{
    switch (frame) {
    case SOF0:
    case 0xc1: /* extended */
    case 0xc2: /* progressive */
    case 0xc9: /* the same two with arithmetic codes */
    case 0xca:
        return true;
    default:
        return false;
    }
}
