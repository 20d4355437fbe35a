/*
 * Huffman decoding of plain JPEG scans: see jpeg_huff.h.
 *
 * Source: ITU-T T.81, B.2 (headers), C.2 (tables), F.2.2 (decoding).
 *
 * An entry of a look-up table is, from the lowest bit: how many bits the code takes (6), together
 * with those of its value where they fit; how far it moves on among the 63 coefficients (7);
 * LATER, if the value did not fit; from bit 16 on how many bits the value has (with LATER), or the
 * value. An entry with LATER and no length is a code longer than the look-up, or none.
 */
#include "codec/jpeg_huff.h"

#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/size.h"
#include "codec/jpeg_markers.h"

enum {
    LOOK = STK__JPEG_LOOK_BITS,
    LENGTH_MASK = 63, /* as many bits as a shift looks at: no instruction is needed for it */
    MOVE_SHIFT = 6,
    MOVE_MASK = 127,
    LATER = 1 << 13,
    SIZE_SHIFT = 16,
    SIZE_MASK = 15,
    VALUE_SHIFT = 16,
    END_OF_BLOCK = 80, /* moves behind every place that a run can reach */
    DCTSIZE2 = 64,
    MOST_BLOCKS = 10, /* in an MCU: T.81, B.2.3 */
    PADDING = 512,    /* more than one block can consume, 64 codes with their values */
};

/* ---- Headers -----------------------------------------------------------------------------------
 */

static bool read_frame(stk__jpeg_huff *huff, const uint8_t *p, size_t size)
{
    uint32_t most_h = 1, most_v = 1, blocks = 0;

    if (huff->parts_count != 0 || size < 6 || p[0] != 8 || size != 6 + 3 * (size_t)p[5])
        return false;
    huff->height = stk__get_be16(p + 1);
    huff->width = stk__get_be16(p + 3);
    if (huff->width == 0 || huff->height == 0 || (p[5] != 1 && p[5] != 3 && p[5] != 4))
        return false;
    huff->parts_count = p[5];
    for (uint32_t i = 0; i < huff->parts_count; i++) {
        stk__jpeg_part *part = &huff->parts[i];

        part->id = p[6 + 3 * i];
        part->h = p[7 + 3 * i] >> 4;
        part->v = p[7 + 3 * i] & 15;
        if (part->h < 1 || part->h > 4 || part->v < 1 || part->v > 4)
            return false;
        most_h = part->h > most_h ? part->h : most_h;
        most_v = part->v > most_v ? part->v : most_v;
        blocks += (uint32_t)part->h * part->v;
    }
    if (blocks > MOST_BLOCKS || (huff->parts_count == 1 && blocks != 1))
        return false; /* one component alone is not laid out in MCUs of several blocks */
    huff->mcus_across = (huff->width + 8 * most_h - 1) / (8 * most_h);
    huff->mcus_down = (huff->height + 8 * most_v - 1) / (8 * most_v);
    return true;
}

/* Value of `size` bits as it is stored: T.81, table F.1. */
static int32_t extend(uint32_t bits, uint32_t size)
{
    return size == 0 || bits >> (size - 1) != 0 ? (int32_t)bits
                                                : (int32_t)bits - (int32_t)(1u << size) + 1;
}

/* What a code of `length` bits for `symbol` is worth, if `look` are the bits that it begins with.
 */
static uint32_t entry_of(uint32_t symbol, uint32_t length, uint32_t look, bool ac)
{
    uint32_t size = symbol & 15; /* of DC it is all of it */
    uint32_t move = ac ? (symbol >> 4) + 1 : 0;
    uint32_t value;

    if (ac && size == 0 && move != 16) /* 16 zeros, or else the end */
        move = END_OF_BLOCK;

    if (length + size > LOOK)
        return length | move << MOVE_SHIFT | LATER | size << SIZE_SHIFT;
    value = look >> (LOOK - length - size) & ((1u << size) - 1);
    return (length + size) | move << MOVE_SHIFT | (uint32_t)extend(value, size) << VALUE_SHIFT;
}

/* Give out codes in the order of their length: T.81, annex C. */
static bool prepare(stk__jpeg_table *table, bool ac)
{
    const uint8_t *counts = table->made_of, *symbols = table->made_of + 16;
    uint32_t code = 0, nth = 0;

    for (uint32_t i = 0; i < STK__COUNT_OF(table->look); i++)
        table->look[i] = LATER;
    for (uint32_t length = 1; length <= 16; length++, code <<= 1) {
        table->to_symbol[length] = (int32_t)nth - (int32_t)code;
        table->last_code[length] =
            counts[length - 1] > 0 ? (int32_t)code + counts[length - 1] - 1 : -1;
        for (uint32_t i = 0; i < counts[length - 1]; i++, nth++, code++) {
            if (code >= 1u << length || (!ac && symbols[nth] > 15))
                return false;
            for (uint32_t k = 0; length <= LOOK && k < 1u << (LOOK - length); k++) {
                uint32_t look = code << (LOOK - length) | k;
                table->look[look] = entry_of(symbols[nth], length, look, ac);
            }
        }
    }
    return true;
}

static bool read_tables(stk__jpeg_huff *huff, const uint8_t *p, size_t size)
{
    while (size > 0) {
        bool ac = p[0] >> 4 == 1;
        stk__jpeg_table *table = ac ? &huff->ac[p[0] & 3] : &huff->dc[p[0] & 3];
        size_t bytes = 16;

        if ((p[0] & 0xec) != 0 || size < 17)
            return false;
        for (size_t i = 1; i <= 16; i++)
            bytes += p[i];
        if (bytes > 16 + 256 || bytes > size - 1)
            return false;
        if (table->made_of_bytes != bytes || memcmp(table->made_of, p + 1, bytes) != 0) {
            memcpy(table->made_of, p + 1, bytes);
            table->made_of_bytes = (uint16_t)bytes;
            if (!prepare(table, ac)) {
                table->made_of_bytes = 0;
                return false;
            }
        }
        table->defined = true;
        p += 1 + bytes;
        size -= 1 + bytes;
    }
    return true;
}

/* One scan with all components, in the order of the frame. */
static bool read_scan(stk__jpeg_huff *huff, const uint8_t *p, size_t size)
{
    uint32_t count = huff->parts_count;

    if (count == 0 || size != 4 + 2 * (size_t)count || p[0] != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        stk__jpeg_part *part = &huff->parts[i];

        part->dc = p[2 + 2 * i] >> 4;
        part->ac = p[2 + 2 * i] & 15;
        if (p[1 + 2 * i] != part->id || part->dc > 3 || part->ac > 3 ||
            !huff->dc[part->dc].defined || !huff->ac[part->ac].defined)
            return false;
    }
    return p[1 + 2 * count] == 0 && p[2 + 2 * count] == 63 && p[3 + 2 * count] == 0;
}

static bool read_segment(stk__jpeg_huff *huff, uint8_t marker, const uint8_t *p, size_t size)
{
    switch (marker) {
    case 0xc0: /* baseline, extended */
    case 0xc1:
        return read_frame(huff, p, size);
    case 0xc4:
        return read_tables(huff, p, size);
    case 0xda:
        return read_scan(huff, p, size);
    case 0xdd:
        huff->restart_mcus = size == 2 ? stk__get_be16(p) : 0;
        return size == 2;
    case 0xdb: /* quantisation: for the library */
    case 0xfe:
        return true;
    default:
        return marker >= 0xe0 && marker <= 0xef;
    }
}

bool stk__jpeg_huff_begin(stk__jpeg_huff *huff, stk_view encoded)
{
    const uint8_t *data = encoded.data;
    size_t at = 2;
    uint8_t marker = 0;

    huff->encoded = encoded;
    huff->parts_count = 0;
    huff->restart_mcus = 0;
    for (size_t i = 0; i < 4; i++)
        huff->dc[i].defined = huff->ac[i].defined = false;
    if (encoded.size < 2 || data[0] != 0xff || data[1] != 0xd8)
        return false;
    while (marker != 0xda) {
        size_t length;

        if (encoded.size - at < 4 || data[at] != 0xff)
            return false;
        marker = data[at + 1];
        length = stk__get_be16(data + at + 2);
        if (length < 2 || length > encoded.size - at - 2 ||
            !read_segment(huff, marker, data + at + 4, length - 2))
            return false;
        at += 2 + length;
    }
    huff->scan_at = at;
    return true;
}

/* ---- Entropy-coded data ------------------------------------------------------------------------
 */

/* Copy up to the marker that ends the scan; *at_out is where that stands. */
static bool unstuff(stk__jpeg_huff *huff, uint8_t *to, size_t *at_out)
{
    const uint8_t *from = huff->encoded.data;
    const uint8_t *end = from + huff->encoded.size;
    uint8_t *begin = to;
    uint64_t stretch = 0;

    from += huff->scan_at;
    huff->stretches[0] = 0;
    for (;;) {
        const uint8_t *ff = memchr(from, 0xff, (size_t)(end - from));

        if (ff == NULL || end - ff < 2)
            return false;
        memcpy(to, from, (size_t)(ff - from));
        to += ff - from;
        from = ff + 2;
        if (ff[1] == 0) {
            *to++ = 0xff;
        } else if (ff[1] == (0xd0 | (stretch & 7)) && stretch + 1 < huff->stretches_count) {
            stretch++;
            huff->stretches[stretch] = (size_t)(to - begin);
        } else {
            *at_out = (size_t)(ff - (const uint8_t *)huff->encoded.data);
            break;
        }
    }
    if (stretch + 1 != huff->stretches_count)
        return false;
    huff->data_bytes = (size_t)(to - begin);
    huff->stretches[huff->stretches_count] = huff->data_bytes;
    memset(to, 0, PADDING);
    return true;
}

static void start_stretch(stk__jpeg_huff *huff, uint64_t nth)
{
    huff->next = huff->data + huff->stretches[nth];
    huff->bits = 0;
    huff->left = 0;
    for (uint32_t i = 0; i < huff->parts_count; i++)
        huff->parts[i].last_dc = 0;
}

bool stk__jpeg_huff_load(stk__jpeg_huff *huff, stk__arena *arena)
{
    uint64_t mcus = (uint64_t)huff->mcus_across * huff->mcus_down;
    size_t bytes = huff->encoded.size - huff->scan_at + PADDING, stop;
    uint8_t *data;

    huff->stretches_count =
        huff->restart_mcus == 0 ? 1 : (mcus + huff->restart_mcus - 1) / huff->restart_mcus;
    if (huff->stretches_count > huff->encoded.size) /* each takes a marker */
        return false;
    data = stk__arena_take(arena, bytes);
    huff->stretches =
        stk__arena_take(arena, ((size_t)huff->stretches_count + 1) * sizeof *huff->stretches);
    if (data == NULL || huff->stretches == NULL || !unstuff(huff, data, &stop) ||
        !stk__jpeg_ends(huff->encoded, stop, 0, &stop))
        return false;
    huff->data = data;
    huff->mcu = 0;
    start_stretch(huff, 0);
    return true;
}

/* ---- Codes -------------------------------------------------------------------------------------
 */

/* The reader in registers while an MCU row is decoded: its address is never taken. */
typedef struct reader {
    const uint8_t *next;
    uint64_t bits;
    uint32_t left;
} reader;

/* 56 bits and more. Below `left` some may be set already; they are the same ones. */
STK__INLINE reader refilled(reader r)
{
    r.bits |= stk__get_be64(r.next) >> r.left;
    r.next += (63 - r.left) >> 3;
    r.left |= 56;
    return r;
}

STK__INLINE reader consumed(reader r, uint32_t count)
{
    r.bits <<= count;
    r.left -= count;
    return r;
}

/* The first `count` bits, 0 to 16. */
static uint32_t first_bits(uint64_t bits, uint32_t count)
{
    return (uint32_t)(bits >> 1 >> (63 - count));
}

/* What a look-up found too little of: the same with its value, whatever its length; 0: no code. */
static uint32_t whole_entry(uint64_t bits, const stk__jpeg_table *table, uint32_t entry, bool ac)
{
    uint32_t length = entry & LENGTH_MASK, size;

    for (uint32_t longer = LOOK + 1; length == 0; longer++) {
        if (longer > 16)
            return 0;
        if ((int32_t)first_bits(bits, longer) <= table->last_code[longer]) {
            int32_t nth = table->to_symbol[longer] + (int32_t)first_bits(bits, longer);

            length = longer;
            entry = entry_of(table->made_of[16 + nth], length, 0, ac);
        }
    }
    size = entry >> SIZE_SHIFT & SIZE_MASK;
    return (length + size) | (entry & MOVE_MASK << MOVE_SHIFT) |
           (uint32_t)extend(first_bits(bits << length, size), size) << VALUE_SHIFT;
}

static const uint8_t zigzag[END_OF_BLOCK + DCTSIZE2] = {0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25,
    18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57,
    50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47,
    55, 62, 63};

/*
 * Coefficients of one block, or, with `skip`, past them. Where each goes on its way through the
 * zigzag: the natural order, then places behind the 64 that the end of a block moves to; there a
 * zero is put where the DC value is put last.
 *
 * A code with its value has 31 bits at most, one that the look-up holds whole has LOOK: so three
 * are taken between two refills.
 */
STK__INLINE bool decode_ac(
    reader *reader_io, const stk__jpeg_table *table, int16_t *block, bool skip)
{
    const uint32_t *look = table->look;
    reader r = *reader_io;
    uint32_t k = 1, entry;

/* One code. It stands for a run of zeros and a value, or for the end of the block. */
#define TAKE_CODE()                          \
    entry = look[r.bits >> (64 - LOOK)];     \
    if (STK__UNLIKELY((entry & LATER) != 0)) \
        goto later;                          \
    r = consumed(r, entry & LENGTH_MASK);    \
    k += entry >> MOVE_SHIFT & MOVE_MASK;    \
    if (!skip)                               \
    block[zigzag[k - 1]] = (int16_t)(entry >> VALUE_SHIFT)

    while (k < DCTSIZE2) {
        r = refilled(r);
        TAKE_CODE();
        if (k >= DCTSIZE2)
            break;
        TAKE_CODE();
        if (k >= DCTSIZE2)
            break;
        TAKE_CODE();
        continue;
    later:
        entry = whole_entry(r.bits, table, entry, true);
        if (entry == 0)
            return false;
        r = consumed(r, entry & LENGTH_MASK);
        k += entry >> MOVE_SHIFT & MOVE_MASK;
        if (!skip)
            block[zigzag[k - 1]] = (int16_t)(entry >> VALUE_SHIFT);
    }
#undef TAKE_CODE
    *reader_io = r;
    return k == DCTSIZE2 || k > END_OF_BLOCK; /* else a run led past the end */
}

STK__INLINE bool decode_dc(reader *reader_io, const stk__jpeg_table *table, int32_t *last)
{
    reader r = refilled(*reader_io);
    uint32_t entry = table->look[r.bits >> (64 - LOOK)];

    if ((entry & LATER) != 0) {
        entry = whole_entry(r.bits, table, entry, false);
        if (entry == 0)
            return false;
    }
    *reader_io = consumed(r, entry & LENGTH_MASK);
    *last += (int16_t)(entry >> VALUE_SHIFT);
    return *last == (int16_t)*last;
}

/* ---- MCUs --------------------------------------------------------------------------------------
 */

typedef int16_t (*const *block_rows)[DCTSIZE2];

STK__INLINE bool decode_block(
    stk__jpeg_huff *huff, reader *r, stk__jpeg_part *part, int16_t *block, bool skip)
{
    if (r->next > huff->data + huff->data_bytes + sizeof(uint64_t))
        return false; /* far behind the end; nearer by it is found when the stretch is over */
    if (!decode_dc(r, &huff->dc[part->dc], &part->last_dc) ||
        !decode_ac(r, &huff->ac[part->ac], block, skip))
        return false;
    if (!skip)
        block[0] = (int16_t)part->last_dc;
    return true;
}

/* `count` MCUs from column `column` on within one stretch; rows: NULL to step over them. */
STK__INLINE bool decode_mcus(
    stk__jpeg_huff *huff, uint32_t column, uint64_t count, const block_rows *rows, bool skip)
{
    reader r = {huff->next, huff->bits, huff->left};

    for (; count > 0; count--, column++) {
        for (uint32_t i = 0; i < huff->parts_count; i++) {
            stk__jpeg_part *part = &huff->parts[i];

            for (uint32_t v = 0; v < part->v; v++) {
                int16_t (*blocks)[DCTSIZE2] = skip ? NULL : rows[i][v] + (size_t)column * part->h;

                for (uint32_t h = 0; h < part->h; h++) {
                    if (!decode_block(huff, &r, part, skip ? NULL : blocks[h], skip))
                        return false;
                }
            }
        }
    }
    huff->next = r.next;
    huff->bits = r.bits;
    huff->left = r.left;
    return true;
}

/* Two copies, each with what it does not need left out. */
static bool read_mcus(stk__jpeg_huff *huff, uint32_t column, uint64_t count, const block_rows *rows)
{
    return decode_mcus(huff, column, count, rows, false);
}

static bool skip_mcus(stk__jpeg_huff *huff, uint64_t count)
{
    return decode_mcus(huff, 0, count, NULL, true);
}

/* Were more bits consumed than stretch `nth` has? */
static bool overran(const stk__jpeg_huff *huff, uint64_t nth)
{
    uint64_t consumed_bits = (uint64_t)(huff->next - huff->data) * 8 - huff->left;

    return consumed_bits > (uint64_t)huff->stretches[nth + 1] * 8;
}

/* MCUs up to number `end`, with a new start wherever a restart marker was. */
static bool go_on(stk__jpeg_huff *huff, uint64_t end, uint32_t column, const block_rows *rows)
{
    while (huff->mcu < end) {
        uint64_t nth = huff->restart_mcus == 0 ? 0 : huff->mcu / huff->restart_mcus;
        uint64_t until = end, count;

        if (huff->restart_mcus != 0) {
            until = stk__u64_min(end, (nth + 1) * huff->restart_mcus);
            if (huff->mcu == nth * huff->restart_mcus)
                start_stretch(huff, nth);
        }
        count = until - huff->mcu;
        if (!(rows == NULL ? skip_mcus(huff, count) : read_mcus(huff, column, count, rows)) ||
            overran(huff, nth))
            return false;
        column += (uint32_t)count;
        huff->mcu = until;
    }
    return true;
}

static void clear(const stk__jpeg_huff *huff, uint32_t first, uint32_t end, const block_rows *rows)
{
    for (uint32_t i = 0; i < huff->parts_count; i++) {
        const stk__jpeg_part *part = &huff->parts[i];

        for (uint32_t v = 0; v < part->v; v++)
            memset(rows[i][v] + (size_t)first * part->h, 0,
                (size_t)(end - first) * part->h * sizeof *rows[i][v]);
    }
}

bool stk__jpeg_huff_row(stk__jpeg_huff *huff, uint32_t row, uint32_t first, uint32_t end,
    int16_t (*const *const rows[STK__JPEG_PARTS])[64])
{
    uint64_t begin = (uint64_t)row * huff->mcus_across;

    if (row >= huff->mcus_down || begin < huff->mcu || first > end || end > huff->mcus_across)
        return false;
    if (huff->restart_mcus != 0) { /* what lies before the last restart is not looked at */
        uint64_t restart = (begin + first) / huff->restart_mcus * huff->restart_mcus;

        if (restart > huff->mcu)
            huff->mcu = restart;
    }
    clear(huff, first, end, rows);
    return go_on(huff, begin + first, 0, NULL) && go_on(huff, begin + end, first, rows) &&
           go_on(huff, begin + huff->mcus_across, 0, NULL);
}
