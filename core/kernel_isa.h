/* What a kernel file (core/kernel_*.c) includes: vectors, and the names its functions carry in this instruction set's build:
 * KERNEL_NAME(scale) is scale_avx2 where KERNEL_ISA is avx2. */
#ifndef FERRY_CORE_KERNEL_ISA_H
#define FERRY_CORE_KERNEL_ISA_H

#include "core/kernels.h"
#include "core/vec.h"

#define KERNEL_JOIN2(name, isa) name##_##isa
#define KERNEL_JOIN(name, isa) KERNEL_JOIN2(name, isa)
#define KERNEL_NAME(name) KERNEL_JOIN(name, KERNEL_ISA)

#define KERNEL(result, name, parameters) result KERNEL_NAME(name) parameters;
#include "core/kernels.def"
#undef KERNEL

#endif
