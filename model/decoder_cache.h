/* Decoding step by step, with the keys and values of what is there already kept. */
#ifndef FERRY_MODEL_DECODER_CACHE_H
#define FERRY_MODEL_DECODER_CACHE_H

#include "core/batch.h"
#include "model/model.h"

/* Keys and values of one batch during decoding. Each sentence has `beam_size` slots, one for each hypothesis about it: those of
 * sentence s are s * beam_size and on. */
typedef struct DecoderCache {
    int n_seq, beam_size;
    int capacity;                         /* positions that a slot has memory for; grows as they come */
    int32_t *source_start, *source_count; /* [n_seq] its rows in the encoder's output */
    Tensor *self;                         /* [decoder_layers], each [n_seq * beam_size * capacity, 2D]: keys, values */
    Tensor *cross;                        /* [decoder_layers], each [source tokens, 2D] */
    real *block;                          /* the values of `self`, kept from batch to batch */
    size_t block_size;                    /* elements */
    Arena arena;                          /* owns the rest */
} DecoderCache;

/* Encode the source: cross keys and values of all layers, and slots without any position yet. Starts as zeros; memory is used
 * again. The tape is begun anew. */
void decoder_cache_begin(Model *model, Tape *tape, DecoderCache *cache, const Ragged *source, int beam_size);
/* Positions first .. last-1 of slot `from` become those of slot `to`. Threads may do it at once for different `to`. */
void decoder_cache_copy(DecoderCache *cache, const Model *model, int from, int to, int first, int last);
void decoder_cache_free(DecoderCache *cache);

/* One step: slot[i] (of the cache) gets `token[i]` at `position`, which is its next; [n, D]. The slots of a sentence lie
 * together. The tape must not record. */
Tensor *decoder_cache_step(Model *model, Tape *tape, DecoderCache *cache, int n, const int32_t *slot, const int32_t *token,
                          int position);

#endif
