/* Corpus BLEU (Papineni et al. 2002) as sacreBLEU 2 computes it by default (Post 2018): mteval-v13a tokenization, case kept,
 * n-grams up to 4, exponential smoothing. */
#ifndef FERRY_METRICS_BLEU_H
#define FERRY_METRICS_BLEU_H

#include <stddef.h>
#include <stdint.h>

enum { BLEU_ORDER = 4 };

/* What is counted over the sentences. Starts as all zeros; counts of parts of a corpus may be added up. */
typedef struct Bleu {
    uint64_t match[BLEU_ORDER], total[BLEU_ORDER]; /* n-grams of the hypotheses: found in the reference (clipped), all */
    uint64_t hypothesis_length, reference_length;  /* tokens */
} Bleu;

typedef struct BleuScore {
    double score;                 /* 0 .. 100 */
    double precision[BLEU_ORDER]; /* percent, smoothed; all 0 if not a single token matches */
    double brevity_penalty;
} BleuScore;

/* Count one sentence: UTF-8 without final newline; ill-formed bytes count as they are. */
void bleu_add(Bleu *bleu, const char *hypothesis, size_t hypothesis_bytes, const char *reference, size_t reference_bytes);
/* The same with n references (at least one): an n-gram counts as often as in the reference that has it most often, and the
 * length is that of the reference whose length is closest; of two equally close, the shorter one. */
void bleu_add_references(Bleu *bleu, const char *hypothesis, size_t hypothesis_bytes, const char *const *reference,
                         const size_t *reference_bytes, int n);
BleuScore bleu_score(const Bleu *bleu);

/* How a score with so many references was computed, in the words of sacreBLEU's signatures; Ferry's name and version stand where
 * sacreBLEU's version does. Free with mem_free. */
char *bleu_signature(int n_references);

/* The tokens that BLEU compares, with one blank between; zero-terminated. Free with mem_free. */
char *bleu_tokenize(const char *text, size_t bytes);

#endif
