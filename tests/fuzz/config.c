/* The configuration. Either a usage error that names file and line, or options that are written and read as the same again,
 * also those that a checkpoint keeps. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "options/config.h"
#include "options/options.h"
#include "system/files.h"
#include "tests/fuzz/fuzz.h"

static void assert_refused(const Error *error, const char *name)
{
    CHECK(error->code == ERROR_USAGE && !strncmp(error->text, name, strlen(name)), "'%s'", error->text);
}

/* What the options are as a file, NUL-terminated. */
static char *written(const Options *options)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/ferry-fuzz-%d", (int)getpid());
    Error error = {0};
    CHECK(options_write(options, path, &error), "%s", error.text);
    char *text = file_read_all(path, NULL, &error);
    CHECK(text, "%s", error.text);
    remove(path);
    return text;
}

static void check_round_trip(const Options *options)
{
    Options again;
    Error error = {0};
    options_init(&again);
    char *text = written(options), *shapes = options_to_text(options);
    CHECK(options_from_text(&again, "shapes", shapes, &error), "%s", error.text);
    char *differences = options_differences(options, &again, NULL, ", now ");
    CHECK(!differences, "%s", differences);
    CHECK(options_from_text(&again, "all", text, &error), "%s", error.text);
    char *text_again = written(&again);
    CHECK(!strcmp(text, text_again), "%s\n---\n%s", text, text_again);
    mem_free(text);
    mem_free(text_again);
    mem_free(shapes);
    options_free(&again);
}

int fuzz_config(const uint8_t *data, size_t size)
{
    Error error = {0};
    Config config;
    const bool good = config_parse(&config, "fuzz.ini", (const char *)data, size, &error);
    if (!good) assert_refused(&error, "fuzz.ini:");
    for (int i = 0; good && i < config.n; i++)
        CHECK(config.entry[i].section && *config.entry[i].key && config.entry[i].value, "line %d", config.entry[i].line);
    if (good) config_free(&config);

    FuzzFile file = fuzz_file(data, size);
    Options options;
    options_init(&options);
    error = (Error){0};
    if (options_read(&options, file.path, &error)) check_round_trip(&options);
    else assert_refused(&error, file.path);
    options_free(&options);
    fuzz_file_close(&file);
    return 0;
}
