/* Sentences of the toy corpus: the patterns, each with how often it is drawn. */
#ifndef FERRY_DATA_TOY_SENTENCE_H
#define FERRY_DATA_TOY_SENTENCE_H

#include "data/toy/phrase.h"

/* A sentence, finished (capital, punctuation). The same English always comes with the same French. */
Pair sentence_draw(Draw *draw);

#endif
