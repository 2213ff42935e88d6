#include <string.h>

#include "cli/command.h"
#include "core/memory.h"
#include "run/run.h"
#include "system/files.h"
#include "train/trainer.h"

/* What the argument of train stands for; both owned. */
typedef struct Wanted {
    char *config, *folder;
} Wanted;

/* Whether the file is the config.ini of a run folder. */
static bool is_of_run(const char *config)
{
    if (strcmp(path_name(config), RUN_CONFIG)) return false;
    char *folder = path_folder(config), *log = path_join(folder, RUN_LOG);
    const bool is = file_exists(log);
    mem_free(folder);
    mem_free(log);
    return is;
}

/* runs/toy for configs/toy.ini */
static char *default_folder(const char *config)
{
    const char *name = path_name(config), *dot = strrchr(name, '.');
    return mem_format("runs/%.*s", (int)(dot && dot > name ? dot - name : (long)strlen(name)), name);
}

/* A run folder, or the configuration in it, stands for that run; another file for a run that is named after it. */
static bool find_run(const char *argument, const char *run, Wanted *wanted, Error *error)
{
    if (folder_exists(argument)) {
        size_t n = strlen(argument);
        while (n > 1 && argument[n - 1] == '/') n--;
        *wanted = (Wanted){.folder = mem_format("%.*s", (int)n, argument)};
        wanted->config = path_join(wanted->folder, RUN_CONFIG);
        if (!file_exists(wanted->config))
            return error_usage(error, "%s is a folder without a " RUN_CONFIG ", so it is not the folder of a training run; train takes a "
                               "configuration file or a run folder", argument);
    } else {
        *wanted = (Wanted){.config = mem_string(argument),
                           .folder = is_of_run(argument) ? path_folder(argument) : default_folder(argument)};
    }
    if (!run) return true;
    mem_free(wanted->folder);
    wanted->folder = mem_string(run);
    return true;
}

bool cmd_train(CommandLine *line, Error *error)
{
    const char *run = line->flag[FLAG_RUN];
    Wanted wanted;
    Options options;
    bool good = find_run(line->argument[0], run, &wanted, error) &&
                options_load(&options, wanted.config, &line->settings, error);
    if (good) {
        good = trainer_run(&options, wanted.folder, error);
        options_free(&options);
    }
    mem_free(wanted.config);
    mem_free(wanted.folder);
    return good;
}
