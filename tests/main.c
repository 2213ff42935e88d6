/* Runs the libcheck suites of suites.def: all of them, or those named on the command line. No kernel may run here: libcheck
 * forks each test, and a child of a process that ever ran an OpenMP region hangs in its first one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/startup.h"
#include "core/error.h"
#include "core/real.h"
#include "tests/suites.h"

typedef struct SuiteEntry {
    const char *name;
    Suite *(*make)(void);
} SuiteEntry;

static const SuiteEntry entries[] = {
#define SUITE(name) {#name, suite_##name},
#ifdef FERRY_FP64
#define SUITE32(name)
#define SUITE64(name) SUITE(name)
#else
#define SUITE32(name) SUITE(name)
#define SUITE64(name)
#endif
#include "tests/suites.def"
};

static int wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(name, argv[i])) return 1;
    return argc == 1;
}

static void print_warning(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "warning: %s\n", text);
}

int main(int argc, char **argv)
{
    warnings_to(&(WarningSink){.take = print_warning}); /* for tests that read them; each is a fork of this */
    startup(argv);
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (wanted(entries[i].name, argc, argv)) srunner_add_suite(runner, entries[i].make());
    srunner_run_all(runner, CK_ENV);
    int n_failed = srunner_ntests_failed(runner), n_run = srunner_ntests_run(runner);
    srunner_free(runner);
    if (!n_run) fputs("no test ran\n", stderr);
    return n_failed || !n_run ? EXIT_FAILURE : EXIT_SUCCESS;
}
