/* Low-precision multiply-add units: instructions that multiply 2 bf16 or 4 bytes a lane and add them up (AMX, AVX512-BF16,
 * AVX512-VNNI). They work on *cells*: 32 bits with neighbours along k, 2 bf16 or 4 bytes, zeros behind the last. core/unit_*.c
 * define them, one file an instruction set; the build of the tests in fp64 has none. */
#ifndef FERRY_CORE_UNITS_H
#define FERRY_CORE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/precision.h"

/* Columns of a packed panel of B: cell (l, j) of a panel lies at l * UNIT_PANEL + j. */
enum { UNIT_PANEL = 32 };

struct Kernels;

typedef struct Unit {
    const char *name; /* "avx512-bf16" */
    Precision precision;
    bool rows_only; /* A must lie in rows (a_k = 1) in memory for whole tiles of 32 rows x 16 cells, the cells behind the last
                     * zero; `cells` is a multiple of 16 */
    bool (*runs_here)(void);

    /* C[m, n] = start + A B over `cells` cells, n <= UNIT_PANEL; cell (i, l) of A is a[i * a_row + l * a_k], b one panel.
     * bf16: C is float, start the row bias[n] if not NULL, else C itself if `add`, else 0; each element one chain in
     * increasing l, so its bits depend neither on m and n nor on its place. */
    void (*bf16)(int m, int n, int cells, const int32_t *a, size_t a_row, size_t a_k, const int32_t *b, float *c,
                 size_t c_stride, const float *bias, bool add);
    /* int8: C is int32_t, start C itself if `add`, else 0; A's bytes are unsigned, B's signed; exact. */
    void (*int8)(int m, int n, int cells, const int32_t *a, size_t a_row, size_t a_k, const int32_t *b, int32_t *c,
                 size_t c_stride, bool add);
} Unit;

/* fp32 to bf16 cells: for every bf16 unit the same, by AVX512-BF16.
 *   rows           A[m, k] as cells[m][stride], stride a multiple of 16; each row ends with zeros to a multiple of 16 cells
 *   round_row      a row to ceil(k / 2) cells where it lies
 *   pairs          B[k, n] as cells[ceil(k / 2)][width], width a multiple of 16; columns from n on become 0
 *   pairs_of_rows  the same of rows that are bf16 already, each n elements, row l at b + l * b_stride (counted in cells)
 *   transposed     the same of B^T, B being [n, k] in memory
 *   pairs_to_rows  pairs[ceil(k / 2)][width] as rows: cells[m][stride], ending with zeros like those of `rows` */
typedef struct Bf16Packing {
    void (*rows)(int m, int k, const float *a, size_t a_stride, int32_t *cells, size_t stride);
    void (*round_row)(int k, float *row);
    void (*pairs)(int k, int n, int width, const float *b, size_t b_stride, int32_t *cells);
    void (*pairs_of_rows)(int k, int n, int width, const int32_t *b, size_t b_stride, int32_t *cells);
    void (*transposed)(int k, int n, int width, const float *b, size_t b_stride, int32_t *cells);
    void (*pairs_to_rows)(int k, int m, int width, const int32_t *pairs, int32_t *cells, size_t stride);
} Bf16Packing;

/* NULL where no unit for bf16 runs. */
const Bf16Packing *units_packing(void);

/* All that run here, those of one precision best first; NULL after the last. The last one is int8 by the kernels themselves, so
 * that precision always has one (but in fp64). */
const Unit *units_get(const struct Kernels *kernels, int index);
/* Whether it multiplies right: a product of small integers, checked by a plain loop. */
bool unit_check(const Unit *unit);

#ifdef __x86_64__
extern const Unit unit_amx_bf16, unit_avx512_bf16, unit_amx_int8, unit_avx512_vnni;
#endif

#endif
