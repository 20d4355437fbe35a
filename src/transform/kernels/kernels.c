/* The table of kernels: scalar twins first, then what the architecture has faster. */
#include "transform/kernels/kernels.h"

void stk__kernels_init(stk__kernels *kernels, uint32_t cpu)
{
    *kernels = (stk__kernels){
        .filter = stk__filter_scalar,
        .round = stk__round_scalar,
        .horizontal = stk__horizontal_scalar,
        .vertical = stk__vertical_scalar,
        .expand = stk__expand_scalar,
        .pack = stk__pack_scalar,
        .pack_reversed = stk__pack_reversed_scalar,
        .planes = stk__planes_scalar,
        .values_f32 = stk__values_f32_scalar,
        .values_f16 = stk__values_f16_scalar,
        .values_bf16 = stk__values_bf16_scalar,
    };
    stk__kernels_arch(kernels, cpu);
}
