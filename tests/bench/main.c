/* The benches' program: bench WORD. Made and run by make bench, bench-scale and bench-translate. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/startup.h"
#include "core/blas.h"
#include "tests/bench/bench.h"
#include "tests/bench/report.h"
#include "tests/bench/settings.h"

static const struct Bench {
    const char *name;
    bool (*run)(Error *error);
} benches[] = {
    {"train", bench_train},
    {"scale", bench_scale},
    {"translate", bench_translate},
    {"vocabulary", bench_vocabulary},
};

int main(int argc, char **argv)
{
    /* The peak is the best that this machine can do, not what someone asked of OpenBLAS. */
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_L2_SIZE");
    startup(argv);
    Error error = {0}, missing = {0};
    const struct Bench *bench = NULL;
    for (size_t i = 0; argc == 2 && i < sizeof benches / sizeof *benches; i++)
        if (!strcmp(benches[i].name, argv[1])) bench = &benches[i];
    if (!bench) {
        fputs("usage: bench train|scale|translate|vocabulary\n", stderr);
        return ERROR_USAGE;
    }
    blas_load(&missing); /* before any parallel region; it is missed where its peak would be */
    const bool good = report_open(settings_text("TSV", ""), &error) && bench->run(&error) && report_close(&error);
    if (good) return 0;
    fprintf(stderr, "bench: %s\n", error.text);
    return error.code;
}
