/* Does a JPEG go on to its end? Told without decoding. */
#ifndef STK__JPEG_TAIL_H
#define STK__JPEG_TAIL_H

#include <stoker/base.h>

/*
 * Walk entropy-coded data and segments from byte `from` of `encoded` to the end marker. `marker` is
 * one that was read but not acted on, or 0.
 *
 * true: the end marker follows. false: *stop_out is where the data ended, or where something stands
 * that cannot be within a picture.
 *
 * Source: ITU-T T.81, B.1.1.2 to B.1.1.5: a byte 0xFF in entropy-coded data is followed by 0x00.
 */
bool stk__jpeg_ends(stk_view encoded, size_t from, uint8_t marker, size_t *stop_out);

#endif
