/* What a chain is made of, for the files that plan and run it. */
#ifndef STK__CHAIN_INT_H
#define STK__CHAIN_INT_H

#include "transform/image_chain.h"
#include "transform/kernels/kernels.h"

struct stk__image_chain {
    stk__heap *heap; /* not ours */
    stk_transform *transforms;
    size_t count;    /* of transforms */
    size_t geometry; /* of them, those that move pixels: all but Normalize at the end */
    size_t stages;   /* resamplings one after the other, at most, and at least 1 */
    stk_layout layout;
    stk_dtype dtype;
    stk__values packed;    /* of float outputs, channels last */
    stk__values planes[3]; /* of float outputs, channels first */
    bool fixed;
    uint32_t fixed_width, fixed_height; /* if fixed */
};

#endif
