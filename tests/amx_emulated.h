/* AMX's tile instructions in plain C, by Intel's description (Architecture Instruction Set Extensions Programming Reference):
 * what core/unit_amx.c is compiled with for the tests. */
#ifndef FERRY_TESTS_AMX_EMULATED_H
#define FERRY_TESTS_AMX_EMULATED_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/units.h"

static _Thread_local union {
    int32_t cell[16][16];
    float sum[16][16];
    uint8_t byte[16][64];
    int8_t signed_byte[16][64];
    uint16_t bf16[16][32];
} amx_tile[8];
static _Thread_local bool amx_configured;

static void amx_configure(const void *config)
{
    const uint8_t *bytes = config;
    bool good = bytes[0] == 1 && bytes[1] == 0;
    for (int t = 0; t < 8; t++) good = good && bytes[16 + 2 * t] == 64 && !bytes[17 + 2 * t] && bytes[48 + t] == 16;
    amx_configured = good;
}

static void amx_load(int tile, const void *from, size_t stride)
{
    for (int row = 0; row < 16; row++) memcpy(amx_tile[tile].cell[row], (const char *)from + (size_t)row * stride, 64);
}

static void amx_store(int tile, void *to, size_t stride)
{
    for (int row = 0; row < 16; row++) memcpy((char *)to + (size_t)row * stride, amx_tile[tile].cell[row], 64);
}

static float amx_float(uint16_t upper)
{
    const uint32_t bits = (uint32_t)upper << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Even and odd elements along k have a chain each; both are added to the sum at the end. Unconfigured tiles give nonsense. */
static void amx_dot_bf16(int c, int a, int b)
{
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            float chain[2] = {0, 0};
            for (int l = 0; l < 16; l++)
                for (int half = 0; half < 2; half++)
                    chain[half] += amx_float(amx_tile[a].bf16[i][2 * l + half]) * amx_float(amx_tile[b].bf16[l][2 * j + half]);
            amx_tile[c].sum[i][j] += amx_configured ? chain[0] + chain[1] : 1e30f;
        }
}

static void amx_dot_int8(int c, int a, int b)
{
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            for (int l = 0; l < 16; l++)
                for (int byte = 0; byte < 4; byte++)
                    amx_tile[c].cell[i][j] += amx_configured ? amx_tile[a].byte[i][4 * l + byte] * amx_tile[b].signed_byte[l][4 * j + byte]
                                                             : 1 << 20;
}

/* Packing needs AVX512-BF16 all the same. */
static bool bf16_runs_here(void)
{
    return units_packing() != NULL;
}

static bool int8_runs_here(void)
{
    return true;
}

#define TILE_CONFIGURE amx_configure
#define TILE_ZERO(tile) memset(&amx_tile[tile], 0, sizeof amx_tile[tile])
#define TILE_LOAD amx_load
#define TILE_STORE amx_store
#define TILE_DOT_BF16 amx_dot_bf16
#define TILE_DOT_INT8 amx_dot_int8

#endif
