/* Learns a tokenizer from text. Every text is brought to normal form, cut into pieces, and the pieces are counted; then,
 * starting from characters, the most frequent pair of neighbouring tokens becomes a token, again and again, until the
 * vocabulary is full or no pair occurs twice. The order of the texts doesn't matter.
 *   - Characters beyond ASCII that occur at least LEARNER_MIN_CHARACTER times become tokens, most frequent first, ties by
 *     code point, as long as they take no more than half of what the bytes leave; the others are left to their bytes.
 *   - Pairs of equal count: the one with the smaller left token number first, then with the smaller right one.
 *   - Pairs whose text is longer than TOKENIZER_MAX_BYTES or is that of a token already are left alone. */
#ifndef FERRY_DATA_LEARNER_H
#define FERRY_DATA_LEARNER_H

#include "core/error.h"
#include "data/lines.h"
#include "data/tokenizer.h"

enum { LEARNER_MIN_CHARACTER = 5 };

typedef struct Learner Learner;

Learner *learner_new(void);
void learner_add(Learner *learner, const char *text, size_t length);
/* All lines of the files. False and *error if one can't be read. */
bool learner_add_files(Learner *learner, const FileList *files, Error *error);

/* The tokenizer of at most `vocab_size` tokens (at least TOKENIZER_MIN_SIZE, else a usage error); tokenizer_size tells how
 * many it became: fewer if the text is poor. NULL and *error if no text was added. */
Tokenizer *learner_finish(const Learner *learner, int vocab_size, Error *error);
void learner_free(Learner *learner); /* NULL is allowed */

#endif
