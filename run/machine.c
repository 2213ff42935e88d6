#include "run/machine.h"

#include <stdlib.h>
#include <string.h>

#include "core/threads.h"
#include "system/control_groups.h"

/* NULL for what isn't set, or set to nothing */
static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* For train.threads = 0: what OMP_NUM_THREADS says; else OpenMP has all processors that the process may run on, of which a
 * quota may allow only a part of the time. More threads than that wait for each other in turn, and are slower than fewer. */
static int automatic_threads(void)
{
    const int processors = control_groups_processors("");
    return !environment("OMP_NUM_THREADS") && processors < threads_count() ? processors : 0;
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
    threads_set(options->train_threads > 0 ? (int)options->train_threads : automatic_threads());
    return true;
}

Precision machine_precision(const Compute *compute, Precision wanted, const char *option)
{
    static const char *const names[] = {"fp32", "bf16", "int8"};
    if (matmul_can(compute, wanted)) return wanted;
    warn("%s = %s: this processor has no instructions for it (AVX512-BF16 or AMX); computing in fp32", option, names[wanted]);
    return PRECISION_FP32;
}
