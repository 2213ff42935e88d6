/* Fuzz targets: fuzz_x, in tests/fuzz/x.c, feeds any bytes to a module and aborts (CHECK) if it doesn't behave. libFuzzer
 * calls it with inputs of its own making (`make fuzz`), the test program with those of tests/fuzz/corpus/x: a few that show
 * the way, and every one that ever was a fault. To add a target, write it and add its line to targets.def. */
#ifndef FERRY_TESTS_FUZZ_FUZZ_H
#define FERRY_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/memory.h"
#include "text/text.h"

#define TARGET(name) int fuzz_##name(const uint8_t *data, size_t size);
#include "tests/fuzz/targets.def"
#undef TARGET

/* A file in memory that holds these bytes, with a path to open it by. */
typedef struct FuzzFile {
    char path[32];
    int descriptor;
} FuzzFile;

FuzzFile fuzz_file(const void *bytes, size_t n);
void fuzz_file_close(FuzzFile *file);

#endif
