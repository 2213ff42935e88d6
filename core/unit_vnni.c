/* AVX512-VNNI: VPDPBUSD multiplies four unsigned by four signed bytes a lane and adds the products to a 32-bit sum, exactly:
 * four times the arithmetic of fp32. */
#if defined __AVX512VNNI__ && !defined FERRY_FP64
#include <immintrin.h>

#include "core/units.h"

#define BLOCK_NAME(name) int8_##name
#define BLOCK_CELL int32_t
#define BLOCK_SUM VecInt
#define BLOCK_SCALAR int32_t
#define BLOCK_DOT(sum, a, b) ((VecInt)_mm512_dpbusd_epi32((__m512i)(sum), (__m512i)(a), (__m512i)(b)))
#include "core/block.h"

static bool runs_here(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

static void int8(int m, int n, int cells, const int32_t *a, size_t a_row, size_t a_k, const int32_t *b, int32_t *c,
                 size_t c_stride, bool add)
{
    int8_block(m, n, cells, a, a_row, a_k, b, UNIT_PANEL, c, c_stride, NULL, add);
}

const Unit unit_avx512_vnni = {
    .name = "avx512-vnni", .precision = PRECISION_INT8, .runs_here = runs_here, .int8 = int8};
#else
typedef int unit_vnni_not_in_this_build;
#endif
