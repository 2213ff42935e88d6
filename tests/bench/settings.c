#include "tests/bench/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/threads.h"
#include "train/number.h"

const char *settings_text(const char *name, const char *standard)
{
    const char *value = getenv(name);
    return value && *value ? value : standard;
}

bool settings_words(const char *name, const char *standard, const char **words, int *n, Error *error)
{
    static char *kept[SETTINGS_MOST]; /* the words point into it */
    static int n_kept;
    CHECK(n_kept < SETTINGS_MOST, "%d settings", n_kept);
    char *rest = kept[n_kept++] = mem_string(settings_text(name, standard)), *word;
    *n = 0;
    while ((word = strtok_r(rest, " \t\n", &rest))) {
        if (*n == SETTINGS_MOST) return error_usage(error, "%s has more than %d words", name, SETTINGS_MOST);
        words[(*n)++] = word;
    }
    return *n > 0 || error_usage(error, "%s is blank", name);
}

bool settings_ints(const char *name, const char *standard, int least, int most, int *values, int *n, Error *error)
{
    const char *words[SETTINGS_MOST];
    if (!settings_words(name, standard, words, n, error)) return false;
    for (int i = 0; i < *n; i++) {
        int64_t value;
        if (!number_read_int(words[i], &value) || value < least || value > most)
            return error_usage(error, "%s: '%s' is no whole number from %d to %d", name, words[i], least, most);
        values[i] = (int)value;
    }
    return true;
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
