/* Commands: the table (commands.def) and the command line. To add a command, add its entry to commands.def and write
 * bool cmd_name(CommandLine *line, Error *error) in cli/cmd_name.c. */
#ifndef FERRY_CLI_COMMAND_H
#define FERRY_CLI_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "core/error.h"
#include "options/nearest.h"
#include "options/options.h"

typedef enum FlagId {
#define FLAG(id, letter, name, value, help) FLAG_##id,
#define COMMAND(...)
#include "cli/commands.def"
    N_FLAGS
} FlagId;

typedef struct Command Command;

typedef struct CommandLine {
    const Command *command;
    const char *flag[N_FLAGS]; /* the value of each flag ("" if it takes none), NULL where it wasn't given */
    const char **model;        /* [n_models]: the values of all --model, the last of which is flag[FLAG_MODEL] */
    int n_models;
    const char **argument;     /* [n_arguments]: what is no flag */
    int n_arguments;
    OptionSettings settings; /* keys owned */
} CommandLine;

struct Command {
    const char *name;
    int min_arguments, max_arguments;
    unsigned takes, needs; /* bits 1 << FlagId */
    const char *home, *usage, *summary, *help;
    bool (*run)(CommandLine *line, Error *error);
};

#define FLAG(...)
#define COMMAND(name, ...) bool cmd_##name(CommandLine *line, Error *error);
#include "cli/commands.def"

/* Parse argv; argv[1] is the command. Unknown commands and flags, missing values and a wrong number of arguments are usage
 * errors. The line points into argv. With --help or --version nothing that is missing is an error. Free with
 * command_free (on success). */
bool command_parse(CommandLine *line, int argc, char **argv, Error *error);
void command_free(CommandLine *line);

/* The flag's value as a whole number from `low` to `high`; a usage error that says what to write if it is none. */
bool command_number(const CommandLine *line, FlagId id, int64_t low, int64_t high, int64_t *number, Error *error);

/* Run the command, or print what --help or --version ask for. */
bool command_run(CommandLine *line, Error *error);

/* The command of that name; NULL and a usage error if there is none. */
const Command *command_find(const char *name, Error *error);

/* For people: one command in full; all commands, a line each; a flag and the commands that it belongs to (false, and nothing
 * printed, if there is none of that name). */
void command_print_help(FILE *out, const Command *command);
void command_print_list(FILE *out);
bool command_print_flag(FILE *out, const char *name);

/* Offer all commands and flags by their names. */
void command_offer_names(Nearest *nearest);

#endif
