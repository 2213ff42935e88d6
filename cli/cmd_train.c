#include <string.h>

#include "cli/command.h"
#include "core/memory.h"
#include "system/files.h"
#include "train/trainer.h"

/* runs/toy for configs/toy.ini */
static char *default_folder(const char *config)
{
    const char *name = path_name(config), *dot = strrchr(name, '.');
    return mem_format("runs/%.*s", (int)(dot && dot > name ? dot - name : (long)strlen(name)), name);
}

bool cmd_train(CommandLine *line, Error *error)
{
    const char *run = line->flag[FLAG_RUN];
    Options options;
    if (!options_load(&options, line->argument[0], &line->settings, error)) return false;
    char *folder = run ? mem_string(run) : default_folder(line->argument[0]);
    bool good = trainer_run(&options, folder, error);
    mem_free(folder);
    options_free(&options);
    return good;
}
