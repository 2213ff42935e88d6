/* Words in one string, as options hold lists: of files, of symbols, of weights. */
#ifndef FERRY_TEXT_WORDS_H
#define FERRY_TEXT_WORDS_H

typedef struct Words {
    char **word; /* [n] */
    int n;
} Words;

/* Split at blanks (spaces, tabs); backslash-space is a space in a word, any other backslash stands for itself. Never
 * fails; n is 0 if `text` is blank. Free with words_free. */
Words words_split(const char *text);
void words_free(Words *words);

#endif
