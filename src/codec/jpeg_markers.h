/* The markers of a JPEG, followed without decoding: what kind it is, and whether it has an end. */
#ifndef STK__JPEG_MARKERS_H
#define STK__JPEG_MARKERS_H

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

/* The marker of the frame header: 0xc0 for baseline, 0xc2 for progressive, ...; 0 if there is none
 * before the picture's data. */
uint8_t stk__jpeg_frame(stk_view encoded);

/* Is that a kind that is read here: baseline, extended or progressive, with Huffman or
 * arithmetic codes? The rest is lossless or hierarchical. */
bool stk__jpeg_frame_known(uint8_t frame);

#endif
