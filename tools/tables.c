#include "tools/tables.h"

#include <string.h>

enum {
#define FLAG(id, letter, name, value, help) FLAG_##id,
#define COMMAND(...)
#include "cli/commands.def"
    N_FLAGS
};

const Flag flags[] = {
#define FLAG(id, letter, name, value, help) {letter, name, value, help},
#define COMMAND(...)
#include "cli/commands.def"
};

#define BIT(id) (1u << FLAG_##id)

const Command commands[] = {
#define FLAG(...)
#define COMMAND(name, min, max, takes, needs, home, usage, summary, help) \
    {#name, max, (takes) | BIT(HELP) | BIT(VERSION), home, usage, summary, help},
#include "cli/commands.def"
};

const Section sections[] = {
#define SECTION(section, help) {#section, help},
#define INT(...)
#define REAL(...)
#define TEXT(...)
#define CHOICE(...)
#include "options/options.def"
};

const Option options[] = {
#define SECTION(...)
#define INT(section, name, standard, low, high, class, help) {#section, #name, standard, NULL, #low, #high, help},
#define REAL(section, name, standard, low, high, class, help) {#section, #name, standard, NULL, #low, #high, help},
#define TEXT(section, name, standard, class, help) {#section, #name, standard, NULL, NULL, NULL, help},
#define CHOICE(section, name, standard, words, class, help) {#section, #name, standard, words, NULL, NULL, help},
#include "options/options.def"
};

const int n_flags = N_FLAGS, n_commands = sizeof commands / sizeof *commands;
const int n_sections = sizeof sections / sizeof *sections, n_options = sizeof options / sizeof *options;

bool option_is_first(int index)
{
    for (int i = 0; i < index; i++)
        if (!strcmp(options[i].name, options[index].name)) return false;
    return true;
}

bool command_uses(const Command *command, const Option *option)
{
    if (!strcmp(command->name, "train")) return true;
    if (!strcmp(command->home, "decode"))
        return !strcmp(option->section, "decode") || !strcmp(option->name, "threads") || !strcmp(option->name, "tests");
    return false;
}
