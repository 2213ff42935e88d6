/* Translates standard input, line by line, with a model that `ferry train` made:
 *     cc translate.c $(pkg-config --cflags --libs ferry) -o translate
 *     ./translate runs/toy <input.txt */
#include <ferry.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(const ferry_error *error)
{
    fprintf(stderr, "translate: %s\n", error->text);
    return error->code;
}

int main(int argc, char **argv)
{
    ferry_error error;
    ferry_call call;
    FERRY_INIT(error);
    FERRY_INIT(call);
    if (argc < 2) {
        fprintf(stderr, "usage: translate MODEL [beam=5]... <text\n");
        return FERRY_USAGE;
    }
    call.settings = (const char *const *)argv + 2; /* ends in NULL, as argv does */

    const char *name = argv[1];
    ferry_model *model = ferry_open(&name, 1, NULL, &error);
    if (!model) return failed(&error);

    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getline(&line, &room, stdin)) > 0) {
        if (line[n - 1] == '\n') n--;
        const char *text = line;
        const size_t length = (size_t)n;
        ferry_result *result = ferry_translate(model, &text, &length, 1, &call, &error);
        if (!result) return failed(&error);
        for (size_t i = 0; ferry_warning(result, i); i++)
            fprintf(stderr, "translate: warning: %s\n", ferry_warning(result, i));
        puts(ferry_text(result, 0));
        ferry_free(result);
        call.first_line = call.first_line ? call.first_line + 1 : 2; /* what warnings call the next one */
    }
    free(line);
    ferry_close(model);
    return 0;
}
