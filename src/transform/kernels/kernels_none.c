/* No instruction set of this build has kernels of its own. */
#include "transform/kernels/kernels.h"

void stk__kernels_arch(stk__kernels *kernels, uint32_t cpu)
{
    (void)kernels;
    (void)cpu;
}
