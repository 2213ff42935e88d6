/* The toy corpus as a whole: distinct pairs, shuffled and cut into training, validation and test. */
#ifndef FERRY_DATA_TOY_CORPUS_H
#define FERRY_DATA_TOY_CORPUS_H

enum {
    CORPUS_TRAIN = 20000,
    CORPUS_VALID = 500,
    CORPUS_TEST = 500,
    CORPUS_PAIRS = CORPUS_TRAIN + CORPUS_VALID + CORPUS_TEST,
};

typedef struct CorpusPair {
    char *en, *fr;
} CorpusPair;

/* A part of the corpus: `count` pairs from `first` on. */
typedef struct CorpusPart {
    const char *name;
    int first, count;
} CorpusPart;

enum { CORPUS_PARTS = 3 };
extern const CorpusPart corpus_parts[CORPUS_PARTS];

/* CORPUS_PAIRS pairs, no English twice; always the same ones. Free with corpus_free. */
CorpusPair *corpus_make(void);
void corpus_free(CorpusPair *pairs);

#endif
