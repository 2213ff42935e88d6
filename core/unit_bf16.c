/* AVX512-BF16: VDPBF16PS does two multiply-adds a lane, so twice the arithmetic of fp32, with the same loads. The operands are
 * half as large; packing them costs a conversion an element. Intrinsics, since no plain C means these instructions. */
#if defined __AVX512BF16__ && !defined FERRY_FP64
#include <immintrin.h>

#include "core/units.h"

#define BLOCK_NAME(name) bf16_##name
#define BLOCK_CELL int32_t
#define BLOCK_SUM Vec
#define BLOCK_SCALAR float
#define BLOCK_DOT(sum, a, b) ((Vec)_mm512_dpbf16_ps((__m512)(sum), (__m512bh)(a), (__m512bh)(b)))
#include "core/block.h"

extern const Bf16Packing avx512_bf16_packing;

static bool runs_here(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

static void bf16(int m, int n, int cells, const int32_t *a, size_t a_row, size_t a_k, const int32_t *b, float *c,
                 size_t c_stride, const float *bias, bool add)
{
    bf16_block(m, n, cells, a, a_row, a_k, b, UNIT_PANEL, c, c_stride, bias, add);
}

/* ---- packing ---- */

/* n elements from p (all 16 if n is more, none if it is less than 1), zeros behind */
VEC_INLINE __m512 load_up_to(const float *p, int n)
{
    return n >= 16 ? _mm512_loadu_ps(p) : n <= 0 ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}

/* 32 neighbours of a row as 16 cells */
VEC_INLINE __m512i row_cells(const float *p, int n)
{
    return (__m512i)_mm512_cvtne2ps_pbh(load_up_to(p + 16, n - 16), load_up_to(p, n));
}

static void rows(int m, int k, const float *a, size_t a_stride, int32_t *cells, size_t stride)
{
    for (int i = 0; i < m; i++)
        for (int l = 0; l < k; l += 32)
            _mm512_storeu_si512(cells + (size_t)i * stride + l / 2, row_cells(a + (size_t)i * a_stride + l, k - l));
}

static void round_row(int k, float *row)
{
    for (int l = 0; l < k; l += 32) {
        const int left = (k - l + 1) / 2; /* cells; the place may end with the last */
        _mm512_mask_storeu_epi32((int32_t *)row + l / 2, (__mmask16)(left >= 16 ? 0xffff : (1 << left) - 1), row_cells(row + l, k - l));
    }
}

static void pairs(int k, int n, int width, const float *b, size_t b_stride, int32_t *cells)
{
    static const int16_t interleave[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                           8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __m512i order = _mm512_loadu_si512(interleave);
    for (int l = 0; l < k; l += 2) {
        const float *even = b + (size_t)l * b_stride, *odd = even + b_stride;
        for (int j = 0; j < width; j += 16) {
            __m512 high = l + 1 < k ? load_up_to(odd + j, n - j) : _mm512_setzero_ps();
            __m512i pair = (__m512i)_mm512_cvtne2ps_pbh(high, load_up_to(even + j, n - j));
            _mm512_storeu_si512(cells + (size_t)(l / 2) * (size_t)width + j, _mm512_permutexvar_epi16(order, pair));
        }
    }
}

static void pairs_of_rows(int k, int n, int width, const int32_t *b, size_t b_stride, int32_t *cells)
{
    static const int16_t low[32] = {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                    8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
    const __m512i first = _mm512_loadu_si512(low), second = _mm512_add_epi16(first, _mm512_set1_epi16(16));
    for (int l = 0; l < k; l += 2)
        for (int j = 0; j < width; j += 32) {
            const int32_t *row = b + (size_t)l * b_stride + j / 2;
            const int whole = n - j < 0 ? 0 : n - j > 32 ? 32 : n - j;
            const __mmask32 mask = whole == 32 ? 0xffffffffu : (1u << whole) - 1;
            __m512i even = _mm512_maskz_loadu_epi16(mask, row), odd = _mm512_setzero_si512();
            if (l + 1 < k) odd = _mm512_maskz_loadu_epi16(mask, row + b_stride);
            int32_t *out = cells + (size_t)(l / 2) * (size_t)width + j;
            _mm512_storeu_si512(out, _mm512_permutex2var_epi16(even, first, odd));
            if (j + 16 < width) _mm512_storeu_si512(out + 16, _mm512_permutex2var_epi16(even, second, odd));
        }
}

static void transposed(int k, int n, int width, const float *b, size_t b_stride, int32_t *cells)
{
    for (int j0 = 0; j0 < width; j0 += LANES)
        for (int l = 0; l < k; l += 2 * LANES) {
            Vec tile[LANES];
            for (int j = 0; j < LANES; j++)
                tile[j] = (Vec)(j0 + j < n ? row_cells(b + (size_t)(j0 + j) * b_stride + l, k - l) : _mm512_setzero_si512());
            vec_transpose(tile);
            for (int i = 0; i < LANES && l + 2 * i < k; i++)
                memcpy(cells + (size_t)(l / 2 + i) * (size_t)width + j0, &tile[i], sizeof tile[i]);
        }
}

static void pairs_to_rows(int k, int m, int width, const int32_t *from, int32_t *cells, size_t stride)
{
    const int n_cells = (k + 1) / 2;
    for (int i0 = 0; i0 < m; i0 += LANES)
        for (int l0 = 0; l0 < n_cells; l0 += LANES) {
            Vec tile[LANES];
            for (int l = 0; l < LANES; l++) {
                tile[l] = (Vec){0};
                if (l0 + l < n_cells) memcpy(&tile[l], from + (size_t)(l0 + l) * (size_t)width + i0, sizeof tile[l]);
            }
            vec_transpose(tile);
            for (int i = 0; i < LANES && i0 + i < m; i++) memcpy(cells + (size_t)(i0 + i) * stride + l0, &tile[i], sizeof tile[i]);
        }
}

const Unit unit_avx512_bf16 = {.name = "avx512-bf16", .precision = PRECISION_BF16, .runs_here = runs_here, .bf16 = bf16};
const Bf16Packing avx512_bf16_packing = {.rows = rows, .round_row = round_row, .pairs = pairs, .pairs_of_rows = pairs_of_rows,
                                         .transposed = transposed, .pairs_to_rows = pairs_to_rows};
#else
typedef int unit_bf16_not_in_this_build; /* ISO C wants a declaration in each file */
#endif
