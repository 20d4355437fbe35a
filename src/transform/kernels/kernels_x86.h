/* Kernels for instruction sets of x86: each file of them is built with the flags of its own set. */
#ifndef STK__KERNELS_X86_H
#define STK__KERNELS_X86_H

#include "transform/kernels/kernels.h"

stk__filter_fn stk__filter_avx2;
stk__round_fn stk__round_avx2;
stk__horizontal_fn stk__horizontal_avx2, stk__horizontal_avx512;
stk__vertical_fn stk__vertical_avx2, stk__vertical_avx512;
stk__convert_fn stk__expand_avx2, stk__pack_avx2, stk__pack_reversed_avx2;
stk__planes_fn stk__planes_avx2;
stk__values_fn stk__values_f32_avx2, stk__values_f16_avx2, stk__values_bf16_avx2;
stk__values_fn stk__values_f32_avx512, stk__values_f16_avx512, stk__values_bf16_avx512;

#endif
