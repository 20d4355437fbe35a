/* The faster kernels of x86, where the processor has their instructions. */
#include "transform/kernels/kernels_x86.h"

#include "os/cpu.h"

void stk__kernels_arch(stk__kernels *kernels, uint32_t cpu)
{
    if ((cpu & STK__CPU_AVX2) != 0)
        *kernels = (stk__kernels){
            .filter = stk__filter_avx2,
            .round = stk__round_avx2,
            .horizontal = stk__horizontal_avx2,
            .vertical = stk__vertical_avx2,
            .expand = stk__expand_avx2,
            .pack = stk__pack_avx2,
            .pack_reversed = stk__pack_reversed_avx2,
            .planes = stk__planes_avx2,
            .values_f32 = stk__values_f32_avx2,
            .values_f16 = stk__values_f16_avx2,
            .values_bf16 = stk__values_bf16_avx2,
        };
    if ((cpu & STK__CPU_AVX2) != 0 && (cpu & STK__CPU_AVX512) != 0) {
        kernels->horizontal = stk__horizontal_avx512;
        kernels->vertical = stk__vertical_avx512;
        kernels->values_f32 = stk__values_f32_avx512;
        kernels->values_f16 = stk__values_f16_avx512;
        kernels->values_bf16 = stk__values_bf16_avx512;
    }
}
