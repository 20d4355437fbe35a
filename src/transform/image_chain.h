/*
 * Chains of transforms inside the engine.
 *
 * A stk__image_chain is made once for a field, never changes and is shared by threads. A
 * stk__image_run belongs to one thread; for each sample it draws the parameters, says which part of
 * the stored picture it needs, takes the rows of that part one after the other as the decoder makes
 * them, and writes the finished pixels straight into the batch slot in their final layout and type.
 * Between decoder and slot there are only the few rows that the vertical pass needs.
 *
 * Chains that cannot be one resampling (two resizes one after the other) go through a picture in
 * memory between the stages; the result is the same as one transform after the other in any case.
 */
#ifndef STK__IMAGE_CHAIN_H
#define STK__IMAGE_CHAIN_H

#include <stoker/transform.h>

#include "base/heap.h"

typedef struct stk__image_chain stk__image_chain;
typedef struct stk__image_run stk__image_run;

/* Check and copy a chain. STK_EINVAL names the transform by its index and the field at fault;
 * STK_ESHAPE a crop that is too large for what the transforms before it always give. An empty chain
 * (count 0) hands the picture on as it is. heap is kept. */
STK_MUST_CHECK stk_status stk__image_chain_new(stk__heap *heap, const stk_transform *transforms,
    size_t count, stk_layout layout, stk_dtype dtype, stk__image_chain **chain_out, stk_error *err);
void stk__image_chain_free(stk__image_chain *chain);

/* Is the output of one shape whatever the picture? Then it is told. */
bool stk__image_chain_fixed(
    const stk__image_chain *chain, uint32_t *width_out, uint32_t *height_out);

/* Shape of the output for a picture of width x height. STK_ESHAPE if it is too small for a crop. */
STK_MUST_CHECK stk_status stk__image_chain_shape(const stk__image_chain *chain, uint32_t width,
    uint32_t height, uint32_t *width_out, uint32_t *height_out, stk_error *err);

/* Scratch of a run for pictures up to width x height, by and large: for the plan. */
size_t stk__image_chain_scratch_bytes(
    const stk__image_chain *chain, uint32_t width, uint32_t height);

/* A run for chains of one heap; chain and heap must outlive it. cpu: stk__cpu_flags(), or 0 for the
 * scalar kernels. */
STK_MUST_CHECK stk_status stk__image_run_new(stk__heap *heap, const stk__image_chain *chain,
    uint32_t cpu, stk__image_run **run_out, stk_error *err);
void stk__image_run_free(stk__image_run *run);

/*
 * Begin a picture of width x height: draw its parameters and say which part is needed.
 *
 * dst is where the pixels go: exactly rows of the shape that stk__image_chain_shape() tells, in the
 * chain's layout and dtype, aligned to that dtype; kept until end. crop_out may be empty (height 0)
 * when only padding is wanted: then no rows are to be given.
 */
STK_MUST_CHECK stk_status stk__image_run_begin(stk__image_run *run, uint32_t width, uint32_t height,
    const stk_draw *draw, void *dst, stk_rect *crop_out, stk_error *err);

/* The next rows of the crop: RGBX, 4 bytes a pixel (see stk__row_sink; ctx is the run). */
stk_status stk__image_run_rows(
    void *ctx, const uint8_t *pixels, size_t pitch_bytes, uint32_t count, stk_error *err);

/* After the last row: finishes the output. */
STK_MUST_CHECK stk_status stk__image_run_end(stk__image_run *run, stk_error *err);

/* Turn RGBX pixels as EXIF orientation 1 to 8 says: src is as stored, dst as seen, its width and
 * height exchanged for 5 to 8. */
void stk__image_orient(const stk_image *src, const stk_image *dst, uint32_t orientation);

#endif
