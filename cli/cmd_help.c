/* ferry help [COMMAND | FLAG | options | SECTION | OPTION] */
#include <string.h>

#include "cli/command.h"
#include "core/memory.h"
#include "options/synonyms.h"

/* What other systems call it; false if they don't. */
static bool help_synonym(const char *topic)
{
    const char *word[OPTIONS_SIMILAR];
    const int n = synonym_find(topic) ? options_similar(topic, word) : 0;
    for (int i = 0; i < n; i++) options_help_topic(stdout, word[i]);
    return n > 0;
}

static bool unknown(const char *topic, Error *error)
{
    const char *word[OPTIONS_SIMILAR];
    Nearest nearest = {.wanted = topic};
    command_offer_names(&nearest);
    const int n = options_similar(topic, word);
    for (int i = 0; i < n; i++) nearest_offer(&nearest, word[i]);
    const char *meant = nearest.word ? nearest.word : n ? word[0] : NULL;
    if (meant)
        return error_usage(error, "there is no command, flag or option '%s'; did you mean '%s'?", topic, meant);
    return error_usage(error, "there is no command, flag or option '%s'; 'ferry help' lists the commands, 'ferry help options' "
                       "the options", topic);
}

/* Options and flags go by either spelling, n_best or n-best. */
static bool help_name(const char *topic)
{
    char *dashed = mem_string(topic);
    for (char *c = dashed; *c; c++)
        if (*c == '_') *c = '-';
    const bool option = options_help_topic(stdout, topic), flag = command_print_flag(stdout, dashed);
    mem_free(dashed);
    return option || flag || help_synonym(topic);
}

bool cmd_help(CommandLine *line, Error *error)
{
    const char *topic = line->n_arguments ? line->argument[0] : NULL;
    Error no_command = {0};
    if (!topic) {
        command_print_list(stdout);
        return true;
    }
    if (!strcmp(topic, "options")) {
        options_help(stdout);
        return true;
    }
    const Command *command = command_find(topic, &no_command);
    if (command) command_print_help(stdout, command);
    return command || help_name(topic) || unknown(topic, error);
}
