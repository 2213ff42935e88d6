#include "run/machine.h"

#include <stdlib.h>
#include <string.h>

#include "core/threads.h"

/* NULL for what isn't set, or set to nothing */
static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool machine_start(const Options *options, Compute *compute, Error *error)
{
    const char *isa = environment("FERRY_ISA");
    if (!compute_choose(compute, isa, environment("FERRY_UNIT")))
        warn("FERRY_ISA=%s: no such instruction set here; using %s", isa, compute->kernels->name);
    Error missing = {0};
    const bool base = !strcmp(compute->kernels->name, "base"), wanted = options->train_matmul == MATMUL_CHOICE_OPENBLAS;
    if (wanted || (base && options->train_matmul == MATMUL_CHOICE_AUTO)) {
        compute->blas = blas_load(&missing);
        if (!compute->blas && wanted) return error_set(error, "train.matmul = openblas: %s", missing.text);
        if (!compute->blas) warn("%s; going on with slower products of our own", missing.text);
    }
    threads_set((int)options->train_threads);
    return true;
}

Precision machine_precision(const Compute *compute, Precision wanted, const char *option)
{
    static const char *const names[] = {"fp32", "bf16", "int8"};
    if (matmul_can(compute, wanted)) return wanted;
    warn("%s = %s: this processor has no instructions for it (AVX512-BF16 or AMX); computing in fp32", option, names[wanted]);
    return PRECISION_FP32;
}
