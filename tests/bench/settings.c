#include "tests/bench/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/threads.h"
#include "system/number.h"

const char *settings_text(const char *name, const char *standard)
{
    const char *value = getenv(name);
    return value && *value ? value : standard;
}

bool settings_words(const char *name, const char *standard, Settings *words, Error *error)
{
    *words = (Settings){.text = mem_string(settings_text(name, standard))};
    char *rest = words->text, *word;
    while ((word = strtok_r(rest, " \t\n", &rest))) {
        if (words->n == SETTINGS_MOST) {
            settings_free(words);
            return error_usage(error, "%s has more than %d words", name, SETTINGS_MOST);
        }
        words->word[words->n++] = word;
    }
    return true;
}

void settings_free(Settings *words)
{
    mem_free(words->text);
    *words = (Settings){.n = 0};
}

bool settings_ints(const char *name, const char *standard, int least, int most, int *values, int *n, Error *error)
{
    Settings words;
    if (!settings_words(name, standard, &words, error)) return false;
    bool good = words.n > 0 || error_usage(error, "%s is blank", name);
    for (int i = 0; i < words.n && good; i++) {
        int64_t value = 0;
        good = (number_read_int(words.word[i], &value) && value >= least && value <= most) ||
               error_usage(error, "%s: '%s' is no whole number from %d to %d", name, words.word[i], least, most);
        values[i] = (int)value;
    }
    *n = words.n;
    settings_free(&words);
    return good;
}

bool settings_int(const char *name, const char *standard, int least, int most, int *value, Error *error)
{
    int values[SETTINGS_MOST], n;
    if (!settings_ints(name, standard, least, most, values, &n, error)) return false;
    if (n != 1) return error_usage(error, "%s is one number, not %d", name, n);
    *value = values[0];
    return true;
}

const char *settings_threads(void)
{
    static char text[32] = "1";
    const int all = threads_count();
    if (all > 1) snprintf(text, sizeof text, "1 %d", all);
    return text;
}

bool settings_real(const char *name, const char *standard, double *value, Error *error)
{
    const char *text = settings_text(name, standard);
    return (number_read_real(text, value) && *value >= 0) ||
           error_usage(error, "%s: '%s' is no number from 0 on", name, text);
}
