/* Rows of pixels from what libraries make to RGB: see pixel_rows.h. */
#include "codec/pixel_rows.h"

void stk__row_from_inverted_cmyk(uint8_t *row, uint32_t width, stk__pixels pixels)
{
    const uint8_t *from = row;
    uint8_t *to = row; /* never ahead of `from` */

    for (uint32_t x = 0; x < width; x++) {
        uint32_t black = from[3];

        to[0] = stk__mul_255(from[0], black);
        to[1] = stk__mul_255(from[1], black);
        to[2] = stk__mul_255(from[2], black);
        from += 4;
        to += pixels;
    }
}
