#include "data/toy/corpus.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "data/toy/sentence.h"

enum { SEED = 36 }; /* of the first 40, the one whose rarest word is most frequent */

const CorpusPart corpus_parts[CORPUS_PARTS] = {
    {"train", 0, CORPUS_TRAIN},
    {"valid", CORPUS_TRAIN, CORPUS_VALID},
    {"test", CORPUS_TRAIN + CORPUS_VALID, CORPUS_TEST},
};

enum { TABLE_SIZE = 1 << 16 }; /* a power of 2, several times CORPUS_PAIRS */

/* FNV-1a. */
static uint32_t hash_text(const char *text)
{
    uint32_t hash = 2166136261u;
    for (const char *c = text; *c; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    return hash;
}

/* Put the sentence into the hash table (open addressing) of those seen; false if it was there. */
static bool insert_new(const char **table, const char *sentence)
{
    uint32_t slot = hash_text(sentence) % TABLE_SIZE;
    for (; table[slot]; slot = (slot + 1) % TABLE_SIZE)
        if (!strcmp(table[slot], sentence)) return false;
    table[slot] = sentence;
    return true;
}

/* Later draws are longer on average, short sentences being used up sooner: shuffled, the parts are alike. */
static void shuffle(CorpusPair *pairs)
{
    RandomStream stream = random_stream(SEED, RANDOM_TOY, 0, 1);
    for (int i = CORPUS_PAIRS - 1; i > 0; i--) {
        int k = (int)random_below(&stream, (uint64_t)i, (uint32_t)i + 1);
        CorpusPair swap = pairs[i];
        pairs[i] = pairs[k];
        pairs[k] = swap;
    }
}

CorpusPair *corpus_make(void)
{
    CorpusPair *pairs = mem_zalloc(CORPUS_PAIRS * sizeof *pairs);
    const char **seen = mem_zalloc(TABLE_SIZE * sizeof *seen);
    int n = 0;
    for (uint32_t attempt = 0; n < CORPUS_PAIRS; attempt++) {
        CHECK(attempt < 10 * CORPUS_PAIRS, "the grammar is too small for %d sentences", CORPUS_PAIRS);
        Draw draw = {.stream = random_stream(SEED, RANDOM_TOY, attempt, 0)};
        Pair pair = sentence_draw(&draw);
        char *en = mem_string(pair.en.words);
        if (insert_new(seen, en)) pairs[n++] = (CorpusPair){en, mem_string(pair.fr.words)};
        else mem_free(en);
    }
    mem_free(seen);
    shuffle(pairs);
    return pairs;
}

void corpus_free(CorpusPair *pairs)
{
    for (int i = 0; i < CORPUS_PAIRS; i++) {
        mem_free(pairs[i].en);
        mem_free(pairs[i].fr);
    }
    mem_free(pairs);
}
