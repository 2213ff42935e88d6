#include "translate/ensemble.h"

#include "core/memory.h"

/* The models' probabilities can be averaged only if their tokens are the same. */
static bool same_vocabulary(const Run *first, const Run *other, Error *error)
{
    if (tokenizer_hash(first->tokenizer) == tokenizer_hash(other->tokenizer)) return true;
    return error_usage(error, "%s and %s have different vocabularies; models that translate together must share one",
                       first->folder, other->folder);
}

bool ensemble_open(Ensemble *ensemble, const char *const *models, int n_models, const OptionSettings *settings, Error *error)
{
    const size_t n = (size_t)n_models;
    *ensemble = (Ensemble){.run = mem_zalloc(n * sizeof *ensemble->run), .model = mem_zalloc(n * sizeof *ensemble->model)};
    for (int i = 0; i < n_models; i++) {
        bool good = run_open(&ensemble->run[i], models[i], settings, error);
        if (good) ensemble->model[ensemble->n++] = ensemble->run[i].model;
        if (good && same_vocabulary(&ensemble->run[0], &ensemble->run[i], error)) continue;
        ensemble_close(ensemble);
        return false;
    }
    return true;
}

void ensemble_close(Ensemble *ensemble)
{
    for (int i = 0; i < ensemble->n; i++) run_close(&ensemble->run[i]);
    mem_free(ensemble->run);
    mem_free(ensemble->model);
    *ensemble = (Ensemble){0};
}

void ensemble_translator(const Ensemble *ensemble, Translator *translator)
{
    const Run *first = &ensemble->run[0];
    translator_init_ensemble(translator, ensemble->model, ensemble->n, first->tokenizer, &first->options);
}
