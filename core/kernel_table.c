/* The table of this instruction set's kernels. */
#include "core/kernel.h"

extern const Kernels KERNEL_NAME(kernels);

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

const Kernels KERNEL_NAME(kernels) = {
    .name = TEXT(KERNEL_ISA),
    .lanes = LANES,
    .panel = 2 * LANES,
    .block_rows = VEC_BYTES == 64 ? 12 : VEC_BYTES == 32 ? 6 : 4,
#define KERNEL(result, name, parameters) .name = KERNEL_NAME(name),
#include "core/kernels.def"
};
