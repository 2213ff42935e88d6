/* Text to text: models, their tokenizer and a search, over many lines at once. */
#ifndef FERRY_TRANSLATE_TRANSLATOR_H
#define FERRY_TRANSLATE_TRANSLATOR_H

#include "data/sequences.h"
#include "data/tokenizer.h"
#include "model/search.h"
#include "options/options.h"
#include "text/text.h"

typedef struct Translator {
    const Tokenizer *tokenizer;
    TokenizerCache *cache;
    Search search;                   /* of all models, for callers */
    struct TranslatorWorker *worker; /* [n_workers] what each thread translates with */
    int n_workers;
    SearchOptions limits;
    int max_source, batch_tokens;
    bool aligns, scores; /* compute alignments, token scores */
    int (*stop)(void *context); /* asked again and again, by all threads: nonzero to give up; NULL: never */
    void *stop_context;
    /* Told how many of n sequences are done, by one thread at a time; NULL: nobody is. */
    void (*progress)(void *context, size_t n_done, size_t n);
    void *progress_context;
} Translator;

/* Uses model (frozen by the caller) and tokenizer, which must outlive it. Free with translator_free. */
void translator_init(Translator *translator, Model *model, const Tokenizer *tokenizer, const Options *options);
/* The same for several models with one vocabulary, whose probabilities are averaged. */
void translator_init_ensemble(Translator *translator, Model *const *model, int n_models, const Tokenizer *tokenizer,
                              const Options *options);
void translator_free(Translator *translator);

/* The search that the options describe: the best translation of each line, with this tokenizer. */
SearchOptions translator_search_options(const Options *options, const Tokenizer *tokenizer);

/* Append the tokens of a source line and EOS to `sequences`: cut to decode.max_source tokens, with a warning that
 * names the line. */
void translator_append(const Translator *translator, Tokens *tokens, const char *name, int64_t number, Sequences *sequences);

/* What came of one sequence. */
typedef struct Translated {
    size_t index;             /* the sequence */
    const Translation *best;  /* with the next best linked to it */
    int n_source;             /* tokens of the source, EOS counted */
    const real *const *weight; /* alignments (model/align.h), a matrix for each translation of the list, if asked for */
    const double *const *score; /* log-probabilities of each one's tokens and its end; NULL: not asked for */
} Translated;

/* Translate all sequences but those of EOS alone, line first_number and on of some file (which decides what is drawn
 * when sampling). prefix: the beginnings that are given, one a sequence, or NULL. `take` is called with each result,
 * in any order, one at a time. Sequences are sorted by length into batches, of which each thread translates one at a
 * time; a result depends neither on the other sequences nor on the threads. False if `stop` said so. */
bool translator_run(Translator *translator, const Sequences *source, const Sequences *prefix, int64_t first_number,
                    void (*take)(void *context, const Translated *translated), void *context);

/* Translate n lines, lines first_number, first_number + 1, .. of the file `name` (for warnings): out[i], all zeros
 * before, becomes the best translation of lines[i], empty for a blank line. False if `stop` said so. */
bool translator_lines(Translator *translator, const Text *lines, size_t n, const char *name, int64_t first_number,
                      Text *out);

#endif
