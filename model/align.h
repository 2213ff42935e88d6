/* Alignments: which source tokens a translation's tokens come from, as the decoder's cross-attention sees it. */
#ifndef FERRY_MODEL_ALIGN_H
#define FERRY_MODEL_ALIGN_H

#include "model/search.h"

/* The weights of sentence s are weight[s][target tokens, source tokens], EOS last on both sides; each row's sum is 1. Row i is
 * where the model looked when it predicted label i: the mean over heads, over the upper half of the decoder's layers (which
 * aligns best), and over the search's models. In the arena. */
void align_batch(Search *search, const Batch *batch, Arena *arena, real **weight);

#endif
