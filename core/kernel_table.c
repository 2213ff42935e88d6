/* The table of this instruction set's kernels. */
#include "core/kernel_isa.h"
#include "core/units.h"

extern const Kernels KERNEL_NAME(kernels);

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

#ifndef FERRY_FP64
static bool always(void)
{
    return true;
}

static const Unit plain_int8 = {
    .name = "plain-int8", .precision = PRECISION_INT8, .runs_here = always, .int8 = KERNEL_NAME(int8_block)};
#endif

const Kernels KERNEL_NAME(kernels) = {
    .name = TEXT(KERNEL_ISA),
    .lanes = LANES,
    .panel = 2 * LANES,
#ifndef FERRY_FP64
    .plain_int8 = &plain_int8,
#endif
#define KERNEL(result, name, parameters) .name = KERNEL_NAME(name),
#include "core/kernels.def"
};
