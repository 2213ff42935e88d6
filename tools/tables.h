/* The tables of commands, flags and options as plain arrays, for the generators of this folder. They are no part of the
 * program, and need nothing of it but the two .def files. */
#ifndef FERRY_TOOLS_TABLES_H
#define FERRY_TOOLS_TABLES_H

#include <stdbool.h>

typedef struct Flag {
    char letter; /* 0: none */
    const char *name, *value, *help; /* value is NULL if it takes none */
} Flag;

typedef struct Command {
    const char *name;
    int max_arguments;
    unsigned takes; /* bits 1 << index in flags */
    const char *home, *usage, *summary, *help;
} Command;

typedef struct Section {
    const char *name, *help;
} Section;

typedef struct Option {
    const char *section, *name, *standard;
    const char *words;      /* a|b|c, NULL if it is no choice */
    const char *low, *high; /* of numbers, NULL for text; high may be INT_LIMIT or REAL_LIMIT */
    const char *help;
} Option;

extern const Flag flags[];
extern const Command commands[];
extern const Section sections[];
extern const Option options[];
extern const int n_flags, n_commands, n_sections, n_options;

/* Of options with the same name, whether this is the first in the table. */
bool option_is_first(int index);
/* Whether the command looks at the option: those that train, at all; those that only translate, at [decode]. */
bool command_uses(const Command *command, const Option *option);

/* In completion.c: print the completion for a shell. */
void print_bash(void);
void print_zsh(void);

#endif
