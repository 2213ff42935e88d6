/* What the test programs of the library share: each is a host, on include/ferry.h alone. */
#ifndef FERRY_TESTS_LIBRARY_HOST_H
#define FERRY_TESTS_LIBRARY_HOST_H

#include <ferry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* End the program unless the condition holds. */
#define EXPECT(condition, ...)                                                        \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: %s does not hold: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__);                                             \
            fputc('\n', stderr);                                                      \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

/* The lines of a file, without their ends. */
typedef struct Lines {
    char *text;
    const char **line; /* [n] */
    size_t n;
} Lines;

static inline Lines lines_read(const char *path)
{
    FILE *file = fopen(path, "r");
    EXPECT(file, "%s", path);
    Lines lines = {.text = malloc(1 << 22), .line = malloc((1 << 16) * sizeof(char *))};
    const size_t bytes = fread(lines.text, 1, (1 << 22) - 1, file);
    fclose(file);
    lines.text[bytes] = '\0';
    for (char *next = lines.text; *next && lines.n < 1 << 16;) {
        lines.line[lines.n++] = next;
        next += strcspn(next, "\n");
        if (*next) *next++ = '\0';
    }
    return lines;
}

static inline void lines_end(Lines *lines)
{
    free(lines->text);
    free(lines->line);
}

static inline ferry_model *open_model(const char *name, const ferry_open_options *options)
{
    ferry_error error;
    FERRY_INIT(error);
    ferry_model *model = ferry_open(&name, 1, options, &error);
    EXPECT(model, "%s", error.text);
    EXPECT(error.code == FERRY_OK && !*error.text, "%d %s", error.code, error.text);
    return model;
}

static inline ferry_result *translate(ferry_model *model, const Lines *lines, const ferry_call *call)
{
    ferry_error error;
    FERRY_INIT(error);
    ferry_result *result = ferry_translate(model, lines->line, NULL, lines->n, call, &error);
    EXPECT(result, "%s", error.text);
    EXPECT(ferry_n_lines(result) == lines->n, "%zu", ferry_n_lines(result));
    return result;
}

/* The same texts and, to the last bit, the same scores. */
static inline void expect_same(const ferry_result *a, const ferry_result *b)
{
    EXPECT(ferry_n_lines(a) == ferry_n_lines(b), "%zu %zu", ferry_n_lines(a), ferry_n_lines(b));
    for (size_t i = 0; i < ferry_n_lines(a); i++) {
        EXPECT(ferry_n_translations(a, i) == ferry_n_translations(b, i), "line %zu", i);
        for (size_t place = 0; place < ferry_n_translations(a, i); place++) {
            ferry_translation x, y;
            FERRY_INIT(x);
            FERRY_INIT(y);
            EXPECT(ferry_get(a, i, place, &x) && ferry_get(b, i, place, &y), "line %zu", i);
            EXPECT(!strcmp(x.text, y.text) && !strcmp(x.tokens, y.tokens), "line %zu: %s / %s", i, x.text, y.text);
            EXPECT(x.score == y.score, "line %zu: %a %a", i, x.score, y.score);
            EXPECT(x.log_probability == y.log_probability, "line %zu", i);
        }
    }
}

#endif
