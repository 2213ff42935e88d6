/* The AMX units on emulated tiles: unit_emulated_amx_bf16, unit_emulated_amx_int8. */
#include "tests/amx_emulated.h"
#define AMX_EMULATED
#include "core/unit_amx.c"
