/* Corpus chrF (Popovic 2015) as sacreBLEU 2 computes it by default ("chrF2"): character n-grams up to 6 without whitespace,
 * recall weighing beta = 2 times as much as precision, no word n-grams. */
#ifndef FERRY_METRICS_CHRF_H
#define FERRY_METRICS_CHRF_H

#include <stddef.h>
#include <stdint.h>

enum { CHRF_ORDER = 6 };

/* What is counted over the sentences. Starts as all zeros; counts of parts of a corpus may be added up. */
typedef struct Chrf {
    uint64_t match[CHRF_ORDER], hypothesis[CHRF_ORDER], reference[CHRF_ORDER]; /* n-grams: in both (clipped), in each */
} Chrf;

/* Count one sentence: UTF-8; an ill-formed byte counts as one character. */
void chrf_add(Chrf *chrf, const char *hypothesis, size_t hypothesis_bytes, const char *reference, size_t reference_bytes);
/* The same with n references (at least one): the one with which the sentence alone scores best counts, the first of equals. */
void chrf_add_references(Chrf *chrf, const char *hypothesis, size_t hypothesis_bytes, const char *const *reference,
                         const size_t *reference_bytes, int n);
/* 0 .. 100 */
double chrf_score(const Chrf *chrf);

/* As bleu_signature. */
char *chrf_signature(int n_references);

#endif
