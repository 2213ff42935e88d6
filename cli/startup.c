#include "cli/startup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/kernels.h"

/* Some ten microseconds: a step has hundreds of parallel regions, and to sleep and be woken for each took an eighth of its
 * time. */
#define SPINS "2000"

static void wait_politely(char **argv)
{
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1); /* by its own name, or ps would call it "exe" */
    if (n <= 0 || setenv("OMP_WAIT_POLICY", "passive", 0) != 0 || setenv("GOMP_SPINCOUNT", SPINS, 0) != 0) return;
    path[n] = '\0';
    execv(path, argv);
}

/* Both names are older than any OpenBLAS in use; where neither fits, it chooses. */
static void steer_openblas(void)
{
    const char *isa = kernels_get(0)->name;
    const char *core = !strcmp(isa, "avx512") ? "SkylakeX" : !strcmp(isa, "avx2") ? "Haswell" : NULL;
    if (core) setenv("OPENBLAS_CORETYPE", core, 0);
}

void startup(char **argv)
{
    wait_politely(argv);
    steer_openblas();
}
