/* The plan of a stage, and what follows from it: see image_stage.h. */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "transform/image_stage.h"

void stk__stage_fini(stk__stage *stage)
{
    stk__heap *heap = stage->heap;

    stk__axis_fini(&stage->x, heap);
    stk__axis_fini(&stage->y, heap);
    stk__weights_fini(&stage->weights_x, heap);
    stk__weights_fini(&stage->weights_y, heap);
    stk__taps_fini(&stage->taps_x, heap);
    stk__taps_fini(&stage->taps_y, heap);
    stk__scratch_fini(&stage->lists, heap);
    stk__scratch_fini(&stage->lines, heap);
    stk__scratch_fini(&stage->pointers, heap);
}

void stk__stage_begin(stk__stage *stage, uint32_t width, uint32_t height)
{
    stage->source_width = width;
    stage->source_height = height;
    stage->resampled = false;
    stk__axis_identity(&stage->in_x, width);
    stk__axis_identity(&stage->in_y, height);
    stk__axis_identity(&stage->x, width);
    stk__axis_identity(&stage->y, height);
    stage->wide = width;
    stage->high = height;
}

bool stk__stage_can_resample(const stk__stage *stage)
{
    return !stage->resampled && stage->x.straight && stage->y.straight && stage->y.step == 1;
}

/* The map before resampling: straight, so that it needs no table of its own. */
static stk__axis straight_copy(const stk__axis *axis)
{
    assert(axis->straight);
    return (stk__axis){
        .count = axis->count, .straight = true, .first = axis->first, .step = axis->step};
}

void stk__stage_resample(stk__stage *stage, uint32_t width, uint32_t height,
    stk_interpolation interpolation, bool antialias)
{
    stage->in_x = straight_copy(&stage->x);
    stage->in_y = straight_copy(&stage->y);
    stk__axis_identity(&stage->x, width);
    stk__axis_identity(&stage->y, height);
    stage->wide = width;
    stage->high = height;
    stage->resampled = true;
    stage->interpolation = interpolation;
    stage->antialias = antialias;
}

/* Source position of the lowest input of a straight map. */
static uint32_t lowest(const stk__axis *in)
{
    int32_t end = in->first + (int32_t)(in->count - 1) * in->step;

    return (uint32_t)(in->first < end ? in->first : end);
}

/* One axis with a pass: weights, taps, and the span of the source that they need. */
static bool settle_pass(stk__stage *stage, bool rows, uint32_t *start_out, uint32_t *count_out)
{
    stk__weights *weights = rows ? &stage->weights_y : &stage->weights_x;
    stk__taps_memory *taps = rows ? &stage->taps_y : &stage->taps_x;
    const stk__axis *in = rows ? &stage->in_y : &stage->in_x;
    const stk__axis *out = rows ? &stage->y : &stage->x;
    stk__taps_part part = {
        .begin = rows ? stage->low_y : stage->low_x,
        .count = rows ? stage->rows : stage->columns,
        .backward = out->straight && out->step < 0,
        .mirrored = in->step < 0,
    };
    const stk__axis_resize of = {
        in->count, rows ? stage->high : stage->wide, stage->interpolation, stage->antialias};
    uint32_t low, high;

    if (!stk__weights_make(weights, stage->heap, stage->kernels, &of,
            rows ? stage->source_height : stage->source_width))
        return false;
    stk__weights_span(weights, &part, &low, &high);
    *start_out = lowest(in) + low;
    *count_out = high - low + 1;
    return stk__weights_taps(weights, &part, taps, stage->heap);
}

/* One axis without a pass: outputs are inputs. */
static void settle_copy(stk__stage *stage, bool rows, uint32_t *start_out, uint32_t *count_out)
{
    const stk__axis *in = rows ? &stage->in_y : &stage->in_x;
    uint32_t low = rows ? stage->low_y : stage->low_x, count = rows ? stage->rows : stage->columns;

    *count_out = count;
    *start_out = in->step > 0 ? (uint32_t)in->first + low : (uint32_t)in->first - (low + count - 1);
}

static bool settle_source(stk__stage *stage)
{
    stk_rect *source = &stage->source;

    stage->pass_x = stage->resampled && stage->in_x.count != stage->wide;
    stage->pass_y = stage->resampled && stage->in_y.count != stage->high;
    stage->reversed =
        !stage->pass_x && (stage->in_x.step < 0) != (stage->x.straight && stage->x.step < 0);
    if (!stage->pass_x)
        settle_copy(stage, false, &source->left, &source->width);
    else if (!settle_pass(stage, false, &source->left, &source->width))
        return false;
    if (!stage->pass_y)
        settle_copy(stage, true, &source->top, &source->height);
    else if (!settle_pass(stage, true, &source->top, &source->height))
        return false;
    return true;
}

/* Lists of the outputs that are copies of each row, where a table says so. */
static bool settle_lists(stk__stage *stage)
{
    uint32_t *head, *next;

    if (stage->y.straight)
        return true;
    head = stk__scratch_need(&stage->lists, stage->heap, (size_t)stage->rows + stage->y.count,
        (size_t)stage->high + stage->y.count, sizeof *head, 0);
    if (head == NULL)
        return false;
    next = head + stage->rows;
    memset(head, 0, stage->rows * sizeof *head);
    for (uint32_t y = stage->y.count; y-- > 0;) {
        int32_t from = stage->y.table[y];

        if (from < 0)
            continue;
        next[y] = head[(uint32_t)from - stage->low_y];
        head[(uint32_t)from - stage->low_y] = y + 1;
    }
    stage->row_head = head;
    stage->row_next = next;
    return true;
}

static size_t rgb_row_bytes(uint32_t pixels)
{
    return stk__size_align((size_t)pixels * 3 + STK__ROW_SLACK, STK_ALIGN_BYTES);
}

/* Bytes of the ring, and of the rows on their way: a line, a gathered one, three parts. */
static bool line_bytes(
    uint32_t taps, size_t row_bytes, size_t out_bytes, size_t narrow_bytes, size_t *bytes_out)
{
    return stk__size_mul((size_t)taps + STK__ROWS_AT_ONCE + 1, row_bytes, bytes_out) &&
           stk__size_add(*bytes_out, out_bytes * 4, bytes_out) &&
           stk__size_add(*bytes_out, narrow_bytes * STK__ROWS_AT_ONCE, bytes_out);
}

/* All of them in one block, with room for the most taps and columns that a crop may need. */
static bool settle_lines(stk__stage *stage)
{
    const uint32_t taps = stage->pass_y ? stage->taps_y.taps.per : 0;
    const uint32_t most_taps = stage->pass_y ? stage->weights_y.room : 0;
    const size_t out_bytes = rgb_row_bytes(stage->x.count);
    const bool is_narrow = stage->pass_x && stage->source.width < stage->taps_x.taps.inputs;
    const size_t narrow_bytes = is_narrow ? (size_t)stage->taps_x.taps.inputs * 4 : 0;
    const size_t most_narrow = stage->pass_x ? (size_t)stage->weights_x.room * 4 : 0;
    size_t bytes, room;
    uint8_t *at;

    stage->row_bytes = rgb_row_bytes(stage->columns);
    stage->ring_rows = taps + STK__ROWS_AT_ONCE;
    if (!line_bytes(taps, stage->row_bytes, out_bytes, narrow_bytes, &bytes) ||
        !line_bytes(most_taps, rgb_row_bytes(stage->wide), out_bytes, most_narrow, &room))
        return false;
    at = stk__scratch_need(&stage->lines, stage->heap, bytes, room, 1, 0);
    stage->tap_rows = stk__scratch_need(&stage->pointers, stage->heap, (size_t)taps + 1,
        (size_t)most_taps + 1, sizeof *stage->tap_rows, 0);
    if (at == NULL || stage->tap_rows == NULL)
        return false;
    stage->ring = at;
    at += stage->ring_rows * stage->row_bytes;
    stage->line = at;
    at += stage->row_bytes;
    stage->gathered = at;
    at += out_bytes;
    stage->parts = at;
    at += out_bytes * 3;
    stage->narrow = is_narrow ? at : NULL;
    if (is_narrow)
        memset(at, 0, narrow_bytes * STK__ROWS_AT_ONCE);
    return true;
}

stk_status stk__stage_settle(stk__stage *stage, stk_error *err)
{
    uint32_t high_x, high_y;
    bool enough;

    stage->source = (stk_rect){0};
    stage->columns = stage->rows = 0;
    stage->pass_x = stage->pass_y = stage->reversed = false;
    if (stk__axis_span(&stage->x, &stage->low_x, &high_x) &&
        stk__axis_span(&stage->y, &stage->low_y, &high_y)) {
        stage->columns = high_x - stage->low_x + 1;
        stage->rows = high_y - stage->low_y + 1;
        enough = settle_source(stage) && settle_lists(stage) && settle_lines(stage);
    } else { /* all is fill: nothing of the source is needed */
        enough = settle_lines(stage);
    }
    return enough ? STK_OK
                  : STK_FAIL(err, STK_ENOMEM, "no memory to make %ux%u pixels of a picture",
                        stage->x.count, stage->y.count);
}
