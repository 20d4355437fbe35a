/* UTF-8: see text_utf8.h and stk_text_utf8(). Source: RFC 3629, section 4. */
#include "codec/text_utf8.h"

#include <string.h>

#include <stoker/codec.h>

#include "base/error.h"

size_t stk__utf8_point(const uint8_t *p, size_t left, uint32_t *point_out)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t point = p[0];
    size_t length;

    if (point < 0x80) {
        *point_out = point;
        return 1;
    }
    if (point >= 0xc2 && point <= 0xdf)
        length = 2;
    else if (point >= 0xe0 && point <= 0xef)
        length = 3;
    else if (point >= 0xf0 && point <= 0xf4)
        length = 4;
    else
        return 0;
    if (length > left)
        return 0;
    point &= 0x7fu >> length;
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (p[i] & 0x3fu);
    }
    *point_out = point;
    return point >= least[length] && point <= 0x10ffff ? length : 0;
}

stk_status stk_text_utf8(stk_view text, stk_error *err)
{
    const uint8_t *p = text.data;
    size_t at = 0;

    while (at < text.size) {
        uint32_t point;
        uint64_t eight;
        size_t length;

        if (text.size - at >= sizeof eight) { /* plain ASCII is most of most texts */
            memcpy(&eight, p + at, sizeof eight);
            if ((eight & 0x8080808080808080u) == 0) {
                at += sizeof eight;
                continue;
            }
        }
        length = stk__utf8_point(p + at, text.size - at, &point);
        if (length == 0 || (point >= 0xd800 && point <= 0xdfff))
            return STK_FAIL_AT(
                err, STK_ECORRUPT, at, "text is not UTF-8: byte 0x%02x", (unsigned)p[at]);
        at += length;
    }
    return STK_OK;
}
