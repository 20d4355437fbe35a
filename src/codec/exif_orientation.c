/* The one thing of EXIF that matters here: see exif_orientation.h. */
#include "codec/exif_orientation.h"

#include <string.h>

#include "base/bytes.h"

enum { ENTRY_BYTES = 12, TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3, TYPE_LONG = 4 };

static uint32_t get16(const uint8_t *p, bool big)
{
    return big ? stk__get_be16(p) : stk__get_le16(p);
}

static uint32_t get32(const uint8_t *p, bool big)
{
    return big ? stk__get_be32(p) : stk__get_le32(p);
}

/* The value of one entry of the directory, if it is the orientation; else 0. */
static uint32_t entry_value(const uint8_t *entry, bool big)
{
    if (get16(entry, big) != TAG_ORIENTATION || get32(entry + 4, big) != 1)
        return 0;
    if (get16(entry + 2, big) == TYPE_SHORT)
        return get16(entry + 8, big);
    return get16(entry + 2, big) == TYPE_LONG ? get32(entry + 8, big) : 0;
}

uint32_t stk__exif_orientation(stk_view exif)
{
    const uint8_t *p = exif.data;
    size_t size = exif.size;
    uint32_t at, count;
    bool big;

    if (size >= 6 && memcmp(p, "Exif\0\0", 6) == 0) {
        p += 6;
        size -= 6;
    }
    if (size < 8 || (memcmp(p, "II*\0", 4) != 0 && memcmp(p, "MM\0*", 4) != 0))
        return 1;
    big = p[0] == 'M';
    at = get32(p + 4, big);
    if (at > size - 2)
        return 1;
    count = get16(p + at, big);
    size -= (size_t)at + 2;
    p += (size_t)at + 2;
    for (; count > 0 && size >= ENTRY_BYTES; count--) {
        uint32_t value = entry_value(p, big);

        if (value >= 1 && value <= 8)
            return value;
        p += ENTRY_BYTES;
        size -= ENTRY_BYTES;
    }
    return 1;
}
