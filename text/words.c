#include "text/words.h"

#include <string.h>

#include "core/memory.h"

Words words_split(const char *text)
{
    Words words = {0};
    int capacity = 0;
    while (*(text += strspn(text, " \t"))) {
        char *word = mem_alloc(strlen(text) + 1);
        size_t n = 0;
        for (; *text && *text != ' ' && *text != '\t'; text++) {
            if (text[0] == '\\' && text[1] == ' ') text++;
            word[n++] = *text;
        }
        word[n] = 0;
        ARRAY_RESERVE(words.word, words.n, capacity);
        words.word[words.n++] = word;
    }
    return words;
}

void words_free(Words *words)
{
    for (int i = 0; i < words->n; i++) mem_free(words->word[i]);
    mem_free(words->word);
    *words = (Words){0};
}
