/**
 * stoker/transform.h: what happens to a picture between its decoder and its place in the batch.
 *
 * A *chain* is a list of transforms applied in order, as torchvision's v2.Compose would. Parameters
 * are drawn for each sample by the laws that torchvision uses, from Philox4x64-10 with key
 * (seed, epoch) and counter (sample, index of the transform in the chain, draw): docs/draws.md.
 */
#ifndef STOKER_TRANSFORM_H
#define STOKER_TRANSFORM_H

#include <stoker/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stk_transform_kind {
    STK_RESIZE = 1,      /* height, width (width 0: height is the short side), max_size */
    STK_CENTER_CROP = 2, /* height, width */
    STK_RANDOM_CROP = 3, /* height, width, padding, pad_if_needed, fill */
    STK_RANDOM_RESIZED_CROP = 4 /* height, width, scale, ratio */,
    STK_RANDOM_HORIZONTAL_FLIP = 5, /* probability */
    STK_NORMALIZE = 6,              /* mean, std; last in a chain, float output only */
    STK_CROP = 7,                   /* top, left, height, width: fixed */
    STK_HORIZONTAL_FLIP = 8,        /* always */
} stk_transform_kind;

typedef enum stk_interpolation {
    STK_BILINEAR = 0, /* triangle */
    STK_BICUBIC = 1,  /* Keys, a = -0.5 when antialiased, -0.75 when not */
    STK_NEAREST = 2,  /* trunc(i * scale) */
} stk_interpolation;

typedef enum stk_padding_mode {
    STK_PAD_CONSTANT = 0,
    STK_PAD_EDGE = 1,
    STK_PAD_REFLECT = 2,
    STK_PAD_SYMMETRIC = 3,
} stk_padding_mode;

/** One transform. Fields that its kind does not list are ignored. Start from the initialiser. */
typedef struct stk_transform {
    stk_transform_kind kind;
    uint32_t height, width; /* pixels of the output, 1 to 65,535 */
    uint32_t top, left;     /* STK_CROP: pixels */
    uint32_t max_size;      /* STK_RESIZE with width 0: the long side at most; 0: no bound */
    stk_interpolation interpolation;
    stk_padding_mode padding_mode;
    bool antialias;      /* true; bilinear and bicubic only */
    bool pad_if_needed;  /* STK_RANDOM_CROP: false */
    uint32_t padding[4]; /* left, top, right, bottom, pixels; 0 */
    uint8_t fill[4];     /* RGB of constant padding; 0. The fourth is not used */
    double scale[2];     /* share of the area, 0 < low <= high; 0.08, 1 */
    double ratio[2];     /* width by height, 0 < low <= high; 3/4, 4/3 */
    double probability;  /* 0 to 1; 0.5 */
    float mean[3];       /* of values in 0 to 1; 0 */
    float std[3];        /* not 0; 1 */
} stk_transform;

#define STK_TRANSFORM_INIT                                                               \
    {(stk_transform_kind)0, 0, 0, 0, 0, 0, STK_BILINEAR, STK_PAD_CONSTANT, true, false,  \
        {0, 0, 0, 0}, {0, 0, 0, 0}, {0.08, 1.0}, {3.0 / 4.0, 4.0 / 3.0}, 0.5, {0, 0, 0}, \
        {1, 1, 1}}

/** Which draws a call uses: those of sample `sample` in epoch `epoch` of a loader with `seed`. */
typedef struct stk_draw {
    uint64_t seed, epoch, sample;
} stk_draw;

/**
 * Shape of what a chain makes of a picture of width x height.
 *
 * It does not depend on draws. @return STK_OK, STK_EINVAL (a transform is outside its range: the
 * text names its index and the field), STK_ESHAPE (the picture is too small for a crop).
 */
STK_API STK_MUST_CHECK stk_status stk_transform_shape(const stk_transform *chain, size_t count,
    uint32_t width, uint32_t height, uint32_t *width_out, uint32_t *height_out, stk_error *err);

/**
 * Apply a chain to RGB pixels in memory.
 *
 * @param src     RGB, 3 bytes a pixel. Only read.
 * @param draw    Source of random parameters; NULL: seed, epoch and sample 0.
 * @param layout  Of the output.
 * @param dtype   Of the output: STK_U8, or STK_F16, STK_BF16, STK_F32: values times 1/255 in
 *                float32, then the chain's STK_NORMALIZE (subtract, divide) if it ends in one, then
 *                rounded to nearest even to the shorter types.
 * @param dst     Exactly height * width * 3 elements of the shape that stk_transform_shape() tells.
 *
 * @return as stk_transform_shape(), STK_ESHAPE when dst has another size, STK_ENOMEM.
 * Exactness: resizing equals torchvision v2 on uint8 CPU tensors bit for bit (int16 weights,
 * horizontal pass first), and is the same on every machine and instruction set.
 */
STK_API STK_MUST_CHECK stk_status stk_image_transform(const stk_image *src,
    const stk_transform *chain, size_t count, const stk_draw *draw, stk_layout layout,
    stk_dtype dtype, stk_span dst, stk_error *err);

#ifdef __cplusplus
}
#endif

#endif
