/*
 * The laws of torchvision's transforms: what sizes they give and how their parameters are drawn.
 *
 * Draws are a pure function of (seed, epoch, sample, number of the transform in its chain, number
 * of the draw): docs/draws.md is the specification, with test vectors.
 */
#ifndef STK__IMAGE_LAWS_H
#define STK__IMAGE_LAWS_H

#include <stoker/transform.h>

/* The largest side of a picture. Codecs allow no more pixels than that, either. */
#define STK__SIDE_MAX ((uint32_t)1 << 28)

/* The draws of one transform for one sample, one after the other. */
typedef struct stk__draws {
    uint64_t seed, epoch, sample, transform;
    uint64_t next; /* number of the next draw; starts at 0 */
} stk__draws;

/* Uniform on [0, 1), and on the integers below `bound`. */
double stk__draws_unit(stk__draws *draws);
uint64_t stk__draws_below(stk__draws *draws, uint64_t bound);

/* What a window of crop and padding does: output position (x, y) is what (left + x, top + y) was,
 * and what lies outside is padded. */
typedef struct stk__window {
    int64_t left, top;
    uint32_t width, height;
} stk__window;

/* Is every field that the transform's kind has in its range? STK_EINVAL names the transform by
 * `index`, and the field. Says nothing of its place in a chain. */
STK_MUST_CHECK stk_status stk__law_check(
    const stk_transform *transform, size_t index, stk_error *err);

/* "RandomCrop"; "?" for what is no kind. Static storage. */
const char *stk__law_name(stk_transform_kind kind);

/* Size after the transform: in and out. STK_ESHAPE: too small for a crop, or the size that a resize
 * gives is outside 1 to 65,535. Never depends on draws. */
STK_MUST_CHECK stk_status stk__law_size(const stk_transform *transform, size_t index,
    uint32_t *width, uint32_t *height, stk_error *err);

/* Parameters for a picture of width x height that stk__law_size() accepted. */
stk__window stk__law_center_crop(const stk_transform *transform, uint32_t width, uint32_t height);
stk__window stk__law_random_crop(
    const stk_transform *transform, uint32_t width, uint32_t height, stk__draws *draws);
stk_rect stk__law_random_resized_crop(
    const stk_transform *transform, uint32_t width, uint32_t height, stk__draws *draws);
bool stk__law_flip(const stk_transform *transform, stk__draws *draws);

#endif
