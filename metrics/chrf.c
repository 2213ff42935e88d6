#include "metrics/chrf.h"

#include "core/memory.h"
#include "metrics/ngram.h"
#include "metrics/unicode.h"

/* The characters that are no whitespace, into `out` with room for `bytes`; returns their number. */
static size_t visible_characters(const char *text, size_t bytes, uint32_t *out)
{
    size_t n = 0;
    for (size_t at = 0; at < bytes;) {
        at += unicode_next(text + at, bytes - at, &out[n]);
        if (!unicode_is_space(out[n])) n++;
    }
    return n;
}

void chrf_add(Chrf *chrf, const char *hypothesis, size_t hypothesis_bytes, const char *reference, size_t reference_bytes)
{
    uint32_t *characters = mem_alloc((hypothesis_bytes + reference_bytes) * sizeof *characters);
    size_t n_hypothesis = visible_characters(hypothesis, hypothesis_bytes, characters);
    size_t n_reference = visible_characters(reference, reference_bytes, characters + n_hypothesis);
    for (int n = 1; n <= CHRF_ORDER; n++) {
        /* a sentence whose reference is too short for the order has no part in its precision */
        if (ngram_count(n_reference, n)) chrf->hypothesis[n - 1] += ngram_count(n_hypothesis, n);
        chrf->reference[n - 1] += ngram_count(n_reference, n);
    }
    ngram_add_matches(characters, n_hypothesis, characters + n_hypothesis, n_reference, CHRF_ORDER, chrf->match);
    mem_free(characters);
}

void chrf_add_references(Chrf *chrf, const char *hypothesis, size_t hypothesis_bytes, const char *const *reference,
                         const size_t *reference_bytes, int n)
{
    Chrf best = {0};
    double best_score = -1;
    for (int r = 0; r < n; r++) {
        Chrf alone = {0};
        chrf_add(&alone, hypothesis, hypothesis_bytes, reference[r], reference_bytes[r]);
        const double score = chrf_score(&alone);
        if (score > best_score) best = alone;
        if (score > best_score) best_score = score;
    }
    for (int i = 0; i < CHRF_ORDER; i++) {
        chrf->match[i] += best.match[i];
        chrf->hypothesis[i] += best.hypothesis[i];
        chrf->reference[i] += best.reference[i];
    }
}

double chrf_score(const Chrf *chrf)
{
    const double weight = 2 * 2; /* beta squared */
    double precision = 0, recall = 0;
    int n_orders = 0; /* those for which both sides have n-grams */
    for (int i = 0; i < CHRF_ORDER; i++) {
        if (!chrf->hypothesis[i] || !chrf->reference[i]) continue;
        precision += (double)chrf->match[i] / (double)chrf->hypothesis[i];
        recall += (double)chrf->match[i] / (double)chrf->reference[i];
        n_orders++;
    }
    if (!(precision + recall > 0)) return 0;
    precision /= n_orders;
    recall /= n_orders;
    return 100 * ((1 + weight) * precision * recall / (weight * precision + recall));
}

char *chrf_signature(int n_references)
{
    return mem_format("chrF2|nrefs:%d|case:mixed|eff:yes|nc:%d|nw:0|space:no|version:ferry-" FERRY_VERSION, n_references, CHRF_ORDER);
}
