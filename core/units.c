#include "core/units.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/kernels.h"
#include "core/memory.h"

static const Unit *chosen[PRECISION_INT8 + 1];

#ifdef FERRY_FP64
const Unit *unit_at(int index)
{
    (void)index;
    return NULL;
}

const Bf16Packing *unit_packing(void)
{
    return NULL;
}
#else
#ifdef __x86_64__
extern const Bf16Packing avx512_bf16_packing;
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
    &unit_amx_bf16, &unit_avx512_bf16, &unit_amx_int8, &unit_avx512_vnni,
#endif
    &plain,
};
enum { N_UNITS = sizeof units / sizeof *units };

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
    int32_t *a = mem_zalloc((size_t)CHECK_ROWS * CHECK_CELLS * sizeof *a), *b = mem_zalloc((size_t)UNIT_PANEL * CHECK_CELLS * sizeof *b);
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
    mem_free(a);
    mem_free(b);
    return good;
}

static bool works(size_t i)
{
    static enum { UNKNOWN, GOOD, BAD } known[N_UNITS];
    if (known[i] == UNKNOWN) {
        const bool runs = units[i]->runs_here(), good = runs && unit_check(units[i]);
        if (runs && !good) warn("the unit %s computes wrong products on this processor; doing without", units[i]->name);
        known[i] = good ? GOOD : BAD;
    }
    return known[i] == GOOD;
}

const Unit *unit_at(int index)
{
    for (size_t i = 0; i < N_UNITS; i++)
        if (works(i) && index-- == 0) return units[i];
    return NULL;
}

const Bf16Packing *unit_packing(void)
{
#ifdef __x86_64__
    for (size_t i = 0; i < N_UNITS; i++) /* asked for every row that is rounded, so by what is known already */
        if (units[i] == &unit_avx512_bf16) return works(i) ? &avx512_bf16_packing : NULL;
#endif
    return NULL;
}
#endif

void unit_use(const Unit *unit)
{
    chosen[unit->precision] = unit;
}

const Unit *unit_for(Precision precision)
{
    if (chosen[precision]) return chosen[precision];
    const char *wanted = getenv("FERRY_UNIT");
    const Unit *best = NULL, *unit;
    for (int i = 0; (unit = unit_at(i)); i++)
        if (unit->precision == precision && (!best || (wanted && !strcmp(unit->name, wanted)))) best = unit;
    return best;
}
