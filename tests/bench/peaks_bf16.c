/* The bf16 units of x86-64 fed from registers alone: what no product can exceed. Each function is compiled for its own
 * instructions and only called where the CPU has them. */
#include "tests/bench/peaks.h"

#if defined(__x86_64__) && (defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 11)

#include <cpuid.h>
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/kernels.h"

/* Bit `bit` of a register of CPUID's leaf 7 */
static bool cpu_has(unsigned subleaf, int reg, int bit)
{
    unsigned r[4];
    if (!__get_cpuid_count(7, subleaf, &r[0], &r[1], &r[2], &r[3])) return false;
    return r[reg] >> bit & 1;
}

enum { EAX, EBX, ECX, EDX };

bool peaks_bf16_avx512_available(void)
{
    return !strcmp(kernels_get(0)->name, "avx512") && cpu_has(0, EBX, 16) && cpu_has(1, EAX, 5);
}

/* 24 chains hide the latency; 16 sums of 2 products each. */
__attribute__((target("avx512f,avx512bf16"))) double peaks_bf16_avx512(long rounds)
{
    enum { CHAINS = 24 };
    __m512 sum[CHAINS];
    const __m512bh a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(1e-3f), _mm512_set1_ps(2e-3f));
    const __m512bh b = _mm512_cvtne2ps_pbh(_mm512_set1_ps(3e-3f), _mm512_set1_ps(-1e-3f));
#pragma GCC unroll 24
    for (int c = 0; c < CHAINS; c++) sum[c] = _mm512_set1_ps((float)c);
    for (long i = 0; i < rounds; i++) {
#pragma GCC unroll 24
        for (int c = 0; c < CHAINS; c++) {
            sum[c] = _mm512_dpbf16_ps(sum[c], a, b);
            __asm__ volatile("" : "+v"(sum[c])); /* in its register, and not hoisted */
        }
    }
    return 2.0 * 2 * 16 * CHAINS * (double)rounds;
}

/* Linux gives a process the tile registers when it asks: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA). */
bool peaks_bf16_amx_available(void)
{
#ifdef SYS_arch_prctl
    return cpu_has(0, EDX, 22) && cpu_has(0, EDX, 24) && syscall(SYS_arch_prctl, 0x1023, 18) == 0;
#else
    return false;
#endif
}

/* 2 x 2 tiles of 16 x 16 sums, each of 32 products */
__attribute__((target("amx-tile,amx-bf16"))) double peaks_bf16_amx(long rounds)
{
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    for (int t = 0; t < 8; t++) {
        config.row_bytes[t] = 64;
        config.rows[t] = 16;
    }
    uint16_t tile[16 * 32];
    for (int i = 0; i < 16 * 32; i++) tile[i] = (uint16_t)(0x3c00 + i); /* about 0.01 */
    _tile_loadconfig(&config);
    _tile_loadd(4, tile, 64);
    _tile_loadd(5, tile, 64);
    _tile_loadd(6, tile, 64);
    _tile_loadd(7, tile, 64);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (long i = 0; i < rounds; i++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_release();
    return 2.0 * 16 * 16 * 32 * 4 * (double)rounds;
}

#else

bool peaks_bf16_avx512_available(void)
{
    return false;
}

double peaks_bf16_avx512(long rounds)
{
    (void)rounds;
    return 0;
}

bool peaks_bf16_amx_available(void)
{
    return false;
}

double peaks_bf16_amx(long rounds)
{
    (void)rounds;
    return 0;
}

#endif
