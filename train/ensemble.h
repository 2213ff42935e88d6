/* The models that -m names, one or several: of several, the probabilities are averaged. */
#ifndef FERRY_TRAIN_ENSEMBLE_H
#define FERRY_TRAIN_ENSEMBLE_H

#include "train/run.h"
#include "train/translator.h"

typedef struct Ensemble {
    int n;
    Run *run;      /* [n]; the first one's options and tokenizer count */
    Model **model; /* [n], theirs */
} Ensemble;

/* Open all models of the command line. Other vocabularies than the first one's are an error. Close with ensemble_close (on
 * success). */
bool ensemble_open(Ensemble *ensemble, const CommandLine *line, Error *error);
void ensemble_close(Ensemble *ensemble);

/* A translator that uses them, for as long as they are open. */
void ensemble_translator(const Ensemble *ensemble, Translator *translator);

#endif
