/* What computes: an instruction set, units of low precision, OpenBLAS or our own products. A choice that whoever computes holds
 * and passes down (the tape, the model); nothing here remembers one. What it points to is constant and lives as long as the
 * process, so a choice may be copied. */
#ifndef FERRY_CORE_COMPUTE_H
#define FERRY_CORE_COMPUTE_H

#include "core/blas.h"
#include "core/kernels.h"
#include "core/precision.h"
#include "core/units.h"

typedef struct Compute {
    const Kernels *kernels;
    const Blas *blas;                  /* what multiplies in training, in fp32; NULL: our packed kernel */
    const Unit *unit[N_PRECISIONS];    /* what multiplies in bf16, in int8; NULL: nothing here does */
    const struct Bf16Packing *packing; /* rounds for unit[PRECISION_BF16]; NULL where that is */
} Compute;

/* The best that this processor runs, with our packed kernel. Found out at the first call; the same in all threads. */
Compute compute_best(void);

/* The same with the kernels called `isa` and, for its precision, the unit called `unit`, where they run here (NULL: the best).
 * Warns of units that compute wrong products; those are left out. False, with the best kernels, if there are none called `isa`. */
bool compute_choose(Compute *compute, const char *isa, const char *unit);

/* What multiplies in this precision, for checkpoints and people: "packed avx512", "openblas SkylakeX",
 * "avx512-bf16 (avx512)". Returns `name`. */
enum { COMPUTE_NAME = 64 };
char *compute_name(const Compute *compute, Precision precision, char name[COMPUTE_NAME]);

#endif
