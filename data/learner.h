/* Learns a tokenizer from text. Every text is brought to normal form, cut into pieces, and the pieces are counted; then,
 * starting from characters, the most frequent pair of neighbouring tokens becomes a token, again and again, until the
 * vocabulary is full or no pair occurs twice. The order of the texts doesn't matter.
 *   - Memory is bounded: when the distinct pieces take more than four times LEARNER_MOST_BYTES, the rarest are forgotten until
 *     half of that is left, and merges are learned from the most frequent LEARNER_MOST_BYTES. Then alone the order of the
 *     texts matters, a little.
 *   - Characters beyond ASCII that occur at least LEARNER_MIN_CHARACTER times become tokens, most frequent first, ties by
 *     code point, as long as they take no more than half of what the bytes leave; the others are left to their bytes.
 *   - Pairs of equal count: the one with the smaller left token number first, then with the smaller right one.
 *   - Pairs whose text is longer than TOKENIZER_MAX_BYTES or is that of a token already are left alone. */
#ifndef FERRY_DATA_LEARNER_H
#define FERRY_DATA_LEARNER_H

#include "core/error.h"
#include "data/lines.h"
#include "data/tokenizer.h"

enum {
    LEARNER_MIN_CHARACTER = 5,
    LEARNER_MOST_BYTES = 4 << 20, /* some 400,000 words; learning takes some 60 times as many bytes */
};

typedef struct Learner Learner;

Learner *learner_new(void);
/* Before any text: keep these strings whole (see data/tokenizer.h). A usage error names what can't be a symbol. */
bool learner_add_symbols(Learner *learner, const Words *symbols, Error *error);
/* Before any text: learn a tokenizer of words. The most frequent become tokens, ties by their bytes, as many as the
 * vocabulary takes; the others are left to their bytes. */
void learner_set_words(Learner *learner);
/* For tests: another bound than LEARNER_MOST_BYTES. */
void learner_set_bound(Learner *learner, size_t most_bytes);

void learner_add(Learner *learner, const char *text, size_t length);

/* Add all that was added to another learner. */
void learner_merge(Learner *learner, const Learner *other);

/* The tokenizer of at most `vocab_size` tokens (at least TOKENIZER_MIN_SIZE and the symbols, else a usage error);
 * tokenizer_size tells how many it became: fewer if the text is poor. NULL and *error if no text was added. May forget rare
 * pieces. */
Tokenizer *learner_finish(Learner *learner, int vocab_size, Error *error);

/* How many pieces were added in all, and how many of them were forgotten to bound the memory. */
int64_t learner_pieces(const Learner *learner);
int64_t learner_forgotten(const Learner *learner);
void learner_free(Learner *learner); /* NULL is allowed */

#endif
