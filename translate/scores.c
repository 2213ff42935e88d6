#include "translate/scores.h"

#include <string.h>

#include "core/memory.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/exact.h"

static bool check_lines(const char *name, size_t n, const char *other, size_t n_other, const char *relation, Error *error)
{
    if (n != n_other)
        return error_set(error, "%s has %zu line%s, but %s has %zu; line n of one must %s line n of the other", name, n,
                         plural((int64_t)n), other, n_other, relation);
    return n || error_set(error, "%s is empty", name);
}

bool scores_read_set(TestSet *set, const char *source_files, const char *reference_files, Error *error)
{
    Words source = words_split(source_files), reference = words_split(reference_files);
    *set = (TestSet){0};
    const bool good = lines_read_all(&source, false, &set->source, error) &&
                      lines_read_all(&reference, false, &set->reference, error) &&
                      check_lines(source_files, set->source.n, reference_files, set->reference.n, "translate", error);
    if (!good) scores_free_set(set);
    words_free(&source);
    words_free(&reference);
    return good;
}

void scores_free_set(TestSet *set)
{
    lines_array_free(&set->source);
    lines_array_free(&set->reference);
}

/* ---- comparing ---- */

typedef struct Counts {
    Bleu bleu;
    Chrf chrf;
    size_t n, n_exact;
    Text normal[2]; /* scratch */
} Counts;

/* Both in normal form: a model's translations are in it already. */
static bool equal(Counts *counts, const char *hypothesis, size_t n_hypothesis, const char *reference, size_t n_reference)
{
    Text *normal = counts->normal;
    text_normalize(&normal[0], hypothesis, n_hypothesis);
    text_normalize(&normal[1], reference, n_reference);
    return exact_match(normal[0].data, normal[0].n, normal[1].data, normal[1].n);
}

static void count(Counts *counts, const char *hypothesis, size_t n_hypothesis, const char *const *reference,
                  const size_t *n_reference, int n)
{
    bleu_add_references(&counts->bleu, hypothesis, n_hypothesis, reference, n_reference, n);
    chrf_add_references(&counts->chrf, hypothesis, n_hypothesis, reference, n_reference, n);
    bool exact = false;
    for (int r = 0; r < n && !exact; r++) exact = equal(counts, hypothesis, n_hypothesis, reference[r], n_reference[r]);
    counts->n_exact += exact;
    counts->n++;
}

static Scores finish(Counts *counts)
{
    for (int i = 0; i < 2; i++) text_free(&counts->normal[i]);
    return (Scores){.n_sentences = counts->n,
                    .bleu = bleu_score(&counts->bleu).score,
                    .chrf = chrf_score(&counts->chrf),
                    .exact = 100.0 * (double)counts->n_exact / (double)counts->n};
}

Scores scores_of_set(const TestSet *set, const Text *translation)
{
    Counts counts = {0};
    for (size_t i = 0; i < set->source.n; i++) {
        size_t length;
        const char *reference = lines_get(&set->reference, i, &length);
        count(&counts, translation[i].data, translation[i].n, &reference, &length, 1);
    }
    return finish(&counts);
}

static Scores compare_lines(const LineArray *hypothesis, const LineArray *reference, int n)
{
    Counts counts = {0};
    const char **text = mem_alloc((size_t)n * sizeof *text);
    size_t *length = mem_alloc((size_t)n * sizeof *length), n_hypothesis;
    for (size_t i = 0; i < hypothesis->n; i++) {
        for (int r = 0; r < n; r++) text[r] = lines_get(&reference[r], i, &length[r]);
        const char *line = lines_get(hypothesis, i, &n_hypothesis);
        count(&counts, line, n_hypothesis, text, length, n);
    }
    mem_free(text);
    mem_free(length);
    return finish(&counts);
}

static bool read_one(const char *path, LineArray *lines, Error *error)
{
    char *name = mem_string(path);
    const bool good = lines_read_all(&(Words){.word = &name, .n = 1}, false, lines, error);
    mem_free(name);
    return good;
}

static const char *shown(const char *path)
{
    return strcmp(path, "-") ? path : "standard input";
}

bool scores_of_files(const char *hypothesis, const char *const *reference, int n, Scores *scores, Error *error)
{
    LineArray translations = {0}, *wanted = mem_zalloc((size_t)n * sizeof *wanted);
    bool good = read_one(hypothesis, &translations, error);
    for (int r = 0; r < n && good; r++)
        good = read_one(reference[r], &wanted[r], error) &&
               check_lines(shown(hypothesis), translations.n, shown(reference[r]), wanted[r].n, "belong to", error);
    if (good) *scores = compare_lines(&translations, wanted, n);
    lines_array_free(&translations);
    for (int r = 0; r < n; r++) lines_array_free(&wanted[r]);
    mem_free(wanted);
    return good;
}

bool scores_of(Translator *translator, const TestSet *set, const char *name, Scores *scores, Text **translations)
{
    const size_t n = set->source.n;
    Text *lines = mem_zalloc(n * sizeof *lines), *out = mem_zalloc(n * sizeof *out);
    for (size_t i = 0; i < n; i++) lines[i].data = (char *)lines_get(&set->source, i, &lines[i].n); /* lent, not owned */
    bool good = translator_lines(translator, lines, n, name, 1, out);
    mem_free(lines);
    if (good) *scores = scores_of_set(set, out);
    if (good && translations) {
        *translations = out;
        return true;
    }
    for (size_t i = 0; i < n; i++) text_free(&out[i]);
    mem_free(out);
    return good;
}
