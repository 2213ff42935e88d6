/* Scores of translations against references: BLEU, chrF, exact matches. */
#ifndef FERRY_TRANSLATE_SCORES_H
#define FERRY_TRANSLATE_SCORES_H

#include "data/lines.h"
#include "translate/translator.h"

/* A test set: source lines and their references, raw. */
typedef struct TestSet {
    LineArray source, reference;
} TestSet;

typedef struct Scores {
    size_t n_sentences;
    double bleu, chrf; /* of the corpus, as sacreBLEU; 0 .. 100 */
    double exact;      /* percent of the translations equal to their reference, or one of them, in normal form */
} Scores;

/* Read the files of both sides; different numbers of lines are an error. Free with scores_free_set. */
bool scores_read_set(TestSet *set, const char *source_files, const char *reference_files, Error *error);
void scores_free_set(TestSet *set);

/* Compare translations that are there already, in the file `hypothesis`, with n files of references (at least one),
 * line by line. Unequal numbers of lines are an error that names both files. */
bool scores_of_files(const char *hypothesis, const char *const *reference, int n, Scores *scores, Error *error);

/* Compare translations of the source side, [n_sentences]. */
Scores scores_of_set(const TestSet *set, const Text *translation);

/* Translate the source side and compare. False if the translator's `stop` said so. *translations, if asked for, are the
 * translations, [n_sentences]; free each, and the array. */
bool scores_of(Translator *translator, const TestSet *set, const char *name, Scores *scores, Text **translations);

#endif
