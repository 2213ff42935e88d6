#include "translate/scores.h"

#include "core/memory.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/exact.h"

bool scores_read_set(TestSet *set, const char *source_files, const char *reference_files, Error *error)
{
    FileList source = lines_file_list(source_files), reference = lines_file_list(reference_files);
    *set = (TestSet){0};
    bool good = lines_read_all(&source, false, &set->source, error);
    if (good && !lines_read_all(&reference, false, &set->reference, error)) {
        lines_array_free(&set->source);
        good = false;
    }
    if (good && set->source.n != set->reference.n) {
        error_set(error, "%s has %zu lines, %s %zu; line n of one must translate line n of the other", source_files,
                  set->source.n, reference_files, set->reference.n);
        scores_free_set(set);
        good = false;
    }
    if (good && !set->source.n) {
        error_set(error, "%s is empty", source_files);
        scores_free_set(set);
        good = false;
    }
    lines_file_list_free(&source);
    lines_file_list_free(&reference);
    return good;
}

void scores_free_set(TestSet *set)
{
    lines_array_free(&set->source);
    lines_array_free(&set->reference);
}

static Scores compare(const TestSet *set, const Text *translation)
{
    const size_t n = set->source.n;
    Bleu bleu = {0};
    Chrf chrf = {0};
    size_t n_exact = 0;
    Text normal = {0};
    for (size_t i = 0; i < n; i++) {
        size_t length;
        const char *reference = lines_get(&set->reference, i, &length);
        bleu_add(&bleu, translation[i].data, translation[i].n, reference, length);
        chrf_add(&chrf, translation[i].data, translation[i].n, reference, length);
        text_normalize(&normal, reference, length);
        n_exact += exact_match(translation[i].data, translation[i].n, normal.data, normal.n);
    }
    text_free(&normal);
    return (Scores){.n_sentences = n,
                    .bleu = bleu_score(&bleu).score,
                    .chrf = chrf_score(&chrf),
                    .exact = 100.0 * (double)n_exact / (double)n};
}

bool scores_of(Translator *translator, const TestSet *set, const char *name, Scores *scores, Text **translations)
{
    const size_t n = set->source.n;
    Text *lines = mem_zalloc(n * sizeof *lines), *out = mem_zalloc(n * sizeof *out);
    for (size_t i = 0; i < n; i++) lines[i].data = (char *)lines_get(&set->source, i, &lines[i].n); /* lent, not owned */
    bool good = translator_lines(translator, lines, n, name, 1, out);
    mem_free(lines);
    if (good) *scores = compare(set, out);
    if (good && translations) {
        *translations = out;
        return true;
    }
    for (size_t i = 0; i < n; i++) text_free(&out[i]);
    mem_free(out);
    return good;
}
