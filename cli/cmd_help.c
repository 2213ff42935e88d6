/* ferry help [COMMAND | options] */
#include <string.h>

#include "cli/command.h"

bool cmd_help(CommandLine *line, Error *error)
{
    const char *topic = line->n_arguments ? line->argument[0] : NULL;
    if (!topic) {
        command_print_list(stdout);
        return true;
    }
    if (!strcmp(topic, "options")) {
        options_help(stdout);
        return true;
    }
    const Command *command = command_find(topic, error);
    if (command) command_print_help(stdout, command);
    return command != NULL;
}
