/*
 * One stage of a chain: (crop) -> resampling -> (crop, padding, flip, nearest) -> rows out.
 *
 * What stands before and after the resampling is a map of each axis (axis.h), so a stage needs no
 * picture in memory: a row of the source goes through the horizontal pass into a ring of a few rows
 * of bytes, and as soon as the taps of an output row are all there, the vertical pass makes that
 * row and it is written to the target. A stage without resampling only moves pixels.
 *
 * Life of a stage for one picture: begin, then the plan (the axes are changed directly, resample
 * once at most), settle, start, rows as often as it takes, finish.
 */
#ifndef STK__IMAGE_STAGE_H
#define STK__IMAGE_STAGE_H

#include "transform/axis.h"
#include "transform/chain_int.h"
#include "transform/weights.h"

/* Where rows of a stage go. */
typedef struct stk__target {
    const stk__image_chain *chain; /* NULL: to an RGBX picture for the next stage */
    uint8_t *pixels;               /* first element */
    uint32_t width, height;
} stk__target;

typedef struct stk__stage {
    stk__heap *heap;
    const stk__kernels *kernels;
    const stk_transform *transforms; /* fills are named by numbers of these */

    /* The plan. */
    uint32_t source_width, source_height; /* all of it; memory is made for crops as large as that */
    bool resampled;
    stk_interpolation interpolation; /* bilinear or bicubic */
    bool antialias;
    stk__axis in_x, in_y; /* from resampling's inputs to the source; straight */
    uint32_t wide, high;  /* resampling's outputs */
    stk__axis x, y;       /* from the stage's outputs to resampling's outputs */

    /* Settled. */
    stk_rect source;        /* part of the source that is needed; height 0: none */
    uint32_t low_x, low_y;  /* first of resampling's outputs that are made */
    uint32_t columns, rows; /* and how many of them */
    bool pass_x, pass_y;    /* does a size change? */
    bool reversed;          /* without a horizontal pass: the last column comes first */
    stk__weights weights_x, weights_y;
    stk__taps_memory taps_x, taps_y;
    uint32_t *row_head, *row_next; /* if y is a table: the outputs of each row made, + 1, 0 ends */

    /* Running. */
    stk__target target;
    uint32_t received; /* rows of the source */
    uint32_t made;     /* rows of resampling's outputs */
    bool direct;       /* the vertical pass writes to the target itself */
    uint32_t ring_rows;
    uint32_t take_slot; /* of the ring: where the next row goes */
    uint32_t tap_row;   /* first row of the output made last, and where it lies */
    uint32_t tap_slot;
    size_t row_bytes;  /* of a ring row, slack included */
    uint8_t *ring;     /* row r of the source lies at r % ring_rows; RGB */
    uint8_t *line;     /* a row on its way out; RGB */
    uint8_t *gathered; /* the same after a table of columns; RGB */
    uint8_t *parts;    /* one channel of a row, and two more */
    uint8_t *narrow;   /* STK__ROWS_AT_ONCE rows of RGBX, longer than the source's */
    const uint8_t **tap_rows;
    stk__scratch lists, lines, pointers;
} stk__stage;

void stk__stage_fini(stk__stage *stage);

/* A new picture of width x height: the stage hands it on as it is. */
void stk__stage_begin(stk__stage *stage, uint32_t width, uint32_t height);

/* Can the stage take a resampling still? Not if it has one, or moved pixels by a table before. */
bool stk__stage_can_resample(const stk__stage *stage);
void stk__stage_resample(stk__stage *stage, uint32_t width, uint32_t height,
    stk_interpolation interpolation, bool antialias);

/* The plan is whole: find out what is needed of the source, and get the memory. */
STK_MUST_CHECK stk_status stk__stage_settle(stk__stage *stage, stk_error *err);

void stk__stage_start(stk__stage *stage, const stk__target *target);

/* The next rows of stage->source: RGBX. At most as many as are missing. */
void stk__stage_rows(stk__stage *stage, const uint8_t *pixels, size_t pitch_bytes, uint32_t count);

/* After the last row: what has no source is painted. */
void stk__stage_finish(stk__stage *stage);

/* Are rows of the target just what the vertical pass makes? Then row `row` of them lies there. */
bool stk__stage_is_direct(const stk__stage *stage);
uint8_t *stk__stage_place(const stk__stage *stage, uint32_t row);

/* Write row `y` of the target; `rgb` is a row of target->width pixels with slack. (image_write.c)
 */
void stk__stage_write(stk__stage *stage, uint32_t y, const uint8_t *rgb);

#endif
