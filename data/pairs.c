#include "data/pairs.h"

#include <inttypes.h>
#include <string.h>

#include "core/memory.h"

struct PairReader {
    LineReader *source, *target; /* target NULL: the lines of `source` have both sides */
};

PairReader *pairs_open(const Corpus *corpus, Error *error)
{
    PairReader *reader = mem_zalloc(sizeof *reader);
    reader->source = lines_open(corpus->source, error);
    bool good = reader->source != NULL;
    if (good && corpus->target) {
        reader->target = lines_open(corpus->target, error);
        good = reader->target != NULL;
    }
    if (good) return reader;
    pairs_close(reader);
    return NULL;
}

void pairs_close(PairReader *reader)
{
    if (!reader) return;
    lines_close(reader->source);
    lines_close(reader->target);
    mem_free(reader);
}

static bool read_to_end(LineReader *reader, Error *error)
{
    const char *line;
    size_t n;
    int status;
    do status = lines_next(reader, &line, &n, error);
    while (status > 0);
    return status == 0;
}

/* One side has ended: count the other's lines, to name both counts. */
static int unequal(LineReader *source, LineReader *target, Error *error)
{
    if (!read_to_end(source, error) || !read_to_end(target, error)) return -1;
    error_set(error, "%s has %" PRId64 " line%s but %s has %" PRId64 ": line n of one must be the translation of line n of the "
              "other", lines_name(source), lines_number(source), plural(lines_number(source)), lines_name(target),
              lines_number(target));
    return -1;
}

/* Cut the line at its tabs. */
static int cut(const PairReader *reader, LinePair *pair, Error *error)
{
    const char *line = pair->source, *end = line + pair->n_source, *tab = memchr(line, '\t', pair->n_source);
    if (!tab) {
        size_t i = 0;
        while (i < pair->n_source && line[i] == ' ') i++;
        *pair = (LinePair){.source = line, .target = line};
        if (i == (size_t)(end - line)) return 1;
        error_set(error, "%s, line %" PRId64 ": there is no tab; a line of data.train_pairs is SOURCE, tab, TARGET",
                  lines_name(reader->source), lines_number(reader->source));
        return -1;
    }
    const char *target = tab + 1, *second = memchr(target, '\t', (size_t)(end - target));
    *pair = (LinePair){.source = line, .n_source = (size_t)(tab - line), .target = target};
    pair->n_target = (size_t)((second ? second : end) - target);
    return 1;
}

int pairs_next(PairReader *reader, LinePair *pair, Error *error)
{
    int source = lines_next(reader->source, &pair->source, &pair->n_source, error);
    if (source < 0) return -1;
    if (!reader->target) return source ? cut(reader, pair, error) : 0;
    int target = lines_next(reader->target, &pair->target, &pair->n_target, error);
    if (target < 0) return -1;
    return source == target ? source : unequal(reader->source, reader->target, error);
}

/* ---- blocks ---- */

static void add_line(PairBlock *block, int i, const char *line, size_t n)
{
    text_append(&block->text, line, n);
    block->end[i] = block->text.n;
}

int pairs_next_block(PairReader *reader, PairBlock *block, Error *error)
{
    block->text.n = 0;
    block->n = 0;
    LinePair pair;
    int status = 1;
    while (block->n < PAIRS_BLOCK && block->text.n < PAIRS_BLOCK_BYTES && (status = pairs_next(reader, &pair, error)) > 0) {
        add_line(block, 2 * block->n, pair.source, pair.n_source);
        add_line(block, 2 * block->n++ + 1, pair.target, pair.n_target);
    }
    return status < 0 ? -1 : block->n > 0;
}

const char *pairs_line(const PairBlock *block, int i, size_t *n)
{
    const size_t first = i ? block->end[i - 1] : 0;
    *n = block->end[i] - first;
    return *n ? block->text.data + first : "";
}
