#include "train/machine.h"

#include <string.h>

#include "core/blas.h"
#include "core/kernels.h"
#include "core/matmul.h"
#include "core/threads.h"

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

const char *machine_kernel(void)
{
    return matmul_name();
}
