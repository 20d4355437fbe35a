/* Rows through a stage: see image_stage.h. */
#include "transform/image_stage.h"

#include <assert.h>
#include <string.h>

void stk__stage_start(stk__stage *stage, const stk__target *target)
{
    stage->target = *target;
    stage->received = 0;
    stage->made = 0;
    stage->tap_row = 0;
    stage->tap_slot = 0;
    stage->take_slot = 0;
    stage->direct = stage->pass_y && stk__stage_is_direct(stage);
}

/* The columns of an output row where they do not follow each other. */
static const uint8_t *gather(stk__stage *stage, const uint8_t *rgb)
{
    const int32_t *table = stage->x.table;
    uint8_t *out = stage->gathered;

    for (uint32_t x = 0; x < stage->x.count; x++, out += 3) {
        int32_t from = table[x];
        const uint8_t *pixel =
            from < 0 ? stage->transforms[-1 - from].fill : rgb + ((size_t)from - stage->low_x) * 3;

        memcpy(out, pixel, 3);
    }
    return stage->gathered;
}

/* Row `row` of resampling's outputs, counted from low_y, goes wherever it is wanted. */
static void emit(stk__stage *stage, uint32_t row, const uint8_t *rgb)
{
    if (!stage->x.straight)
        rgb = gather(stage, rgb);
    if (stage->y.straight) {
        int32_t y = ((int32_t)(stage->low_y + row) - stage->y.first) * stage->y.step;

        stk__stage_write(stage, (uint32_t)y, rgb);
        return;
    }
    for (uint32_t y = stage->row_head[row]; y != 0; y = stage->row_next[y - 1])
        stk__stage_write(stage, y - 1, rgb);
}

/* Point at the rows of the next output. Taps of no weight may lie past the rows that came: any row
 * will do for them. */
static void find_tap_rows(stk__stage *stage)
{
    const stk__taps *taps = &stage->taps_y.taps;
    const uint32_t first = taps->first[stage->made];
    const uint32_t used = stage->taps_y.last[stage->made] - first;
    uint32_t slot;

    stage->tap_slot += first - stage->tap_row; /* in rows, first never goes back */
    stage->tap_row = first;
    while (stage->tap_slot >= stage->ring_rows)
        stage->tap_slot -= stage->ring_rows;
    slot = stage->tap_slot;
    for (uint32_t t = 0; t < taps->per; t++) {
        stage->tap_rows[t] = stage->ring + slot * stage->row_bytes;
        if (t < used)
            slot = slot + 1 < stage->ring_rows ? slot + 1 : 0;
    }
}

/* All output rows whose taps have come. */
static void emit_resampled(stk__stage *stage)
{
    const stk__taps *taps = &stage->taps_y.taps;
    const uint32_t *last = stage->taps_y.last;

    for (; stage->made < stage->rows && last[stage->made] < stage->received; stage->made++) {
        const int16_t *weight = taps->weight + (size_t)stage->made * taps->per;
        uint8_t *line = stage->direct ? stk__stage_place(stage, stage->made) : stage->line;

        find_tap_rows(stage);
        stage->kernels->vertical(
            line, stage->tap_rows, weight, taps->per, (size_t)stage->columns * 3, taps->precision);
        if (!stage->direct)
            emit(stage, stage->made, line);
    }
}

/* Without a vertical pass: each row that has come. The ring is as long as what comes at once. */
static void emit_copied(stk__stage *stage)
{
    for (; stage->made < stage->received; stage->made++)
        emit(stage, stage->made, stage->ring + (stage->made % stage->ring_rows) * stage->row_bytes);
}

/* Rows that are shorter than the taps reach, with room behind them. */
static const uint8_t *widened(stk__stage *stage, uint32_t slot, const uint8_t *src)
{
    uint8_t *row = stage->narrow + (size_t)slot * stage->taps_x.taps.inputs * 4;

    memcpy(row, src, (size_t)stage->source.width * 4);
    return row;
}

/* At most STK__ROWS_AT_ONCE rows into the ring. */
static void take(stk__stage *stage, const uint8_t *pixels, size_t pitch_bytes, uint32_t count)
{
    const stk__kernels *k = stage->kernels;
    uint8_t *dst[STK__ROWS_AT_ONCE];
    const uint8_t *src[STK__ROWS_AT_ONCE];

    for (uint32_t i = 0; i < count; i++) {
        dst[i] = stage->ring + stage->take_slot * stage->row_bytes;
        stage->take_slot = stage->take_slot + 1 < stage->ring_rows ? stage->take_slot + 1 : 0;
        src[i] = pixels + i * pitch_bytes;
        if (stage->narrow != NULL)
            src[i] = widened(stage, i, src[i]);
    }
    if (stage->pass_x) {
        k->horizontal(dst, src, count, &stage->taps_x.taps);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        (stage->reversed ? k->pack_reversed : k->pack)(dst[i], src[i], stage->columns);
}

void stk__stage_rows(stk__stage *stage, const uint8_t *pixels, size_t pitch_bytes, uint32_t count)
{
    assert(count <= stage->source.height - stage->received);
    while (count > 0) {
        const uint32_t now = count < STK__ROWS_AT_ONCE ? count : (uint32_t)STK__ROWS_AT_ONCE;

        take(stage, pixels, pitch_bytes, now);
        stage->received += now;
        if (stage->pass_y)
            emit_resampled(stage);
        else
            emit_copied(stage);
        pixels += now * pitch_bytes;
        count -= now;
    }
}

/* A row none of whose pixels has a source: each has the fill of the later transform. */
static void paint(stk__stage *stage, uint32_t y)
{
    int32_t of_row = stk__axis_at(&stage->y, y);
    uint8_t *out = stage->gathered;

    for (uint32_t x = 0; x < stage->x.count; x++, out += 3) {
        int32_t of_column = stk__axis_at(&stage->x, x);
        int32_t entry = of_column < of_row ? of_column : of_row; /* -1 - number: less is later */

        assert(entry < 0);
        memcpy(out, stage->transforms[-1 - entry].fill, 3);
    }
    stk__stage_write(stage, y, stage->gathered);
}

void stk__stage_finish(stk__stage *stage)
{
    if (stage->y.straight && stage->source.height > 0)
        return;
    for (uint32_t y = 0; y < stage->y.count; y++) {
        if (stage->source.height == 0 || stk__axis_at(&stage->y, y) < 0)
            paint(stage, y);
    }
}
