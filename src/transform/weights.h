/*
 * Weights of resampling: what torchvision v2 uses on uint8 tensors, bit for bit.
 *
 * Output i of an axis that goes from `inputs` to `outputs` positions is a weighted sum of the
 * inputs around (i + 0.5) * inputs / outputs. Antialiased, the filter is as wide as the scale; else
 * it has 2 (bilinear) or 4 (bicubic) taps. Weights are 16-bit integers of the largest precision p
 * <= 22 for which the largest weight of the whole axis rounds to less than 2^15.
 *
 * stk__weights_make() computes an axis and is skipped when it is asked for the same one again;
 * stk__weights_taps() cuts out the outputs that are wanted, in the form that kernels take.
 */
#ifndef STK__WEIGHTS_H
#define STK__WEIGHTS_H

#include <stoker/transform.h>

#include "transform/kernels/kernels.h"
#include "transform/scratch.h"

/* From what to what. */
typedef struct stk__axis_resize {
    uint32_t inputs, outputs;        /* 1 to 2^28 */
    stk_interpolation interpolation; /* bilinear or bicubic */
    bool antialias;
} stk__axis_resize;

/* One axis. All zero to start; the fields are read only. */
typedef struct stk__weights {
    stk__axis_resize of; /* 0 outputs: nothing was made yet */
    uint32_t room;       /* weights of an output that there is memory for, at least */
    uint32_t precision;
    uint32_t per;    /* weights of an output, even; those past its taps are 0 */
    uint32_t *first; /* first input of each output */
    uint32_t *taps;  /* inputs of each output, 1 to per */
    int16_t *weight; /* outputs * per */
    stk__scratch reach, exact, rounded;
} stk__weights;

void stk__weights_fini(stk__weights *weights, stk__heap *heap);

/* Compute the axis unless it is there already. `most_inputs` may come with the same outputs: memory
 * is made for them at once. False: no memory, and the axis is empty. */
STK_MUST_CHECK bool stk__weights_make(stk__weights *weights, stk__heap *heap,
    const stk__kernels *kernels, const stk__axis_resize *of, uint32_t most_inputs);

/* Which part of an axis kernels shall make. */
typedef struct stk__taps_part {
    uint32_t begin, count; /* outputs, in the order of the axis */
    bool backward;         /* kernels give the last of them first */
    bool mirrored;         /* input j lies at inputs - 1 - j */
} stk__taps_part;

/* Inputs that the part needs, where they lie: low to high, both included. */
void stk__weights_span(
    const stk__weights *weights, const stk__taps_part *part, uint32_t *low_out, uint32_t *high_out);

/* The part in the form of kernels. All zero to start. */
typedef struct stk__taps_memory {
    stk__taps taps;
    const uint32_t *last; /* last input of each output that has a weight */
    stk__scratch axis, rounded;
} stk__taps_memory;

void stk__taps_fini(stk__taps_memory *memory, stk__heap *heap);

/* Fill in the part; input `low` of stk__weights_span() is number 0 for kernels, and taps.inputs is
 * the length of the span, or taps.per where that is more: then the caller must give rows of so many
 * pixels, and those past the span weigh 0. False: no memory. */
STK_MUST_CHECK bool stk__weights_taps(const stk__weights *weights, const stk__taps_part *part,
    stk__taps_memory *memory, stk__heap *heap);

#endif
