/* The training pairs as tokens on disk, mapped into memory: text is tokenized once, and a corpus may be larger than memory.
 * Two files in the run folder, in the byte order of this machine:
 *     train.tokens   the tokens of all pairs end to end, source and target in turn, two or four bytes each
 *     train.index    where each side begins, then counts, and what the store was made from
 * Both can be removed at any time: they are made again. */
#ifndef FERRY_TRAIN_STORE_H
#define FERRY_TRAIN_STORE_H

#include "data/bitext.h"
#include "system/files.h"

/* What a store is made from. */
typedef struct StoreOrigin {
    const Corpus *corpus; /* [n_corpora] */
    int n_corpora;
    const Tokenizer *tokenizer;
    BitextFilter filter;
    const char *copy; /* that file of the corpora which we wrote ourselves, and may rename; NULL: none */
} StoreOrigin;

/* A file mapped into memory. */
typedef struct StoreMap {
    const void *data; /* NULL: none */
    size_t bytes;
} StoreMap;

typedef struct Store {
    BitextCounts *counts; /* [n_corpora] */
    uint64_t hash;        /* bitext_hash */
    StoreMap tokens, index;
    AtomicFile *new_tokens, *new_index; /* what the maps are of, until store_commit; NULL: of what was there */
} Store;

/* Open the folder's store if it is sound and was made from this, the files being as they are now; else tokenize the
 * corpora into a new one, in constant memory, which lies in temporaries until store_commit. Whether a file is as it
 * was is told by its size, its number and its times; `hash` tells whether the pairs are, and is computed from the
 * tokens on disk each time. Reports what takes long on standard error. *bitext, a part for each corpus, lies in the
 * maps: free it, then close the store. */
bool store_open(Store *store, Bitext *bitext, const char *folder, const StoreOrigin *origin, Error *error);
/* Let a new store take the place of the folder's. The maps stay. */
bool store_commit(Store *store, Error *error);
/* A new one that was not committed leaves nothing. */
void store_close(Store *store);

#endif
