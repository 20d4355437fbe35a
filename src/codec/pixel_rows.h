/* Rows of pixels from what libraries make to RGB: see docs/colour.md. */
#ifndef STK__PIXEL_ROWS_H
#define STK__PIXEL_ROWS_H

#include "codec/codec.h"

/* a * b / 255, rounded to nearest, for a and b up to 255. */
static inline uint8_t stk__mul_255(uint32_t a, uint32_t b)
{
    uint32_t product = a * b + 128;

    return (uint8_t)((product + (product >> 8)) >> 8);
}

/* CMYK as JPEG files hold it, inverted (255: no ink), to RGB or RGBX in place: R = C * K / 255. */
void stk__row_from_inverted_cmyk(uint8_t *row, uint32_t width, stk__pixels pixels);

#endif
