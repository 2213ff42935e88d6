#include "run/machine.h"

#include <stdio.h>
#include <string.h>

#include "core/blas.h"
#include "core/kernels.h"
#include "core/matmul.h"
#include "core/threads.h"
#include "core/units.h"

bool machine_start(const Options *options, Error *error)
{
    kernels_init();
    Error missing = {0};
    const bool base = !strcmp(kernel.name, "base"), wanted = options->train_matmul == MATMUL_CHOICE_OPENBLAS;
    if (wanted || (base && options->train_matmul == MATMUL_CHOICE_AUTO)) {
        if (blas_load(&missing)) matmul_use(MATMUL_OPENBLAS);
        else if (wanted) return error_set(error, "train.matmul = openblas: %s", missing.text);
        else warn("%s; going on with slower products of our own", missing.text);
    }
    threads_set((int)options->train_threads);
    return true;
}

Precision machine_precision(Precision wanted, const char *option)
{
    static const char *const names[] = {"fp32", "bf16", "int8"};
    if (matmul_can(wanted)) return wanted;
    warn("%s = %s: this processor has no instructions for it (AVX512-BF16 or AMX); computing in fp32", option, names[wanted]);
    return PRECISION_FP32;
}

const char *machine_kernel(Precision precision)
{
    static char name[64];
    const Unit *unit = unit_for(precision);
    if (!unit) return matmul_name();
    snprintf(name, sizeof name, "%s (%s)", unit->name, kernel.name);
    return name;
}
