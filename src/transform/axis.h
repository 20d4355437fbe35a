/*
 * Where the positions of one axis of a picture come from.
 *
 * Crops, paddings, flips and nearest resizing move whole columns and rows: any sequence of them is
 * one map from output positions to source positions, for each axis alone. A map is a straight run
 * (first + i * step) as long as it can be, and a table from then on. A position that comes from no
 * source has a fill: the number of the transform whose colour it has. Where both axes name a fill,
 * the later transform painted last, so the larger number holds.
 */
#ifndef STK__AXIS_H
#define STK__AXIS_H

#include <stoker/transform.h>

#include "base/heap.h"

typedef struct stk__axis {
    uint32_t count;      /* positions */
    bool straight;       /* the table is not in use */
    int32_t first, step; /* if straight: position i comes from first + i * step; step is 1 or -1 */
    int32_t *table;      /* else: source of each position, or -1 - number of a fill */
    int32_t *spare;      /* where the next table is made; both have `capacity` entries */
    size_t capacity;
} stk__axis;

/* Give back the tables. The axis may be all zero. */
void stk__axis_fini(stk__axis *axis, stk__heap *heap);

/* Start anew: position i comes from i. */
void stk__axis_identity(stk__axis *axis, uint32_t count);

/* Now position i is what position start + i was. Positions outside 0 to count - 1 are padded by
 * `mode`; a constant one has the fill of transform `fill`. Reflection and symmetry reach as far as
 * the axis is long (less one for reflection): the caller has checked. False: no memory. */
STK_MUST_CHECK bool stk__axis_window(stk__axis *axis, stk__heap *heap, int64_t start,
    uint32_t count, stk_padding_mode mode, uint32_t fill);

/* The last position becomes the first. */
void stk__axis_flip(stk__axis *axis);

/* Nearest resizing to `count` positions, by torch's rule: trunc(i * scale) in float. */
STK_MUST_CHECK bool stk__axis_nearest(stk__axis *axis, stk__heap *heap, uint32_t count);

/* Source of position i; negative: -1 - number of a fill. */
static inline int32_t stk__axis_at(const stk__axis *axis, uint32_t i)
{
    return axis->straight ? axis->first + (int32_t)i * axis->step : axis->table[i];
}

/* The sources that occur: low to high, both included. False: none does, all is fill. */
bool stk__axis_span(const stk__axis *axis, uint32_t *low_out, uint32_t *high_out);

#endif
