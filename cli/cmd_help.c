/* ferry help [COMMAND | options | SECTION | OPTION] */
#include <string.h>

#include "cli/command.h"
#include "options/synonyms.h"

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
    const char *word[OPTIONS_SIMILAR];
    Error no_command = {0};
    if (!command_find(topic, &no_command)) {
        if (options_help_topic(stdout, topic)) return true;
        const int n = options_similar(topic, word);
        const Synonym *synonym = synonym_find(topic);
        for (int i = 0; synonym && i < n; i++) options_help_topic(stdout, word[i]);
        if (synonym && n) return true;
        if (n && !strstr(no_command.text, "did you mean"))
            return error_usage(error, "there is neither a command nor an option '%s'; did you mean '%s'?", topic, word[0]);
    }
    const Command *command = command_find(topic, error);
    if (command) command_print_help(stdout, command);
    return command != NULL;
}
