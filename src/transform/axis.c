/* Where the positions of one axis of a picture come from: see axis.h. */
#include "transform/axis.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void stk__axis_fini(stk__axis *axis, stk__heap *heap)
{
    stk__heap_free(heap, axis->table, axis->capacity, sizeof *axis->table);
    stk__heap_free(heap, axis->spare, axis->capacity, sizeof *axis->spare);
    *axis = (stk__axis){0};
}

void stk__axis_identity(stk__axis *axis, uint32_t count)
{
    axis->count = count;
    axis->straight = true;
    axis->first = 0;
    axis->step = 1;
}

/* Room for `count` entries in both tables; the one in use, which fits, keeps its contents. */
static bool reserve(stk__axis *axis, stk__heap *heap, size_t count)
{
    int32_t *table, *spare;

    if (count <= axis->capacity)
        return true;
    table = stk__heap_alloc(heap, count, sizeof *table);
    spare = stk__heap_alloc(heap, count, sizeof *spare);
    if (table == NULL || spare == NULL) {
        stk__heap_free(heap, table, count, sizeof *table);
        stk__heap_free(heap, spare, count, sizeof *spare);
        return false;
    }
    if (!axis->straight)
        memcpy(table, axis->table, axis->count * sizeof *table);
    stk__heap_free(heap, axis->table, axis->capacity, sizeof *table);
    stk__heap_free(heap, axis->spare, axis->capacity, sizeof *spare);
    axis->table = table;
    axis->spare = spare;
    axis->capacity = count;
    return true;
}

/* What was made in `spare` is the map from now on. */
static void commit(stk__axis *axis, uint32_t count)
{
    int32_t *made = axis->spare;

    axis->spare = axis->table;
    axis->table = made;
    axis->straight = false;
    axis->count = count;
}

/* The position inside that stands for `at`; -1: none, it has the fill. */
static int64_t padded(int64_t at, int64_t count, stk_padding_mode mode)
{
    if (at >= 0 && at < count)
        return at;
    switch (mode) {
    case STK_PAD_EDGE:
        return at < 0 ? 0 : count - 1;
    case STK_PAD_REFLECT:
        return at < 0 ? -at : 2 * (count - 1) - at;
    case STK_PAD_SYMMETRIC:
        return at < 0 ? -at - 1 : 2 * count - 1 - at;
    case STK_PAD_CONSTANT:
        break;
    }
    return -1;
}

bool stk__axis_window(stk__axis *axis, stk__heap *heap, int64_t start, uint32_t count,
    stk_padding_mode mode, uint32_t fill)
{
    if (start >= 0 && start + count <= axis->count) {
        if (axis->straight)
            axis->first += (int32_t)start * axis->step;
        else
            memmove(axis->table, axis->table + start, count * sizeof *axis->table);
        axis->count = count;
        return true;
    }
    if (!reserve(axis, heap, count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        int64_t at = padded(start + i, axis->count, mode);

        assert(at < (int64_t)axis->count);
        axis->spare[i] = at < 0 ? -1 - (int32_t)fill : stk__axis_at(axis, (uint32_t)at);
    }
    commit(axis, count);
    return true;
}

void stk__axis_flip(stk__axis *axis)
{
    if (axis->straight) {
        axis->first += (int32_t)(axis->count - 1) * axis->step;
        axis->step = -axis->step;
        return;
    }
    for (uint32_t i = 0, j = axis->count - 1; i < j; i++, j--) {
        int32_t entry = axis->table[i];

        axis->table[i] = axis->table[j];
        axis->table[j] = entry;
    }
}

bool stk__axis_nearest(stk__axis *axis, stk__heap *heap, uint32_t count)
{
    const uint32_t inputs = axis->count;
    const float scale = (float)inputs / (float)count;

    if (count == inputs)
        return true;
    if (!reserve(axis, heap, count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        int64_t at = count == 2 * (uint64_t)inputs ? i / 2 : (int64_t)floorf((float)i * scale);

        axis->spare[i] = stk__axis_at(axis, (uint32_t)(at < inputs ? at : inputs - 1));
    }
    commit(axis, count);
    return true;
}

bool stk__axis_span(const stk__axis *axis, uint32_t *low_out, uint32_t *high_out)
{
    int32_t low = INT32_MAX, high = -1;

    if (axis->straight) {
        int32_t last = axis->first + (int32_t)(axis->count - 1) * axis->step;

        low = axis->first < last ? axis->first : last;
        high = axis->first < last ? last : axis->first;
    } else {
        for (uint32_t i = 0; i < axis->count; i++) {
            int32_t entry = axis->table[i];

            if (entry < 0)
                continue;
            low = entry < low ? entry : low;
            high = entry > high ? entry : high;
        }
    }
    if (high < 0)
        return false;
    *low_out = (uint32_t)low;
    *high_out = (uint32_t)high;
    return true;
}
