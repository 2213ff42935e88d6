/* AMX: TDPBF16PS and TDPBUSD multiply a tile of 16 rows x 16 cells by one of 16 x 16 into 16 x 16 sums, 16 times the arithmetic
 * of AVX-512 in fp32 (bf16). Blocks of 2 x 2 tiles of C need two loads of A and two of B for four products. What bounds it:
 * loading operands (8 bytes a cycle would do for bf16), so both lie packed and in the first two levels of cache.
 *
 * tests/unit_emulated.c compiles this file with the tile instructions in plain C, so that the tests run it anywhere. */
#if ((defined __AMX_BF16__ || defined __AMXBF16__) && !defined FERRY_FP64) || defined AMX_EMULATED /* gcc's, clang's */
#include <string.h>

#include "core/units.h"

#ifdef AMX_EMULATED /* then what the else part defines is there already */
#define UNIT_NAME(name) unit_emulated_##name
#else
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#define UNIT_NAME(name) unit_##name
#define TILE_CONFIGURE _tile_loadconfig
#define TILE_ZERO _tile_zero
#define TILE_LOAD _tile_loadd
#define TILE_STORE _tile_stored
#define TILE_DOT_BF16 _tile_dpbf16ps
#define TILE_DOT_INT8 _tile_dpbusd

/* Linux lets a process use the tiles once it has asked. */
static bool permitted(void)
{
    enum { ARCH_REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQUEST_PERMISSION, TILE_DATA) == 0;
}

static bool has(unsigned bit)
{
    unsigned a, b, c, d;
    const unsigned tile = 1u << 24;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & tile) && (d & bit) && permitted();
}

static bool bf16_runs_here(void)
{
    return has(1u << 22) && unit_avx512_bf16.runs_here();
}

static bool int8_runs_here(void)
{
    return has(1u << 25);
}
#endif

/* Not every compiler's intrinsics say which memory they read: what is at p must be there now. */
#define MEMORY_WRITTEN(p) __asm__ volatile("" : : "r"(p) : "memory")

enum { TILE = 16, BLOCK = 2 * TILE, ROW_BYTES = TILE * sizeof(int32_t) };

/* All eight tiles 16 rows of 64 bytes. A thread's configuration stays until it ends. */
static void configure(void)
{
    static _Thread_local bool done;
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    if (done) return;
    for (int i = 0; i < 8; i++) config.row_bytes[i] = ROW_BYTES, config.rows[i] = TILE;
    MEMORY_WRITTEN(&config);
    TILE_CONFIGURE(&config);
    done = true;
}

/* C[32, 32] in tiles 0 .. 3 from memory (a stride of 0 repeats one row), or zero; the products; and back. Elements are 32 bits.
 * Tiles are numbered by literals: the numbers are part of the instructions. */
static void load(const char *c, size_t stride)
{
    if (!c) {
        TILE_ZERO(0);
        TILE_ZERO(1);
        TILE_ZERO(2);
        TILE_ZERO(3);
        return;
    }
    TILE_LOAD(0, c, stride);
    TILE_LOAD(1, c + ROW_BYTES, stride);
    TILE_LOAD(2, c + TILE * stride, stride);
    TILE_LOAD(3, c + TILE * stride + ROW_BYTES, stride);
}

static void store(char *c, size_t stride)
{
    TILE_STORE(0, c, stride);
    TILE_STORE(1, c + ROW_BYTES, stride);
    TILE_STORE(2, c + TILE * stride, stride);
    TILE_STORE(3, c + TILE * stride + ROW_BYTES, stride);
}

#define MULTIPLY(DOT)                                                                                                       \
    for (int l = 0; l < cells; l += TILE, a += TILE, b += TILE * UNIT_PANEL) {                                              \
        TILE_LOAD(4, a, a_row * sizeof *a);                                                                                 \
        TILE_LOAD(5, a + TILE * a_row, a_row * sizeof *a);                                                                  \
        TILE_LOAD(6, b, UNIT_PANEL * sizeof *b);                                                                            \
        TILE_LOAD(7, b + TILE, UNIT_PANEL * sizeof *b);                                                                     \
        DOT(0, 4, 6);                                                                                                       \
        DOT(1, 4, 7);                                                                                                       \
        DOT(2, 5, 6);                                                                                                       \
        DOT(3, 5, 7);                                                                                                       \
    }

static void multiply_bf16(int cells, const int32_t *a, size_t a_row, const int32_t *b)
{
    MULTIPLY(TILE_DOT_BF16)
}

static void multiply_int8(int cells, const int32_t *a, size_t a_row, const int32_t *b)
{
    MULTIPLY(TILE_DOT_INT8)
}

/* Both products. A block that C does not fill goes through `part`. */
static void run(void (*multiply)(int cells, const int32_t *a, size_t a_row, const int32_t *b), int m, int n, int cells,
                const int32_t *a, size_t a_row, const int32_t *b, char *c, size_t c_stride, const char *bias, bool add)
{
    const size_t stride = c_stride * sizeof(int32_t), row_bytes = (size_t)n * sizeof(int32_t);
    configure();
    for (int i = 0; i < m; i += BLOCK, c += BLOCK * stride) {
        const int rows = m - i < BLOCK ? m - i : BLOCK;
        char part[BLOCK * BLOCK * sizeof(int32_t)] __attribute__((aligned(64))), *to = c;
        size_t to_stride = stride;
        if (rows == BLOCK && n == BLOCK) {
            load(bias ? bias : add ? c : NULL, bias ? 0 : stride);
        } else {
            to = part;
            to_stride = BLOCK * sizeof(int32_t);
            memset(part, 0, sizeof part);
            for (int r = 0; r < rows && (bias || add); r++)
                memcpy(part + (size_t)r * to_stride, bias ? bias : c + (size_t)r * stride, row_bytes);
            MEMORY_WRITTEN(part);
            load(part, to_stride);
        }
        multiply(cells, a + (size_t)i * a_row, a_row, b);
        store(to, to_stride);
        for (int r = 0; r < rows && to == part; r++) memcpy(c + (size_t)r * stride, part + (size_t)r * to_stride, row_bytes);
    }
}

static void bf16(int m, int n, int cells, const int32_t *a, size_t a_row, size_t a_k, const int32_t *b, float *c,
                 size_t c_stride, const float *bias, bool add)
{
    (void)a_k;
    run(multiply_bf16, m, n, cells, a, a_row, b, (char *)c, c_stride, (const char *)bias, add);
}

static void int8(int m, int n, int cells, const int32_t *a, size_t a_row, size_t a_k, const int32_t *b, int32_t *c,
                 size_t c_stride, bool add)
{
    (void)a_k;
    run(multiply_int8, m, n, cells, a, a_row, b, (char *)c, c_stride, NULL, add);
}

#ifdef AMX_EMULATED
extern const Unit UNIT_NAME(amx_bf16), UNIT_NAME(amx_int8);
#endif

const Unit UNIT_NAME(amx_bf16) = {.name = "amx-bf16", .precision = PRECISION_BF16, .rows_only = true,
                                  .runs_here = bf16_runs_here, .bf16 = bf16};
const Unit UNIT_NAME(amx_int8) = {.name = "amx-int8", .precision = PRECISION_INT8, .rows_only = true,
                                  .runs_here = int8_runs_here, .int8 = int8};
#else
typedef int unit_amx_not_in_this_build;
#endif
