/* Text to text: a model, its tokenizer and a search, over many lines at once. */
#ifndef FERRY_TRAIN_TRANSLATOR_H
#define FERRY_TRAIN_TRANSLATOR_H

#include "data/text.h"
#include "data/tokenizer.h"
#include "model/search.h"
#include "train/options.h"

typedef struct Translator {
    Model *model;
    const Tokenizer *tokenizer;
    TokenizerCache *cache;
    Search search;
    SearchOptions limits;
    int max_source, batch_tokens;
    int (*stop)(void); /* asked again and again: nonzero to give up; NULL: never */
    bool reports;      /* show progress on standard error */
} Translator;

/* Uses model (frozen by the caller) and tokenizer, which must outlive it. Free with translator_free. */
void translator_init(Translator *translator, Model *model, const Tokenizer *tokenizer, const Options *options);
void translator_free(Translator *translator);

/* Translate n lines, lines first_number, first_number + 1, .. of the file `name` (for warnings): out[i], all zeros before,
 * becomes the translation of lines[i], empty for a blank line. Lines are sorted by length into batches; a line's translation
 * doesn't depend on the others. False if `stop` said so. */
bool translator_lines(Translator *translator, const Text *lines, size_t n, const char *name, int64_t first_number,
                      Text *out);

#endif
