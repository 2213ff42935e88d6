#include "options/options.h"

#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "options/config.h"
#include "options/nearest.h"
#include "options/synonyms.h"
#include "system/files.h"
#include "system/number.h"
#include "text/text.h"

typedef enum OptionKind { OPTION_INT, OPTION_REAL, OPTION_TEXT, OPTION_CHOICE } OptionKind;

typedef enum OptionClass {
    SHAPES,  /* shapes the result: stored in checkpoints and compared at resume */
    DECODES, /* shapes translations, so a validation's scores: stored in checkpoints; resuming warns of a change */
    LIMIT,   /* says when training ends */
    LOCAL,   /* paths, reports */
    HERE,    /* of the machine at hand: not kept with the run */
} OptionClass;

typedef struct Option {
    const char *section, *name;
    const char *key; /* section.name */
    OptionKind kind;
    OptionClass class;
    size_t offset;          /* of the field in Options */
    const char *standard;   /* the default, as text */
    const char *words;      /* CHOICE: "post|pre" */
    int64_t min, max;       /* INT */
    double lowest, highest; /* REAL */
    const char *help;
} Option;

#define INT_LIMIT INT64_MAX
#define REAL_LIMIT DBL_MAX

static const Option table[] = {
#define SECTION(section, help)
#define ENTRY(section_, name_, kind_, default_, class_, help_)                                                       \
    .section = #section_, .name = #name_, .key = #section_ "." #name_, .kind = kind_, .class = class_,               \
    .standard = default_, .help = help_, .offset = offsetof(Options, section_##_##name_)
#define INT(section, name, standard, low, high, class, help) \
    {ENTRY(section, name, OPTION_INT, standard, class, help), .min = low, .max = high},
#define REAL(section, name, standard, low, high, class, help) \
    {ENTRY(section, name, OPTION_REAL, standard, class, help), .lowest = low, .highest = high},
#define TEXT(section, name, standard, class, help) {ENTRY(section, name, OPTION_TEXT, standard, class, help)},
#define CHOICE(section, name, standard, choice, class, help) \
    {ENTRY(section, name, OPTION_CHOICE, standard, class, help), .words = choice},
#include "options/options.def"
};

typedef struct SectionHelp {
    const char *name, *help;
} SectionHelp;

static const SectionHelp sections_help[] = {
#define SECTION(section, help) {#section, help},
#define INT(...)
#define REAL(...)
#define TEXT(...)
#define CHOICE(...)
#include "options/options.def"
};

enum { N_OPTIONS = sizeof table / sizeof *table, N_SECTIONS = sizeof sections_help / sizeof *sections_help };

/* Reading and writing one value. */

static void *field(const Options *options, const Option *option)
{
    return (char *)options + option->offset;
}

/* The index of `word` in "a|b|c", or -1. */
static int find_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (int i = 0;; i++, words++) {
        size_t n = strcspn(words, "|");
        if (n == length && !memcmp(words, word, n)) return i;
        words += n;
        if (!*words) return -1;
    }
}

/* The word number `index` of "a|b|c", as a new string. */
static char *copy_word(const char *words, int index)
{
    for (; index; index--) words = strchr(words, '|') + 1;
    return mem_format("%.*s", (int)strcspn(words, "|"), words);
}

/* A text without the blanks around it ("\ " at the end stays), or NULL if it has a control character (a line end could not
 * be written to a configuration). */
static char *clean_text(const char *text)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' && *c != '\t') return NULL;
    text += strspn(text, " \t");
    size_t n = strlen(text);
    while (n && (text[n - 1] == ' ' || text[n - 1] == '\t') && !(n > 1 && text[n - 2] == '\\')) n--;
    return mem_format("%.*s", (int)n, text);
}

static bool read_int(const Option *option, const char *value, int64_t *number)
{
    return number_read_int(value, number) && *number >= option->min && *number <= option->max;
}

static bool read_real(const Option *option, const char *value, double *number)
{
    return number_read_real(value, number) && *number >= option->lowest && *number <= option->highest;
}

/* Store `value`; false, and nothing stored, if it isn't one. */
static bool set_value(Options *options, const Option *option, const char *value)
{
    void *to = field(options, option);
    switch (option->kind) {
    case OPTION_INT: {
        int64_t number;
        if (!read_int(option, value, &number)) return false;
        *(int64_t *)to = number;
        return true;
    }
    case OPTION_REAL: {
        double number;
        if (!read_real(option, value, &number)) return false;
        *(double *)to = number;
        return true;
    }
    case OPTION_TEXT: {
        char *text = clean_text(value);
        if (!text) return false;
        mem_free(*(char **)to);
        *(char **)to = text;
        return true;
    }
    case OPTION_CHOICE: {
        int index = find_word(option->words, value);
        if (index < 0) return false;
        *(int *)to = index;
        return true;
    }
    }
    return false;
}

/* The value as set_value reads it, as a new string. */
static char *value_text(const Options *options, const Option *option)
{
    const void *from = field(options, option);
    char number[NUMBER_SIZE];
    switch (option->kind) {
    case OPTION_INT: return mem_format("%" PRId64, *(const int64_t *)from);
    case OPTION_REAL: return mem_string(number_write_real(number, *(const double *)from));
    case OPTION_TEXT: return mem_string(*(char *const *)from);
    case OPTION_CHOICE: return copy_word(option->words, *(const int *)from);
    }
    CHECK(false, "option %s of kind %d", option->name, (int)option->kind);
    return NULL;
}

/* What values there are, for people, as a new string. */
static char *describe_values(const Option *option)
{
    char low[NUMBER_SIZE], high[NUMBER_SIZE];
    switch (option->kind) {
    case OPTION_INT:
        if (option->max == INT_LIMIT) return mem_format("a whole number, at least %" PRId64, option->min);
        return mem_format("a whole number from %" PRId64 " to %" PRId64, option->min, option->max);
    case OPTION_REAL:
        number_write_real(low, option->lowest);
        number_write_real(high, option->highest);
        if (option->highest == REAL_LIMIT) return mem_format("a number, at least %s", low);
        return mem_format("a number from %s to %s", low, high);
    case OPTION_TEXT: return mem_string("text without control characters");
    case OPTION_CHOICE: return mem_format(strchr(option->words, '|') ? "one of %s" : "%s", option->words);
    }
    return NULL;
}

/* Looking an option up. */

/* `key` with underscores for dashes, as a new string. */
static char *plain_key(const char *key)
{
    char *plain = mem_string(key);
    for (char *c = plain; *c; c++)
        if (*c == '-') *c = '_';
    return plain;
}

/* The option of that section (NULL for any) and name, or NULL. If several sections have it, the one in `home` counts. */
static const Option *find_in(const char *home, const char *section, const char *name)
{
    const Option *found = NULL;
    for (int i = 0; i < N_OPTIONS; i++) {
        if (strcmp(table[i].name, name) || (section && strcmp(table[i].section, section))) continue;
        if (!found || !strcmp(table[i].section, home)) found = &table[i];
    }
    return found;
}

static const Option *find(const char *home, const char *key)
{
    char *plain = plain_key(key), *dot = strchr(plain, '.');
    if (dot) *dot = '\0';
    const Option *found = find_in(home, dot ? plain : NULL, dot ? dot + 1 : plain);
    mem_free(plain);
    return found;
}

/* Public functions. */

void options_init(Options *options)
{
    memset(options, 0, sizeof *options);
    for (int i = 0; i < N_OPTIONS; i++)
        CHECK(set_value(options, &table[i], table[i].standard), "the default of %s", table[i].key);
}

void options_free(Options *options)
{
    for (int i = 0; i < N_OPTIONS; i++)
        if (table[i].kind == OPTION_TEXT) mem_free(*(char **)field(options, &table[i]));
    memset(options, 0, sizeof *options);
}

void options_copy(Options *to, const Options *from)
{
    *to = *from;
    for (int i = 0; i < N_OPTIONS; i++)
        if (table[i].kind == OPTION_TEXT) *(char **)field(to, &table[i]) = mem_string(*(char **)field(from, &table[i]));
}

static void add_similar(const Option *option, bool full, const char *word[OPTIONS_SIMILAR], int *n)
{
    if (!option || *n == OPTIONS_SIMILAR) return;
    const char *name = full ? option->key : option->name;
    for (int i = 0; i < *n; i++)
        if (!strcmp(word[i], name)) return;
    word[(*n)++] = name;
}

int options_similar(const char *key, const char *word[OPTIONS_SIMILAR])
{
    char *plain = plain_key(key);
    const char *dot = strchr(plain, '.'), *name = dot ? dot + 1 : plain;
    int n = 0;
    if (dot) add_similar(find_in("", NULL, name), true, word, &n); /* the right name in the wrong section */
    const Synonym *synonym = n ? NULL : synonym_find(name);
    for (int i = 0; synonym && i < 3 && synonym->ours[i]; i++)
        add_similar(find_in("", NULL, synonym->ours[i]), dot, word, &n);
    if (!n) {
        Nearest nearest = {.wanted = plain};
        for (int i = 0; i < N_OPTIONS; i++) nearest_offer(&nearest, dot ? table[i].key : table[i].name);
        if (nearest.word) word[n++] = nearest.word;
    }
    const bool search = !n && !dot && strlen(name) > 2;
    for (int i = 0; search && i < N_OPTIONS; i++)
        if (strstr(table[i].name, name)) add_similar(&table[i], dot, word, &n);
    mem_free(plain);
    return n;
}

bool options_is_yes_no(const char *home, const char *key)
{
    const Option *option = find(home, key);
    return option && option->kind == OPTION_CHOICE && !strcmp(option->words, "no|yes");
}

const char *options_full_key(const char *home, const char *key)
{
    const Option *option = find(home, key);
    return option ? option->key : NULL;
}

bool options_known(const char *home, const char *key)
{
    return find(home, key) != NULL;
}

static bool unknown(const char *what, const char *name, const char *nearest, Error *error)
{
    if (nearest) return error_usage(error, "unknown %s '%s'; did you mean '%s'?", what, name, nearest);
    return error_usage(error, "unknown %s '%s'; 'ferry help options' lists them all", what, name);
}

/* What somebody who wrote `value` may have meant, if the option could have it. */
static bool meant(const Option *option, const char *value, char plain[NUMBER_SIZE])
{
    int64_t integer;
    double number;
    if (option->kind == OPTION_INT) return number_plain(plain, value) && read_int(option, plain, &integer);
    return option->kind == OPTION_REAL && number_plain(plain, value) && read_real(option, plain, &number);
}

bool options_set(Options *options, const char *home, const char *key, const char *value, Error *error)
{
    const Option *option = find(home, key);
    if (!option) {
        const char *word[OPTIONS_SIMILAR];
        return unknown("option", key, options_similar(key, word) ? word[0] : NULL, error);
    }
    if (set_value(options, option, value)) return true;
    char *values = describe_values(option), plain[NUMBER_SIZE];
    if (meant(option, value, plain))
        error_usage(error, "%s = '%s': expected %s; write %s", option->key, value, values, plain);
    else error_usage(error, "%s = '%s': expected %s", option->key, value, values);
    mem_free(values);
    return false;
}

static bool check_section(const char *name, Error *error)
{
    Nearest nearest = {.wanted = name};
    for (int i = 0; i < N_SECTIONS; i++) {
        if (!strcmp(sections_help[i].name, name)) return true;
        nearest_offer(&nearest, sections_help[i].name);
    }
    return unknown("section", name, nearest.word, error);
}

/* Set what `config`, read from `name`, says; takes `config`. On an error `options` is untouched. */
static bool apply(Options *options, const char *name, Config *config, Error *error)
{
    Options new;
    options_copy(&new, options);
    bool good = true;
    for (int i = 0; i < config->n && good; i++) {
        const ConfigEntry *entry = &config->entry[i];
        char *key = mem_format("%s.%s", entry->section, entry->key);
        good = check_section(entry->section, error) && options_set(&new, "", key, entry->value, error);
        if (!good) error_context(error, "%s:%d", name, entry->line);
        mem_free(key);
    }
    config_free(config);
    if (good) {
        Options old = *options;
        *options = new;
        new = old;
    }
    options_free(&new);
    return good;
}

bool options_read(Options *options, const char *path, Error *error)
{
    Config config;
    return config_read(&config, path, error) && apply(options, path, &config, error);
}

bool options_from_text(Options *options, const char *name, const char *text, Error *error)
{
    Config config;
    return config_parse(&config, name, text, strlen(text), error) && apply(options, name, &config, error);
}

bool options_check(const Options *options, Error *error)
{
    if (options->train_bpe_dropout > 0 && options->data_tokenized == TOKENIZED_YES)
        return error_usage(error, "train.bpe_dropout needs words that Ferry cuts itself: with data.tokenized = yes nothing is merged");
    if (options->model_d_model % options->model_heads)
        return error_usage(error, "model.d_model = %" PRId64 " is not a multiple of model.heads = %" PRId64,
                           options->model_d_model, options->model_heads);
    return true;
}

/* Write a value, with "\#" and "\;" for # and ;, which could start a comment. */
static void write_value(Text *out, const Options *options, const Option *option)
{
    char *text = value_text(options, option);
    for (const char *c = text; *c; c++) {
        if (*c == '#' || *c == ';') text_append(out, "\\", 1);
        text_append(out, c, 1);
    }
    mem_free(text);
}

static bool starts_section(int i)
{
    return !i || strcmp(table[i].section, table[i - 1].section);
}

/* All options, each under its help, or those that shape the result alone; under a first line. */
static char *all_text(const Options *options, bool shapes_only, const char *first_line)
{
    Text out = {0};
    text_append_format(&out, "%s", first_line);
    for (int i = 0; i < N_OPTIONS; i++) {
        if (starts_section(i)) text_append_format(&out, "\n[%s]\n", table[i].section);
        if (table[i].class == HERE || (shapes_only && table[i].class != SHAPES)) continue;
        if (!shapes_only) text_append_format(&out, "# %s\n", table[i].help);
        text_append_format(&out, "%s = ", table[i].name);
        write_value(&out, options, &table[i]);
        text_append(&out, "\n", 1);
    }
    text_append(&out, "", 1);
    return out.data; /* a block of the heap, as mem_free wants it */
}

#define FIRST_WORDS "# All options of this run, as Ferry "

char *options_to_long_text(const Options *options)
{
    return all_text(options, false, FIRST_WORDS FERRY_VERSION " understood them.\n");
}

bool options_is_written(const char *path)
{
    Error ignored = {0};
    char *text = file_exists(path) ? file_read_all(path, NULL, &ignored) : NULL;
    const bool is = text && !strncmp(text, FIRST_WORDS, strlen(FIRST_WORDS));
    mem_free(text);
    return is;
}

bool options_write(const Options *options, const char *path, Error *error)
{
    char *text = options_to_long_text(options);
    const bool good = file_write_all(path, text, strlen(text), error);
    mem_free(text);
    return good;
}

char *options_to_text(const Options *options)
{
    return all_text(options, true, "");
}

char *options_to_decode_text(const Options *options)
{
    Text out = {0};
    const char *section = "";
    for (int i = 0; i < N_OPTIONS; i++) {
        if (table[i].class != DECODES) continue;
        if (strcmp(section, table[i].section)) text_append_format(&out, "[%s]\n", section = table[i].section);
        text_append_format(&out, "%s = ", table[i].name);
        write_value(&out, options, &table[i]);
        text_append(&out, "\n", 1);
    }
    text_append(&out, "", 1);
    return out.data;
}

static bool is_among(const Option *option, const char *const *among)
{
    if (!among) return option->class == SHAPES;
    while (*among && strncmp(option->key, *among, strlen(*among))) among++;
    return *among != NULL;
}

char *options_differences(const Options *before, const Options *now, const char *const *among, const char *between)
{
    char *text = NULL;
    for (int i = 0; i < N_OPTIONS; i++) {
        if (!is_among(&table[i], among)) continue;
        char *old = value_text(before, &table[i]), *new = value_text(now, &table[i]);
        if (strcmp(old, new)) {
            char *longer = mem_format("%s  %s: %s%s%s\n", text ? text : "", table[i].key, *old ? old : "nothing",
                                      between, *new ? new : "nothing");
            mem_free(text);
            text = longer;
        }
        mem_free(old);
        mem_free(new);
    }
    return text;
}

void options_print_section(FILE *out, const Options *options, const char *section)
{
    for (int i = 0; i < N_OPTIONS; i++) {
        if (strcmp(table[i].section, section)) continue;
        char *value = value_text(options, &table[i]);
        fprintf(out, "%s\t%s\n", table[i].key, value);
        mem_free(value);
    }
}

static void help_section(FILE *out, const char *name, bool apart)
{
    int section = 0;
    while (strcmp(sections_help[section].name, name)) section++;
    fprintf(out, "%s[%s]\n%s\n\n", apart ? "\n" : "", name, sections_help[section].help);
}

static void help_option(FILE *out, const Option *option, const char *name)
{
    char *values = option->kind == OPTION_TEXT ? mem_string("text") : describe_values(option);
    const char *standard = *option->standard ? option->standard : "-";
    fprintf(out, "  %-20s %-13s %s\n      %s\n", name, standard, values, option->help);
    mem_free(values);
}

void options_help(FILE *out)
{
    fputs("Options, each with its default and the values that it may have. batch_tokens of section [train] is set\n"
          "  in a configuration:       [train]\n"
          "                            batch_tokens = 4096\n"
          "  on the command line:      --set train.batch_tokens=4096\n"
          "  or, in short:             --batch-tokens 4096\n\n",
          out);
    for (int i = 0; i < N_OPTIONS; i++) {
        if (starts_section(i)) help_section(out, table[i].section, i > 0);
        help_option(out, &table[i], table[i].name);
    }
}

bool options_help_topic(FILE *out, const char *topic)
{
    char *plain = plain_key(topic);
    bool found = false;
    for (int i = 0; i < N_OPTIONS; i++) {
        const Option *option = &table[i];
        const bool section = !strcmp(option->section, plain);
        if (section && !found) help_section(out, option->section, false);
        if (section) help_option(out, option, option->name);
        else if (!strcmp(option->name, plain) || !strcmp(option->key, plain)) help_option(out, option, option->key);
        else continue;
        found = true;
    }
    mem_free(plain);
    return found;
}

bool options_load(Options *options, const char *config, const OptionSettings *settings, Error *error)
{
    options_init(options);
    bool good = !config || options_read(options, config, error);
    for (int i = 0; i < settings->n && good; i++)
        good = options_set(options, settings->home, settings->setting[i].key, settings->setting[i].value, error);
    if (good && options_check(options, error)) return true;
    options_free(options);
    return false;
}
