#include "cli/command.h"

#include <string.h>

#include "core/memory.h"
#include "options/nearest.h"

typedef struct Flag {
    char letter;
    const char *name, *value, *help;
} Flag;

static const Flag flags[N_FLAGS] = {
#define FLAG(id, letter, name, value, help) [FLAG_##id] = {letter, name, value, help},
#define COMMAND(...)
#include "cli/commands.def"
};

#define BIT(id) (1u << FLAG_##id)

static const Command commands[] = {
#define FLAG(...)
#define COMMAND(name, min, max, takes, needs, home, usage, summary, help) \
    {#name, min, max, (takes) | BIT(HELP) | BIT(VERSION), needs, home, usage, summary, help, cmd_##name},
#include "cli/commands.def"
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

/* Parsing. */

typedef struct Arguments {
    char **next; /* up to a NULL */
} Arguments;

static bool takes(const CommandLine *line, int id)
{
    return line->command->takes >> id & 1;
}

/* The value of the flag that the user wrote as `name`: `attached` to it, or the next argument. NULL and an error if none. */
static const char *take_value(Arguments *arguments, const char *name, const char *attached, Error *error)
{
    if (attached) return attached;
    const char *next = *arguments->next;
    if (next && strncmp(next, "--", 2)) {
        arguments->next++;
        return next;
    }
    error_usage(error, "%s needs a value%s", name, next ? "; one that starts with -- must be attached by =" : "");
    return NULL;
}

static bool set_flag(CommandLine *line, int id, Arguments *arguments, const char *name, const char *attached, Error *error)
{
    if (!flags[id].value && attached) return error_usage(error, "%s takes no value", name);
    const char *value = flags[id].value ? take_value(arguments, name, attached, error) : "";
    if (value) line->flag[id] = value;
    if (value && id == FLAG_MODEL) line->model[line->n_models++] = value;
    return value != NULL;
}

/* Takes `key`. */
static void add_setting(CommandLine *line, char *key, const char *value)
{
    OptionSettings *s = &line->settings;
    ARRAY_RESERVE(s->setting, s->n, s->capacity);
    s->setting[s->n++] = (OptionSetting){.key = key, .value = value};
}

/* --set section.key=value */
static bool add_set(CommandLine *line, const char *text, Error *error)
{
    const char *equals = strchr(text, '=');
    if (!equals) return error_usage(error, "--set '%s': expected section.key=value", text);
    char *key = mem_format("%.*s", (int)(equals - text), text);
    bool known = options_known(line->command->home, key);
    const char *nearest = options_nearest(key);
    if (known) {
        add_setting(line, key, equals + 1);
        return true;
    }
    if (nearest) error_usage(error, "--set: unknown option '%s'; did you mean '%s'?", key, nearest);
    else error_usage(error, "--set: unknown option '%s'; 'ferry help options' lists them all", key);
    mem_free(key);
    return false;
}

static bool unknown_flag(const CommandLine *line, const char *name, Error *error)
{
    Nearest nearest = {.wanted = name};
    nearest_offer(&nearest, "set");
    for (int id = 0; id < N_FLAGS; id++)
        if (takes(line, id)) nearest_offer(&nearest, flags[id].name);
    const char *option = options_nearest(name);
    if (option) nearest_offer(&nearest, option);
    const char *word = nearest.word ? nearest.word : option, *command = line->command->name;
    if (!word)
        return error_usage(error, "%s: unknown flag '--%s'; 'ferry help %s' lists the flags", command, name, command);
    char *dashed = mem_string(word);
    for (char *c = dashed; *c; c++)
        if (*c == '_') *c = '-';
    error_usage(error, "%s: unknown flag '--%s'; did you mean '--%s'?", command, name, dashed);
    mem_free(dashed);
    return false;
}

/* --name, --name value, --name=value; `text` is behind the dashes. */
static bool parse_long(CommandLine *line, const char *text, Arguments *arguments, Error *error)
{
    size_t length = strcspn(text, "=");
    const char *attached = text[length] ? text + length + 1 : NULL, *value;
    char *name = mem_format("%.*s", (int)length, text), *shown = mem_format("--%s", name);
    bool good = true;
    int id = 0;
    while (id < N_FLAGS && (!takes(line, id) || strcmp(flags[id].name, name))) id++;
    if (id < N_FLAGS) {
        good = set_flag(line, id, arguments, shown, attached, error);
    } else if (!strcmp(name, "set")) {
        value = take_value(arguments, shown, attached, error);
        good = value && add_set(line, value, error);
    } else if (options_known(line->command->home, name)) {
        value = take_value(arguments, shown, attached, error);
        good = value != NULL;
        if (value) add_setting(line, mem_string(name), value);
    } else {
        good = unknown_flag(line, name, error);
    }
    mem_free(name);
    mem_free(shown);
    return good;
}

/* -m value, -mvalue */
static bool parse_short(CommandLine *line, const char *text, Arguments *arguments, Error *error)
{
    char shown[] = {'-', text[1], '\0'};
    for (int id = 0; id < N_FLAGS; id++)
        if (takes(line, id) && flags[id].letter == text[1])
            return set_flag(line, id, arguments, shown, text[2] ? text + 2 : NULL, error);
    return error_usage(error, "%s: unknown flag '%s'; 'ferry help %s' lists the flags", line->command->name, text,
                       line->command->name);
}

static bool parse_arguments(CommandLine *line, Arguments *arguments, Error *error)
{
    bool only_arguments = false;
    while (*arguments->next) {
        const char *text = *arguments->next++;
        if (only_arguments || text[0] != '-' || !text[1]) line->argument[line->n_arguments++] = text;
        else if (!strcmp(text, "--")) only_arguments = true;
        else if (!(text[1] == '-' ? parse_long(line, text + 2, arguments, error) : parse_short(line, text, arguments, error)))
            return false;
    }
    return true;
}

/* Is all there that the command needs, and no more? */
static bool check_complete(const CommandLine *line, Error *error)
{
    const Command *command = line->command;
    if (line->flag[FLAG_HELP] || line->flag[FLAG_VERSION]) return true;
    for (int id = 0; id < N_FLAGS; id++)
        if (command->needs >> id & 1 && !line->flag[id])
            return error_usage(error, "%s needs --%s %s; usage: ferry %s %s", command->name, flags[id].name, flags[id].value,
                               command->name, command->usage);
    if (line->n_arguments < command->min_arguments)
        return error_usage(error, "%s needs more arguments; usage: ferry %s %s", command->name, command->name,
                           command->usage);
    if (line->n_arguments > command->max_arguments)
        return error_usage(error, "%s: '%s' is one argument too many; usage: ferry %s %s", command->name,
                           line->argument[command->max_arguments], command->name, command->usage);
    return true;
}

bool command_parse(CommandLine *line, int argc, char **argv, Error *error)
{
    CHECK(argc >= 2, "no command");
    /* `ferry --help` and `ferry --version` are flags of help. */
    bool bare_flag = !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "--version");
    if (argv[1][0] == '-' && !bare_flag)
        return error_usage(error, "'%s' comes before any command; usage: ferry COMMAND [FLAG]...; see 'ferry help'",
                           argv[1]);
    const Command *command = command_find(bare_flag ? "help" : argv[1], error);
    if (!command) return false;
    *line = (CommandLine){.command = command, .argument = mem_alloc((size_t)argc * sizeof *line->argument),
                          .model = mem_alloc((size_t)argc * sizeof *line->model), .settings.home = command->home};
    Arguments arguments = {.next = argv + (bare_flag ? 1 : 2)};
    if (parse_arguments(line, &arguments, error) && check_complete(line, error)) return true;
    command_free(line);
    return false;
}

void command_free(CommandLine *line)
{
    for (int i = 0; i < line->settings.n; i++) mem_free(line->settings.setting[i].key);
    mem_free(line->settings.setting);
    mem_free(line->argument);
    mem_free(line->model);
    *line = (CommandLine){0};
}

bool command_run(CommandLine *line, Error *error)
{
    if (line->flag[FLAG_VERSION]) {
        puts("ferry " FERRY_VERSION);
        return true;
    }
    if (line->flag[FLAG_HELP]) {
        if (line->command->run == cmd_help) command_print_list(stdout);
        else command_print_help(stdout, line->command);
        return true;
    }
    return line->command->run(line, error);
}

const Command *command_find(const char *name, Error *error)
{
    Nearest nearest = {.wanted = name};
    for (int i = 0; i < N_COMMANDS; i++) {
        if (!strcmp(commands[i].name, name)) return &commands[i];
        nearest_offer(&nearest, commands[i].name);
    }
    if (nearest.word) error_usage(error, "unknown command '%s'; did you mean '%s'?", name, nearest.word);
    else error_usage(error, "unknown command '%s'; 'ferry help' lists the commands", name);
    return NULL;
}

/* Help. */

static void print_flag(FILE *out, char letter, const char *name, const char *value, const char *help)
{
    char *left = mem_format("--%s%s%s", name, value ? " " : "", value ? value : "");
    if (letter) fprintf(out, "  -%c, %-25s %s\n", letter, left, help);
    else fprintf(out, "  %-29s %s\n", left, help);
    mem_free(left);
}

void command_print_help(FILE *out, const Command *command)
{
    fprintf(out, "usage: ferry %s %s\n\n%s\nFlags:\n", command->name, command->usage, command->help);
    for (int id = 0; id < N_FLAGS; id++)
        if (command->takes >> id & 1) print_flag(out, flags[id].letter, flags[id].name, flags[id].value, flags[id].help);
    print_flag(out, 0, "set", "section.key=value", "set an option; 'ferry help options' lists them");
    print_flag(out, 0, "KEY", "VALUE", "the same, in short: --threads 2");
}

void command_print_list(FILE *out)
{
    fputs("Ferry trains Transformers to translate, and translates with them, on ordinary CPUs.\n"
          "\n"
          "usage: ferry COMMAND [FLAG]... [ARGUMENT]...\n"
          "\n",
          out);
    for (int i = 0; i < N_COMMANDS; i++) fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].summary);
    fputs("\n"
          "'ferry help COMMAND' explains a command, 'ferry help options' lists the options.\n",
          out);
}
