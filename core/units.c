#include "core/units.h"

#include <string.h>

#include "core/kernels.h"

#ifdef FERRY_FP64
const Unit *units_get(const Kernels *kernels, int index)
{
    (void)kernels;
    (void)index;
    return NULL;
}

const Bf16Packing *units_packing(void)
{
    return NULL;
}

bool unit_check(const Unit *unit)
{
    (void)unit;
    return false;
}
#else
#ifdef __x86_64__
extern const Bf16Packing avx512_bf16_packing;
#endif

const Unit *units_get(const Kernels *kernels, int index)
{
    const Unit *const units[] = {
#ifdef __x86_64__
        &unit_amx_bf16, &unit_avx512_bf16, &unit_amx_int8, &unit_avx512_vnni,
#endif
        kernels->plain_int8,
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i]->runs_here() && index-- == 0) return units[i];
    return NULL;
}

const Bf16Packing *units_packing(void)
{
#ifdef __x86_64__
    if (unit_avx512_bf16.runs_here() && unit_check(&unit_avx512_bf16)) return &avx512_bf16_packing;
#endif
    return NULL;
}

/* ---- a unit must multiply right before it is used ---- */

enum { CHECK_M = 45, CHECK_N = 21, CHECK_CELLS = 32, CHECK_ROWS = 64 };

/* Element e of a cell as the unit sees it, small enough for every sum to be exact */
static int small_number(int i, int l, int e)
{
    return (7 * i + 5 * l + 3 * e) % 9;
}

static int32_t cell(Precision precision, int i, int l)
{
    uint32_t bits = 0;
    for (int e = 0; e < (precision == PRECISION_BF16 ? 2 : 4); e++) {
        const float x = (float)small_number(i, l, e);
        uint32_t upper;
        memcpy(&upper, &x, sizeof upper);
        bits |= precision == PRECISION_BF16 ? upper >> 16 << 16 * e : (uint32_t)small_number(i, l, e) << 8 * e;
    }
    return (int32_t)bits;
}

bool unit_check(const Unit *unit)
{
    int32_t a[CHECK_ROWS * CHECK_CELLS] __attribute__((aligned(64))) = {0};
    int32_t b[UNIT_PANEL * CHECK_CELLS] __attribute__((aligned(64))) = {0};
    union {
        float real[CHECK_M][CHECK_N];
        int32_t exact[CHECK_M][CHECK_N];
    } c;
    for (int l = 0; l < CHECK_CELLS; l++) {
        for (int i = 0; i < CHECK_M; i++) a[i * CHECK_CELLS + l] = cell(unit->precision, i, l);
        for (int j = 0; j < CHECK_N; j++) b[l * UNIT_PANEL + j] = cell(unit->precision, j + 100, l);
    }
    if (unit->bf16) unit->bf16(CHECK_M, CHECK_N, CHECK_CELLS, a, CHECK_CELLS, 1, b, c.real[0], CHECK_N, NULL, false);
    else unit->int8(CHECK_M, CHECK_N, CHECK_CELLS, a, CHECK_CELLS, 1, b, c.exact[0], CHECK_N, false);
    bool good = true;
    for (int i = 0; i < CHECK_M; i++)
        for (int j = 0; j < CHECK_N; j++) {
            int want = 0;
            for (int l = 0; l < CHECK_CELLS; l++)
                for (int e = 0; e < (unit->bf16 ? 2 : 4); e++) want += small_number(i, l, e) * small_number(j + 100, l, e);
            good = good && (unit->bf16 ? c.real[i][j] == (float)want : c.exact[i][j] == want);
        }
    return good;
}
#endif
