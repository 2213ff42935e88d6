#include <stdlib.h>

#include "translate/abi.h"
#include "translate/library.h"

enum { LINE_BYTES = 512 }; /* what a short line takes, with what belongs to it */

ferry_result *result_new(void)
{
    return calloc(1, sizeof(ferry_result));
}

void result_begin(ferry_result *result, size_t n_lines, size_t bytes)
{
    arena_reserve(&result->arena, n_lines * LINE_BYTES + 4 * bytes + LINE_BYTES);
    result->line = mem_zalloc(n_lines * sizeof *result->line);
    result->n = n_lines;
}

const char *result_text(ferry_result *result, const char *text, size_t n)
{
    char *copy = arena_alloc(&result->arena, n + 1);
    if (n) memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

size_t ferry_n_lines(const ferry_result *result)
{
    return result ? result->n : 0;
}

size_t ferry_n_translations(const ferry_result *result, size_t i)
{
    return i < ferry_n_lines(result) ? result->line[i].n : 0;
}

int ferry_get(const ferry_result *result, size_t i, size_t place, ferry_translation *translation)
{
    if (place >= ferry_n_translations(result, i)) return 0;
    return abi_write(translation, &result->line[i].translation[place], sizeof *translation);
}

const char *ferry_text(const ferry_result *result, size_t i)
{
    return ferry_n_translations(result, i) ? result->line[i].translation->text : NULL;
}

const char *ferry_warning(const ferry_result *result, size_t i)
{
    return result && i < result->warnings.n ? result->warnings.text[i] : NULL;
}

void ferry_free(ferry_result *result)
{
    if (!result) return;
    mem_scope_free(&result->scope);
    free(result);
}
