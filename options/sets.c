#include "options/sets.h"

#include <string.h>

#include "core/memory.h"
#include "text/words.h"

/* The comma that ends the first file name, or NULL. */
static const char *find_comma(const char *text)
{
    for (; *text; text++) {
        if (text[0] == '\\' && text[1] == ',') text++;
        else if (*text == ',') return text;
    }
    return NULL;
}

/* The n characters of a file name, "\," made a comma. */
static char *file_name(const char *text, size_t n)
{
    char *name = mem_alloc(n + 1), *to = name;
    for (const char *end = text + n; text < end; *to++ = *text++)
        if (text[0] == '\\' && text + 1 < end && text[1] == ',') text++;
    *to = '\0';
    return name;
}

static bool parse_one(NamedSet *set, const char *text, Error *error)
{
    const char *equals = strchr(text, '='), *comma = equals ? find_comma(equals + 1) : NULL;
    if (!comma || equals == text || comma == equals + 1 || !comma[1] || find_comma(comma + 1))
        return error_usage(error, "data.tests: '%s': expected NAME=SOURCE,REFERENCE", text);
    *set = (NamedSet){.name = mem_format("%.*s", (int)(equals - text), text),
                      .source = file_name(equals + 1, (size_t)(comma - equals - 1)),
                      .reference = file_name(comma + 1, strlen(comma + 1))};
    return true;
}

bool sets_parse(NamedSets *sets, const char *value, Error *error)
{
    Words list = words_split(value);
    *sets = (NamedSets){.set = mem_alloc((size_t)list.n * sizeof *sets->set)};
    bool good = true;
    for (int i = 0; i < list.n && good; i++) {
        good = parse_one(&sets->set[i], list.word[i], error);
        sets->n += good;
        for (int k = 0; k < i && good; k++)
            if (!strcmp(sets->set[k].name, sets->set[i].name))
                good = error_usage(error, "data.tests has two sets named '%s'", sets->set[i].name);
    }
    words_free(&list);
    if (!good) sets_free(sets);
    return good;
}

void sets_free(NamedSets *sets)
{
    for (int i = 0; i < sets->n; i++) {
        mem_free(sets->set[i].name);
        mem_free(sets->set[i].source);
        mem_free(sets->set[i].reference);
    }
    mem_free(sets->set);
    *sets = (NamedSets){0};
}
