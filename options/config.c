#include "options/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static char *skip_blanks(char *text)
{
    return text + strspn(text, " \t");
}

static bool is_comment(char c)
{
    return c == '#' || c == ';';
}

/* Cut the blanks at the end of `text`, which ends at `end`. */
static void cut_blanks(char *text, char *end)
{
    while (end > text && is_blank(end[-1])) end--;
    *end = '\0';
}

/* Cut the comment and the blanks at the end of a value, in place; make "\#" and "\;" # and ;. Blanks after \ stay. */
static void clean_value(char *value)
{
    char *to = value, *end = value; /* `end` is behind the last character that is not a plain blank */
    bool after_blank = true;
    for (const char *from = value; *from; from++) {
        if (is_comment(*from) && after_blank) break;
        after_blank = is_blank(*from);
        if (*from == '\\' && is_comment(from[1])) from++;
        else if (*from == '\\' && is_blank(from[1])) *to++ = *from++;
        *to++ = *from;
        if (!after_blank) end = to;
    }
    *end = '\0';
}

static bool parse_section(const char *name, int line, char *text, const char **section, Error *error)
{
    char *inside = skip_blanks(text + 1), *close = strchr(inside, ']');
    if (!close) return error_usage(error, "%s:%d: '%s' lacks the closing ]", name, line, text);
    char *rest = skip_blanks(close + 1);
    if (*rest && !is_comment(*rest)) return error_usage(error, "%s:%d: '%s' follows the ] of a section", name, line, rest);
    cut_blanks(inside, close);
    *section = inside;
    return true;
}

/* Parse one line, without its end. */
static bool parse_line(Config *config, const char *name, int line, char *text, const char **section, Error *error)
{
    text = skip_blanks(text);
    if (!*text || is_comment(*text)) return true;
    if (*text == '[') return parse_section(name, line, text, section, error);
    char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return error_usage(error, "%s:%d: expected 'key = value' or '[section]', found '%s'", name, line, text);
    cut_blanks(text, equals);
    if (!*section) return error_usage(error, "%s:%d: '%s' stands before the first [section]", name, line, text);
    for (char *c = text; *c; c++)
        if (*c == '-') *c = '_';
    for (int i = 0; i < config->n; i++)
        if (!strcmp(config->entry[i].section, *section) && !strcmp(config->entry[i].key, text))
            return error_usage(error, "%s:%d: %s.%s is set in line %d already; keep one of the two", name, line, *section,
                               text, config->entry[i].line);
    char *value = skip_blanks(equals + 1);
    clean_value(value);
    ARRAY_RESERVE(config->entry, config->n, config->capacity);
    config->entry[config->n++] = (ConfigEntry){.section = *section, .key = text, .value = value, .line = line};
    return true;
}

/* Parse config->text, which has a NUL at `length`. */
static bool parse(Config *config, const char *name, size_t length, Error *error)
{
    const char *section = NULL;
    char *end = config->text + length;
    char *line = config->text + (strncmp(config->text, "\xef\xbb\xbf", 3) ? 0 : 3);
    for (int number = 1; line < end; number++) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        if (!newline) newline = end;
        *newline = '\0';
        if (strlen(line) < (size_t)(newline - line))
            return error_usage(error, "%s:%d: a zero byte: this is not a text file", name, number);
        if (newline > line && newline[-1] == '\r') newline[-1] = '\0';
        if (!parse_line(config, name, number, line, &section, error)) return false;
        line = newline + 1;
    }
    return true;
}

/* Takes `text`, which has `length` bytes and a NUL. */
static bool take(Config *config, const char *name, char *text, size_t length, Error *error)
{
    *config = (Config){.text = text};
    if (parse(config, name, length, error)) return true;
    config_free(config);
    return false;
}

bool config_parse(Config *config, const char *name, const char *text, size_t length, Error *error)
{
    char *copy = mem_alloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return take(config, name, copy, length, error);
}

static void close_file(void *file)
{
    fclose(file);
}

bool config_read(Config *config, const char *path, Error *error)
{
    FILE *file = fopen(path, "rb");
    if (!file) return error_usage(error, "cannot open the configuration %s: %s", path, strerror(errno));
    MemDeferred *closing = mem_defer(close_file, file);
    size_t length = 0, capacity = 4096, n;
    char *text = mem_alloc(capacity);
    while ((n = fread(text + length, 1, capacity - length - 1, file)) > 0) {
        length += n;
        if (length + 1 < capacity) continue;
        text = mem_resize(text, capacity, 2 * capacity);
        capacity *= 2;
    }
    int failure = ferror(file) ? errno : 0;
    mem_release(closing);
    if (failure) {
        mem_free(text);
        return error_usage(error, "cannot read the configuration %s: %s", path, strerror(failure));
    }
    text[length] = '\0';
    return take(config, path, text, length, error);
}

void config_free(Config *config)
{
    mem_free(config->entry);
    mem_free(config->text);
    *config = (Config){0};
}
