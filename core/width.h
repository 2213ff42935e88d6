/* Offsets into texts and tensors are 64 bits wide, and the training text is mapped into memory as a whole. */
#ifndef FERRY_CORE_WIDTH_H
#define FERRY_CORE_WIDTH_H

#include <stdint.h>

#if UINTPTR_MAX < UINT64_MAX
#error "Ferry needs a 64-bit system: compile it for one (pointers here have fewer than 64 bits)"
#endif

#endif
