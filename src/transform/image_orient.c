/* EXIF orientation, in blocks that stay in the nearest cache: see image_chain.h. */
#include <string.h>

#include "transform/image_chain.h"

enum {
    BLOCK = 16, /* pixels a side */
};

/* What an orientation does to the picture as stored, in this order: exchange rows and columns, then
 * mirror left to right, then top to bottom. */
static const struct {
    bool exchanged, mirrored, upended;
} turns[9] = {
    [2] = {false, true, false},
    [3] = {false, true, true},
    [4] = {false, false, true},
    [5] = {true, false, false},
    [6] = {true, true, false},
    [7] = {true, true, true},
    [8] = {true, false, true},
};

static void turn_block(
    const stk_image *src, const stk_image *dst, uint32_t orientation, uint32_t left, uint32_t top)
{
    const bool exchanged = turns[orientation].exchanged;
    const uint32_t right = dst->width - left < BLOCK ? dst->width : left + BLOCK;
    const uint32_t bottom = dst->height - top < BLOCK ? dst->height : top + BLOCK;

    for (uint32_t y = top; y < bottom; y++) {
        uint8_t *out = (uint8_t *)dst->data + y * dst->pitch_bytes;
        const uint32_t from_y = turns[orientation].upended ? dst->height - 1 - y : y;

        for (uint32_t x = left; x < right; x++) {
            const uint32_t from_x = turns[orientation].mirrored ? dst->width - 1 - x : x;
            const uint32_t column = exchanged ? from_y : from_x;
            const uint32_t row = exchanged ? from_x : from_y;

            memcpy(out + (size_t)x * 4,
                (const uint8_t *)src->data + row * src->pitch_bytes + (size_t)column * 4, 4);
        }
    }
}

void stk__image_orient(const stk_image *src, const stk_image *dst, uint32_t orientation)
{
    if (orientation < 1 || orientation > 8)
        orientation = 1;
    for (uint32_t top = 0; top < dst->height; top += BLOCK) {
        for (uint32_t left = 0; left < dst->width; left += BLOCK)
            turn_block(src, dst, orientation, left, top);
    }
}
