#include "core/units.h"

#include <stdlib.h>
#include <string.h>

#include "core/kernels.h"

#ifdef FERRY_FP64
const Unit *unit_at(int index)
{
    (void)index;
    return NULL;
}
#else
#ifdef __x86_64__
extern const Unit unit_avx512_bf16, unit_avx512_vnni;
#endif

static bool always(void)
{
    return true;
}

static void plain_int8(int m, int n, int cells, const int32_t *a, size_t a_row, size_t a_k, const int32_t *b, int32_t *c,
                       size_t c_stride, bool add)
{
    kernel.int8_block(m, n, cells, a, a_row, a_k, b, UNIT_PANEL, c, c_stride, add);
}

static const Unit plain = {.name = "plain-int8", .precision = PRECISION_INT8, .runs_here = always, .int8 = plain_int8};

static const Unit *const units[] = {
#ifdef __x86_64__
    &unit_avx512_bf16, &unit_avx512_vnni,
#endif
    &plain,
};

const Unit *unit_at(int index)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i]->runs_here() && index-- == 0) return units[i];
    return NULL;
}
#endif

const Unit *unit_for(Precision precision)
{
    const char *wanted = getenv("FERRY_UNIT");
    const Unit *best = NULL, *unit;
    for (int i = 0; (unit = unit_at(i)); i++)
        if (unit->precision == precision && (!best || (wanted && !strcmp(unit->name, wanted)))) best = unit;
    return best;
}
