/* The models that translate together, one or several: of several, the probabilities are averaged. */
#ifndef FERRY_TRANSLATE_ENSEMBLE_H
#define FERRY_TRANSLATE_ENSEMBLE_H

#include "run/run.h"
#include "translate/translator.h"

typedef struct Ensemble {
    int n;
    Run *run;      /* [n]; the first one's options and tokenizer count */
    Model **model; /* [n], theirs */
} Ensemble;

/* Open all models, by their names (run/run.h). Other vocabularies than the first one's are an error. Close with
 * ensemble_close (on success). */
bool ensemble_open(Ensemble *ensemble, const char *const *models, int n_models, const OptionSettings *settings, Error *error);
void ensemble_close(Ensemble *ensemble);

/* A translator that uses them, for as long as they are open. */
void ensemble_translator(const Ensemble *ensemble, Translator *translator);

#endif
