#include "data/bitext.h"

#include <inttypes.h>
#include <string.h>

#include "core/memory.h"

/* What is needed while reading. */
typedef struct Loading {
    const Tokenizer *tokenizer;
    TokenizerCache *cache;
    Tokens source, target; /* of the pair at hand */
    size_t max_tokens;
} Loading;

static void add_pair(Bitext *bitext, Loading *l, const char *source, size_t n_source, const char *target, size_t n_target)
{
    BitextCounts *counts = &bitext->counts;
    counts->n_lines++;
    l->source.n = l->target.n = 0;
    tokenizer_encode(l->tokenizer, l->cache, source, n_source, &l->source);
    tokenizer_encode(l->tokenizer, l->cache, target, n_target, &l->target);
    size_t longer = l->source.n > l->target.n ? l->source.n : l->target.n;
    if (!l->source.n) counts->n_blank_source++;
    else if (!l->target.n) counts->n_blank_target++;
    else if (longer + 1 > l->max_tokens) counts->n_too_long++;
    else {
        tokenizer_append(&l->source, TOKEN_EOS);
        sequences_append(&bitext->source, l->source.token, l->source.n);
        sequences_append(&bitext->target, l->target.token, l->target.n);
        counts->n_pairs++;
        counts->n_tokens_source += (int64_t)l->source.n;
        counts->n_tokens_target += (int64_t)l->target.n + 1;
    }
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
static bool unequal(LineReader *source, LineReader *target, Error *error)
{
    if (!read_to_end(source, error) || !read_to_end(target, error)) return false;
    return error_set(error, "%s has %" PRId64 " lines but %s has %" PRId64 ": line n of one must be the translation of line n "
                     "of the other", lines_name(source), lines_number(source), lines_name(target), lines_number(target));
}

static bool load_files(Bitext *bitext, Loading *l, LineReader *source, LineReader *target, Error *error)
{
    for (;;) {
        const char *source_line, *target_line;
        size_t n_source, n_target;
        int source_status = lines_next(source, &source_line, &n_source, error);
        if (source_status < 0) return false;
        int target_status = lines_next(target, &target_line, &n_target, error);
        if (target_status < 0) return false;
        if (source_status != target_status) return unequal(source, target, error);
        if (!source_status) return true;
        add_pair(bitext, l, source_line, n_source, target_line, n_target);
    }
}

static bool load_pair_of_files(Bitext *bitext, Loading *l, const char *source_path, const char *target_path, Error *error)
{
    LineReader *source = lines_open(source_path, error), *target = source ? lines_open(target_path, error) : NULL;
    bool good = source && target && load_files(bitext, l, source, target, error);
    lines_close(source);
    lines_close(target);
    return good;
}

static bool check_lists(const FileList *source, const FileList *target, Error *error)
{
    if (!source->n || !target->n) return error_usage(error, "no %s file is named", source->n ? "target" : "source");
    if (source->n != target->n)
        return error_usage(error, "%d source files but %d target files are named: file n of one side goes with file n of the "
                           "other", source->n, target->n);
    int n_stdin = 0;
    for (int i = 0; i < source->n; i++) n_stdin += !strcmp(source->path[i], "-") + !strcmp(target->path[i], "-");
    if (n_stdin > 1) return error_usage(error, "standard input (\"-\") can be only one of the files");
    return true;
}

static bool check_counts(const BitextCounts *c, const FileList *source, const FileList *target, int max_tokens, Error *error)
{
    if (c->n_pairs > UINT32_MAX) return error_set(error, "%" PRId64 " pairs are too many: at most 4294967295", c->n_pairs);
    if (c->n_pairs) return true;
    return error_set(error, "no pair is left of the %" PRId64 " of %s%s and %s%s: %" PRId64 " have a blank source, %" PRId64
                     " a blank target, %" PRId64 " are longer than %d tokens", c->n_lines, source->path[0],
                     source->n > 1 ? " .." : "", target->path[0], target->n > 1 ? " .." : "", c->n_blank_source,
                     c->n_blank_target, c->n_too_long, max_tokens);
}

bool bitext_load(Bitext *bitext, const Tokenizer *tokenizer, const FileList *source, const FileList *target, int max_tokens,
                 Error *error)
{
    if (!check_lists(source, target, error)) return false;
    int32_t vocab_size = tokenizer_size(tokenizer);
    Bitext new = {.source = sequences_new(vocab_size), .target = sequences_new(vocab_size)};
    Loading l = {.tokenizer = tokenizer, .cache = tokenizer_cache_new()};
    l.max_tokens = max_tokens > 0 ? (size_t)max_tokens : INT32_MAX;
    bool good = true;
    for (int i = 0; i < source->n && good; i++)
        good = load_pair_of_files(&new, &l, source->path[i], target->path[i], error);
    good = good && check_counts(&new.counts, source, target, max_tokens, error);
    tokenizer_cache_free(l.cache);
    tokenizer_tokens_free(&l.source);
    tokenizer_tokens_free(&l.target);
    if (good) *bitext = new;
    else bitext_free(&new);
    return good;
}

uint64_t bitext_hash(const Bitext *bitext)
{
    return (uint64_t)sequences_hash(&bitext->source) << 32 | sequences_hash(&bitext->target);
}

void bitext_free(Bitext *bitext)
{
    sequences_free(&bitext->source);
    sequences_free(&bitext->target);
    bitext->counts = (BitextCounts){0};
}
