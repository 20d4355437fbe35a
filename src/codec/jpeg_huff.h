/*
 * Huffman decoding of plain JPEG scans, without a library.
 *
 * Two thirds of the time of a decode go into Huffman codes, and a crop needs only some of the
 * coefficients that they stand for. This decoder takes code, run and value in one look-up and steps
 * over what is not needed without storing it; with restart markers it does not even look at what
 * lies before the rows wanted. Inverse DCT, upsampling and colour stay with the library, which gets
 * the coefficients in place of those that it would have decoded itself (jpeg_turbo.c).
 *
 * It is for the common kind alone: baseline or extended sequential, 8 bits, Huffman codes, one scan
 * of all components. Whatever is of another kind, damaged or merely odd makes it say "no", and
 * never an error: the caller then lets the library decode, whose verdict counts.
 */
#ifndef STK__JPEG_HUFF_H
#define STK__JPEG_HUFF_H

#include <stoker/base.h>

#include "codec/decode_arena.h"

enum {
    STK__JPEG_PARTS = 4,      /* components */
    STK__JPEG_LOOK_BITS = 10, /* of codes and values that are found in one step */
};

/* One Huffman table, prepared. `made_of` tells whether the next picture has the same one. */
typedef struct stk__jpeg_table {
    bool defined;              /* by the picture in progress */
    uint16_t made_of_bytes;    /* 0: nothing is prepared yet */
    uint8_t made_of[16 + 256]; /* counts of codes by length, symbols */
    uint32_t look[1 << STK__JPEG_LOOK_BITS];
    int32_t last_code[17]; /* by length; -1: none */
    int32_t to_symbol[17]; /* add to a code of that length: its index among the symbols */
} stk__jpeg_table;

typedef struct stk__jpeg_part {
    uint8_t id, h, v; /* sampling factors */
    uint8_t dc, ac;   /* numbers of tables */
    int32_t last_dc;
} stk__jpeg_part;

typedef struct stk__jpeg_huff {
    stk_view encoded; /* of the picture in progress; not ours */
    uint32_t width, height;
    uint32_t parts_count;
    stk__jpeg_part parts[STK__JPEG_PARTS];
    uint32_t mcus_across, mcus_down;
    uint32_t restart_mcus; /* MCUs from a restart marker to the next; 0: none */
    size_t scan_at;        /* where entropy-coded data begins */

    /* Entropy-coded data without stuffing and markers; in the arena. */
    const uint8_t *data;
    size_t data_bytes;
    size_t *stretches; /* where each begins that a restart marker starts, and the end of the last */
    uint64_t stretches_count;

    /* The reader: `left` bits that are not consumed yet lie at the top of `bits`. */
    const uint8_t *next;
    uint64_t bits;
    uint32_t left;
    uint64_t mcu; /* the next one */

    stk__jpeg_table dc[4], ac[4];
} stk__jpeg_huff;

/* Read the headers of a picture. false: not for this decoder. A new one is all zero. */
bool stk__jpeg_huff_begin(stk__jpeg_huff *huff, stk_view encoded);

/* Make ready to decode, with memory of `arena`. false: no memory, no end marker, something odd. */
bool stk__jpeg_huff_load(stk__jpeg_huff *huff, stk__arena *arena);

/*
 * Coefficients of MCU row `row`, columns [first, end) of MCUs; rows must not go back.
 *
 * rows[part][v] is row v of blocks of 64, of which block i belongs to column i / h; what lies in
 * the columns is overwritten, in natural order, not multiplied. false: damaged, or not for this
 * decoder.
 */
bool stk__jpeg_huff_row(stk__jpeg_huff *huff, uint32_t row, uint32_t first, uint32_t end,
    int16_t (*const *const rows[STK__JPEG_PARTS])[64]);

#endif
