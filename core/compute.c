#include "core/compute.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"

/* Of the units that run and multiply right, the best for its precision, or the one that is wanted. */
static void choose_units(Compute *compute, const char *wanted, bool warns)
{
    const Unit *unit;
    for (int i = 0; (unit = units_get(compute->kernels, i)); i++) {
        if (!unit_check(unit)) {
            if (warns) warn("the unit %s computes wrong products on this processor; doing without", unit->name);
            continue;
        }
        const Unit **place = &compute->unit[unit->precision];
        if (!*place || (wanted && !strcmp(unit->name, wanted))) *place = unit;
    }
    compute->packing = compute->unit[PRECISION_BF16] ? units_packing() : NULL;
    if (!compute->packing) compute->unit[PRECISION_BF16] = NULL;
}

static Compute best;

static void find_best(void) /* allocates nothing: lack of memory would leave pthread_once in its midst */
{
    best.kernels = kernels_get(0);
    choose_units(&best, NULL, false);
}

Compute compute_best(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_best);
    return best;
}

bool compute_choose(Compute *compute, const char *isa, const char *unit)
{
    const Kernels *named = isa ? kernels_named(isa) : kernels_get(0);
    *compute = (Compute){.kernels = named ? named : kernels_get(0)};
    choose_units(compute, unit, true);
    return named != NULL;
}

char *compute_name(const Compute *compute, Precision precision, char name[COMPUTE_NAME])
{
    const char *isa = compute->kernels->name;
    if (compute->unit[precision]) snprintf(name, COMPUTE_NAME, "%s (%s)", compute->unit[precision]->name, isa);
    else if (compute->blas) snprintf(name, COMPUTE_NAME, "openblas %s", compute->blas->name);
    else snprintf(name, COMPUTE_NAME, "packed %s", isa);
    return name;
}
