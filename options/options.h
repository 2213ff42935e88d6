/* The options: one table (options.def) feeds this struct, the defaults, configuration files, command-line flags, the
 * help and the copy of the configuration in the run folder. To add an option, add its line to options.def. */
#ifndef FERRY_OPTIONS_OPTIONS_H
#define FERRY_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"
#include "core/precision.h" /* train.precision, decode.precision */

/* The values of the CHOICE options, in the order of their words. */
enum { TOKENIZED_NO, TOKENIZED_YES };
enum { NORM_POST, NORM_PRE };
enum { ACTIVATION_RELU, ACTIVATION_GELU };
enum { TIE_NONE, TIE_DECODER, TIE_ALL };
enum { SCHEDULE_INVERSE_SQRT, SCHEDULE_CONSTANT, SCHEDULE_LINEAR, SCHEDULE_COSINE };
enum { MATMUL_CHOICE_AUTO, MATMUL_CHOICE_PACKED, MATMUL_CHOICE_OPENBLAS };
enum { BEST_BLEU, BEST_LOSS };
enum { WEIGHTS_EMA, WEIGHTS_RAW };
enum { ON_NONFINITE_STOP, ON_NONFINITE_SKIP };
enum { LENGTH_NORM_PLAIN, LENGTH_NORM_GNMT, LENGTH_NORM_NONE };

/* One field an option, named section_name: options.model_d_model. Texts are owned: never NULL, "" when not set. */
typedef struct Options {
#define SECTION(section, help)
#define INT(section, name, ...) int64_t section##_##name;
#define REAL(section, name, ...) double section##_##name;
#define TEXT(section, name, ...) char *section##_##name;
#define CHOICE(section, name, ...) int section##_##name;
#include "options/options.def"
} Options;

/* An option that is set over the configuration: by a flag, or by who opens a model. */
typedef struct OptionSetting {
    char *key; /* [section.]name, as the user wrote it */
    const char *value;
} OptionSetting;

/* Several of them, in the order in which they count. */
typedef struct OptionSettings {
    const char *home; /* the section that a name means if several have it */
    OptionSetting *setting;
    int n, capacity;
} OptionSettings;

/* All defaults. Free with options_free. */
void options_init(Options *options);
void options_free(Options *options);
void options_copy(Options *to, const Options *from); /* `to` is not initialized yet */

/* Set one option from text. `key` is section.name, or a name alone; if several sections have the name, the one in
 * section `home` is meant ("" for the first). Dashes count as underscores. An unknown key, a value of the wrong kind
 * or out of range is a usage error that says what would be right; the option then keeps its value. */
bool options_set(Options *options, const char *home, const char *key, const char *value, Error *error);

/* True if options_set would find an option of that name. */
bool options_known(const char *home, const char *key);
/* Whether it is an option whose values are yes and no. */
bool options_is_yes_no(const char *home, const char *key);
/* section.name of a known option. */
const char *options_full_key(const char *home, const char *key);

/* The options that an unknown `key` may mean: that of the name in another section, that which other systems call so
 * (synonyms.c), the most similar one, or (of a key without a dot) those that contain it. Names, or section.name if the
 * key has a dot; returns how many. */
enum { OPTIONS_SIMILAR = 3 };
int options_similar(const char *key, const char *word[OPTIONS_SIMILAR]);

/* Read a configuration file over what `options` holds. Errors name the file and the line; `options` is then
 * untouched. */
bool options_read(Options *options, const char *path, Error *error);

/* All of it: defaults, then the file `config` (NULL: none), then the settings, then options_check. Free with
 * options_free (on success). */
bool options_load(Options *options, const char *config, const OptionSettings *settings, Error *error);

/* Check what no single option shows (heads divide d_model). To be called when all sources have been read. */
bool options_check(const Options *options, Error *error);

/* Write all values but the number of threads, which a run isn't bound to, as a configuration file, each under its help
 * as a comment; options_read gives the same values again. */
bool options_write(const Options *options, const char *path, Error *error);
/* What it writes; free with mem_free. */
char *options_to_long_text(const Options *options);
/* Whether the file is there and, by its first line, one that options_write wrote. */
bool options_is_written(const char *path);

/* The options that shape the result (class SHAPES), or translations (class DECODES), as the text of a configuration,
 * for a checkpoint; free with mem_free. */
char *options_to_text(const Options *options);
char *options_to_decode_text(const Options *options);
/* Read such a text over `options`; `name` stands for the file in errors. */
bool options_from_text(Options *options, const char *name, const char *text, Error *error);

/* What differs between two sets of options: in class SHAPES (among: NULL), or in all whose keys are, or begin with, a
 * string of `among`, which ends with a NULL. A line each, "  section.key: ", the value before, `between`, the value now;
 * or NULL if nothing differs. Free with mem_free. */
char *options_differences(const Options *before, const Options *now, const char *const *among, const char *between);

/* Print a section's values, a line "section.name\tvalue\n" each. */
void options_print_section(FILE *out, const Options *options, const char *section);

/* Print the table for people, by section. */
void options_help(FILE *out);
/* Print a section of it, or each option of that name ([section.]name); false, and nothing printed, if there is none. */
bool options_help_topic(FILE *out, const char *topic);

#endif
