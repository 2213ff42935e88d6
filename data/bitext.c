#include "data/bitext.h"

#include <inttypes.h>
#include <zlib.h>

#include "core/memory.h"

Bitext bitext_new(int32_t vocab_size)
{
    return (Bitext){.sides = sequences_new(vocab_size)};
}

void bitext_add_part(Bitext *bitext, double weight)
{
    const size_t bytes = (size_t)bitext->n_parts * sizeof *bitext->part;
    bitext->part = mem_resize(bitext->part, bytes, bytes + sizeof *bitext->part);
    bitext->part[bitext->n_parts++] = (BitextPart){.weight = weight};
}

void bitext_append(Bitext *bitext, const int32_t *source, size_t n_source, const int32_t *target, size_t n_target)
{
    CHECK(bitext->n_parts > 0, "a pair without a part");
    sequences_append(&bitext->sides, source, n_source);
    sequences_append(&bitext->sides, target, n_target);
    bitext->part[bitext->n_parts - 1].n_pairs++;
}

size_t bitext_pairs(const Bitext *bitext)
{
    return bitext->sides.n / 2;
}

int32_t bitext_length(const Bitext *bitext, size_t pair, BitextSide side)
{
    return sequences_length(&bitext->sides, 2 * pair + side);
}

void bitext_copy(const Bitext *bitext, size_t pair, BitextSide side, int32_t *out)
{
    sequences_copy(&bitext->sides, 2 * pair + side, out);
}

/* ---- reading ---- */

/* Blocks of lines are read one after the other and tokenized side by side. */
enum { N_PARTS = 8 };

typedef struct Part {
    const Tokenizer *tokenizer;
    PairBlock lines;
    TokenizerCache *cache;             /* NULL until it is needed */
    Tokens tokens;
    size_t token_end[2 * PAIRS_BLOCK]; /* of each line's tokens; source lines have their EOS */
} Part;

/* Fill the parts one by one; *status is that of the last. Returns the number of parts in use. */
static int fill(Part part[N_PARTS], PairReader *reader, int *status, Error *error)
{
    int n = 0;
    while (n < N_PARTS && (*status = pairs_next_block(reader, &part[n].lines, error)) > 0) n++;
    return n;
}

static void tokenize(void *context)
{
    Part *part = context;
    const Tokenizer *tokenizer = part->tokenizer;
    if (!part->cache) part->cache = tokenizer_cache_new();
    part->tokens.n = 0;
    for (int i = 0; i < 2 * part->lines.n; i++) {
        size_t n;
        const char *line = pairs_line(&part->lines, i, &n);
        tokenizer_encode(tokenizer, part->cache, line, n, &part->tokens);
        if (i % 2 == BITEXT_SOURCE) tokenizer_append(&part->tokens, TOKEN_EOS);
        part->token_end[i] = part->tokens.n;
    }
}

/* Where a pair of so many tokens (the source with EOS) is counted; n_pairs if it is kept. */
static int64_t *count_of(BitextCounts *counts, const BitextFilter *filter, size_t n_source, size_t n_target)
{
    const size_t source = n_source - 1, longer = source > n_target ? source : n_target, shorter = source + n_target - longer;
    const size_t most = filter->max_length ? (size_t)filter->max_length : INT32_MAX;
    if (!source) return &counts->n_blank_source;
    if (!n_target) return &counts->n_blank_target;
    if (longer + 1 > most) return &counts->n_too_long;
    if (filter->max_ratio > 0 && (double)longer > filter->max_ratio * (double)shorter) return &counts->n_unequal;
    return &counts->n_pairs;
}

/* Hand on the pairs that the filter leaves. */
static bool give(const Part *part, const BitextFilter *filter, BitextTake *take, void *self, BitextCounts *counts,
                 Error *error)
{
    size_t first = 0;
    for (int i = 0; i < part->lines.n; i++) {
        const size_t middle = part->token_end[2 * (size_t)i], end = part->token_end[2 * (size_t)i + 1];
        const int32_t *token = part->tokens.token + first;
        const size_t n_source = middle - first, n_target = end - middle;
        int64_t *count = count_of(counts, filter, n_source, n_target);
        first = end;
        counts->n_lines++;
        ++*count;
        if (count != &counts->n_pairs) continue;
        counts->n_tokens_source += (int64_t)n_source;
        counts->n_tokens_target += (int64_t)n_target + 1;
        if (!take(self, token, n_source, token + n_source, n_target, error)) return false;
    }
    return true;
}

bool bitext_read(const Corpus *corpus, const Tokenizer *tokenizer, const BitextFilter *filter, BitextTake *take, void *self,
                 BitextCounts *counts, Error *error)
{
    PairReader *reader = pairs_open(corpus, error);
    if (!reader) return false;
    Part *part = mem_zalloc(N_PARTS * sizeof *part);
    for (int i = 0; i < N_PARTS; i++) part[i].tokenizer = tokenizer;
    MemScope *scope = mem_scope();
    size_t lacking = 0;
    int status = 1;
    bool good = true;
    while (good && status > 0) {
        const int n_parts = fill(part, reader, &status, error);
        good = status >= 0;
#pragma omp parallel for schedule(dynamic) if (n_parts > 1)
        for (int i = 0; i < n_parts; i++) {
            size_t wanted;
            if (mem_run(scope, tokenize, &part[i], &wanted)) continue;
#pragma omp atomic write
            lacking = wanted;
        }
        if (lacking) mem_lacks(lacking);
        for (int i = 0; i < n_parts && good; i++) good = give(&part[i], filter, take, self, counts, error);
    }
    for (int i = 0; i < N_PARTS; i++) {
        tokenizer_cache_free(part[i].cache);
        tokenizer_tokens_free(&part[i].tokens);
        text_free(&part[i].lines.text);
    }
    mem_free(part);
    pairs_close(reader);
    return good;
}

/* ---- into memory ---- */

/* BitextTake of a Bitext */
static bool take_pair(void *self, const int32_t *source, size_t n_source, const int32_t *target, size_t n_target, Error *error)
{
    (void)error;
    bitext_append(self, source, n_source, target, n_target);
    return true;
}

void bitext_add_counts(BitextCounts *total, const BitextCounts *counts)
{
    total->n_lines += counts->n_lines;
    total->n_blank_source += counts->n_blank_source;
    total->n_blank_target += counts->n_blank_target;
    total->n_too_long += counts->n_too_long;
    total->n_unequal += counts->n_unequal;
    total->n_pairs += counts->n_pairs;
    total->n_tokens_source += counts->n_tokens_source;
    total->n_tokens_target += counts->n_tokens_target;
}

static void say_why(Text *why, int64_t n, const char *reason)
{
    if (n) text_append_format(why, "%s%" PRId64 " %s", why->n ? ", " : "", n, reason);
}

bool bitext_check(const BitextCounts *c, const Corpus *corpus, int n_corpora, const BitextFilter *filter, Error *error)
{
    if (c->n_pairs > UINT32_MAX) return error_set(error, "%" PRId64 " pairs are too many: at most 4294967295", c->n_pairs);
    if (c->n_pairs) return true;
    char *names = mem_format("%s%s%s%s", corpus->source, corpus->target ? " and " : "", corpus->target ? corpus->target : "",
                             n_corpora > 1 ? " .." : "");
    Text why = {0};
    say_why(&why, c->n_blank_source, "with a blank source");
    say_why(&why, c->n_blank_target, "with a blank target");
    char *length = mem_format("with more than %d token%s on a side (data.max_length)", filter->max_length,
                              plural(filter->max_length));
    say_why(&why, c->n_too_long, length);
    char *ratio = mem_format("with more than %g times the tokens of the other side (data.length_ratio)", filter->max_ratio);
    say_why(&why, c->n_unequal, ratio);
    if (c->n_lines)
        error_set(error, "no pair is left of the %" PRId64 " of %s: %.*s", c->n_lines, names, (int)why.n, why.data);
    else error_set(error, "%s: there is no text", names);
    mem_free(ratio);
    mem_free(length);
    text_free(&why);
    mem_free(names);
    return false;
}

bool bitext_load(Bitext *bitext, const Tokenizer *tokenizer, const Corpus *corpus, int n_corpora, const BitextFilter *filter,
                 Error *error)
{
    Bitext new = bitext_new(tokenizer_size(tokenizer));
    bool good = true;
    for (int i = 0; i < n_corpora && good; i++) {
        bitext_add_part(&new, corpus[i].weight);
        good = bitext_read(&corpus[i], tokenizer, filter, take_pair, &new, &new.counts, error);
    }
    good = good && bitext_check(&new.counts, corpus, n_corpora, filter, error);
    if (good) *bitext = new;
    else bitext_free(&new);
    return good;
}

/* ---- the hash ---- */

/* CRC-32 of the tokens and their number. */
static uint32_t hash_side(uint32_t hash, const int32_t *token, size_t n)
{
    const int32_t length = (int32_t)n;
    hash = (uint32_t)crc32(hash, (const unsigned char *)&length, sizeof length);
    return (uint32_t)crc32_z(hash, (const unsigned char *)token, n * sizeof *token);
}

uint64_t bitext_hash_pair(uint64_t hash, const int32_t *source, size_t n_source, const int32_t *target, size_t n_target)
{
    return (uint64_t)hash_side((uint32_t)(hash >> 32), source, n_source) << 32 |
           hash_side((uint32_t)hash, target, n_target);
}

uint64_t bitext_hash(const Bitext *bitext)
{
    uint64_t hash = 0;
    int32_t *token = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < bitext_pairs(bitext); i++) {
        const size_t n_source = (size_t)bitext_length(bitext, i, BITEXT_SOURCE);
        const size_t n_target = (size_t)bitext_length(bitext, i, BITEXT_TARGET);
        if (n_source + n_target >= capacity) {
            mem_free(token);
            capacity = 2 * (n_source + n_target) + 1;
            token = mem_alloc(capacity * sizeof *token);
        }
        bitext_copy(bitext, i, BITEXT_SOURCE, token);
        bitext_copy(bitext, i, BITEXT_TARGET, token + n_source);
        hash = bitext_hash_pair(hash, token, n_source, token + n_source, n_target);
    }
    mem_free(token);
    return hash;
}

void bitext_free(Bitext *bitext)
{
    sequences_free(&bitext->sides);
    mem_free(bitext->part);
    *bitext = (Bitext){0};
}
