#include "cli/command.h"

#include <inttypes.h>
#include <string.h>

#include "core/memory.h"
#include "options/synonyms.h"
#include "system/number.h"

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

/* The same for what is yes or no: alone, it says yes; the next argument counts only if it is one of the two words. */
static const char *take_yes_no(Arguments *arguments, const char *attached)
{
    if (attached) return attached;
    const char *next = *arguments->next;
    return next && (!strcmp(next, "yes") || !strcmp(next, "no")) ? *arguments->next++ : "yes";
}

static bool set_flag(CommandLine *line, int id, Arguments *arguments, const char *name, const char *attached, Error *error)
{
    if (attached && (id == FLAG_HELP || id == FLAG_VERSION)) return error_usage(error, "%s takes no value", name);
    if (!flags[id].value && id != FLAG_HELP && id != FLAG_VERSION) {
        const char *answer = take_yes_no(arguments, attached);
        if (strcmp(answer, "yes") && strcmp(answer, "no"))
            return error_usage(error, "%s=%s: expected yes or no", name, answer);
        line->flag[id] = !strcmp(answer, "yes") ? "" : NULL;
        return true;
    }
    const char *value = flags[id].value ? take_value(arguments, name, attached, error) : "";
    if (value && flags[id].value && !*value) return error_usage(error, "%s is empty; it needs a %s", name, flags[id].value);
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
    const char *word[OPTIONS_SIMILAR];
    const char *nearest = known || !options_similar(key, word) ? NULL : word[0];
    if (known) {
        add_setting(line, key, equals + 1);
        return true;
    }
    if (nearest) error_usage(error, "--set: unknown option '%s'; did you mean '%s'?", key, nearest);
    else error_usage(error, "--set: unknown option '%s'; 'ferry help options' lists them all", key);
    mem_free(key);
    return false;
}

/* "'--a' or '--b'", as a new string */
static char *as_flags(const char *const *word, int n)
{
    char *text = NULL;
    for (int i = 0; i < n; i++) {
        char *longer = mem_format("%s%s'--%s'", text ? text : "", text ? " or " : "", word[i]);
        mem_free(text);
        text = longer;
    }
    for (char *c = text; *c; c++)
        if (*c == '_') *c = '-';
    return text;
}

/* `dashes` and `name` are what the user wrote. */
static bool unknown_flag(const CommandLine *line, const char *dashes, const char *name, Error *error)
{
    const char *command = line->command->name, *word[OPTIONS_SIMILAR];
    for (int i = 0; i < N_COMMANDS; i++)
        for (int id = 0; id < N_FLAGS; id++)
            if (commands[i].takes >> id & 1 && dashes[1] && !strcmp(flags[id].name, name) && id != FLAG_OUTPUT)
                return error_usage(error, "%s: unknown flag '--%s': it belongs to 'ferry %s'", command, name,
                                   commands[i].name);
    char *plain = mem_string(name);
    for (char *c = plain; *c; c++)
        if (*c == '-') *c = '_';
    const Synonym *synonym = synonym_find(plain);
    mem_free(plain);
    if (synonym && synonym->hint)
        return error_usage(error, "%s: unknown flag '%s%s': %s", command, dashes, name, synonym->hint);
    Nearest nearest = {.wanted = name};
    nearest_offer(&nearest, "set");
    for (int id = 0; id < N_FLAGS; id++)
        if (takes(line, id)) nearest_offer(&nearest, flags[id].name);
    int n = dashes[1] ? options_similar(name, word) : 0;
    if (n && !synonym) nearest_offer(&nearest, word[0]);
    if (nearest.word && !synonym && dashes[1] && (!n || nearest.word != word[0])) {
        word[0] = nearest.word;
        n = 1;
    }
    if (!n)
        return error_usage(error, "%s: unknown flag '%s%s'; 'ferry help %s' lists the flags, 'ferry help options' the options",
                           command, dashes, name, command);
    char *meant = as_flags(word, n);
    error_usage(error, "%s: unknown flag '%s%s'; did you mean %s?", command, dashes, name, meant);
    mem_free(meant);
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
        if (options_is_yes_no(line->command->home, name)) value = take_yes_no(arguments, attached);
        else value = take_value(arguments, shown, attached, error);
        good = value != NULL;
        if (value) add_setting(line, mem_string(name), value);
    } else {
        good = unknown_flag(line, "--", name, error);
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
    return unknown_flag(line, "-", shown + 1, error);
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
    for (int i = 0; i < line->n_arguments; i++)
        if (!*line->argument[i])
            return error_usage(error, "%s: argument %d is empty; usage: ferry %s %s", command->name, i + 1, command->name,
                               command->usage);
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

bool command_number(const CommandLine *line, FlagId id, int64_t low, int64_t high, int64_t *number, Error *error)
{
    const char *name = flags[id].name, *text = line->flag[id];
    char plain[NUMBER_SIZE], range[80], hint[NUMBER_SIZE + 10] = "";
    if (number_read_int(text, number) && *number >= low && *number <= high) return true;
    if (number_plain(plain, text) && number_read_int(plain, number) && *number >= low && *number <= high)
        snprintf(hint, sizeof hint, "; write %s", plain);
    if (high == INT64_MAX) snprintf(range, sizeof range, ", at least %" PRId64, low);
    else snprintf(range, sizeof range, " from %" PRId64 " to %" PRId64, low, high);
    return error_usage(error, "--%s '%s': expected a whole number%s%s", name, text, range, hint);
}

/* The options that have an effect in a command: keys, or beginnings of keys. Commands that aren't here take all. */
static const struct {
    bool (*run)(CommandLine *line, Error *error);
    const char *uses[7]; /* up to a NULL */
} used_options[] = {
    {cmd_translate, {"decode.", "train.threads", "train.matmul"}},
    {cmd_evaluate, {"decode.", "train.threads", "train.matmul", "data.tests", "data.valid_source", "data.valid_target"}},
    {cmd_score, {"decode.", "train.threads", "train.matmul"}},
    {cmd_average, {"decode.weights", "train.keep", "train.threads", "train.matmul", "train.checkpoint_every"}},
    {cmd_tokenize, {NULL}},
    {cmd_detokenize, {NULL}},
};

static void warn_of_foreign(const CommandLine *line)
{
    for (size_t c = 0; c < sizeof used_options / sizeof *used_options; c++) {
        if (used_options[c].run != line->command->run) continue;
        for (int i = 0; i < line->settings.n; i++) {
            const char *key = options_full_key(line->command->home, line->settings.setting[i].key);
            const char *const *use = used_options[c].uses;
            while (*use && strncmp(key, *use, strlen(*use))) use++;
            if (!*use) fprintf(stderr, "ferry: warning: %s has no effect in 'ferry %s'\n", key, line->command->name);
        }
    }
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
    warn_of_foreign(line);
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
    print_flag(out, 0, "KEY", "VALUE", "the same, in short: --threads 2; what is yes or no may stand alone: --sample");
}

bool command_print_flag(FILE *out, const char *name)
{
    for (int id = 0; id < N_FLAGS; id++) {
        if (strcmp(flags[id].name, name)) continue;
        print_flag(out, flags[id].letter, name, flags[id].value, flags[id].help);
        const bool everywhere = id == FLAG_HELP || id == FLAG_VERSION;
        fputs(everywhere ? "      a flag of every command\n" : "      a flag of", out);
        const char *separator = " ";
        for (int i = 0; i < N_COMMANDS && !everywhere; i++) {
            if (!(commands[i].takes >> id & 1)) continue;
            fprintf(out, "%s'ferry %s'", separator, commands[i].name);
            separator = ", ";
        }
        if (!everywhere) putc('\n', out);
        return true;
    }
    return false;
}

void command_offer_names(Nearest *nearest)
{
    for (int i = 0; i < N_COMMANDS; i++) nearest_offer(nearest, commands[i].name);
    for (int id = 0; id < N_FLAGS; id++) nearest_offer(nearest, flags[id].name);
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
