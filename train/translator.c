#include "train/translator.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/memory.h"
#include "data/batches.h"
#include "data/sequences.h"
#include "train/progress.h"

void translator_init(Translator *translator, Model *model, const Tokenizer *tokenizer, const Options *options)
{
    *translator = (Translator){
        .model = model,
        .tokenizer = tokenizer,
        .cache = tokenizer_cache_new(),
        .limits = {.max_ratio = options->decode_max_ratio, .max_extra = (int)options->decode_max_extra,
                   .utf8_bytes = tokenizer_utf8_bytes(tokenizer)},
        .max_source = (int)options->decode_max_source,
        .batch_tokens = (int)options->decode_batch_tokens,
    };
}

void translator_free(Translator *translator)
{
    tokenizer_cache_free(translator->cache);
    search_free(&translator->search);
}

/* The lines as token sequences with EOS. */
static Sequences encode(const Translator *t, const Text *lines, size_t n, const char *name, int64_t first_number)
{
    Sequences sequences = sequences_new(tokenizer_size(t->tokenizer));
    Tokens tokens = {0};
    for (size_t i = 0; i < n; i++) {
        tokens.n = 0;
        tokenizer_encode(t->tokenizer, t->cache, lines[i].data, lines[i].n, &tokens);
        if (tokens.n > (size_t)t->max_source) {
            warn("%s, line %" PRId64 ": cut from %zu tokens to decode.max_source = %d", name, first_number + (int64_t)i,
                 tokens.n, t->max_source);
            tokens.n = (size_t)t->max_source;
        }
        tokenizer_append(&tokens, TOKEN_EOS);
        sequences_append(&sequences, tokens.token, tokens.n);
    }
    tokenizer_tokens_free(&tokens);
    return sequences;
}

typedef struct Place {
    int32_t length;
    uint32_t index;
} Place;

static int longest_first(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    return x->length != y->length ? (x->length < y->length) - (x->length > y->length)
                                  : (x->index > y->index) - (x->index < y->index);
}

/* The lines that aren't blank, longest first. */
static uint32_t *sorted(const Sequences *sequences, size_t *n)
{
    Place *place = mem_alloc(sequences->n * sizeof *place);
    uint32_t *order = mem_alloc(sequences->n * sizeof *order);
    *n = 0;
    for (size_t i = 0; i < sequences->n; i++) {
        int32_t length = sequences_length(sequences, i);
        if (length > 1) place[(*n)++] = (Place){length, (uint32_t)i};
    }
    qsort(place, *n, sizeof *place, longest_first);
    for (size_t i = 0; i < *n; i++) order[i] = place[i].index;
    mem_free(place);
    return order;
}

bool translator_lines(Translator *t, const Text *lines, size_t n_lines, const char *name, int64_t first_number, Text *out)
{
    Sequences sequences = encode(t, lines, n_lines, name, first_number);
    size_t n;
    uint32_t *order = sorted(&sequences, &n);
    RaggedBuffer batch = {0};
    Arena arena = {0};
    Progress progress;
    progress_init(&progress, stderr);
    bool stopped = false;
    for (size_t first = 0, next; first < n && !stopped; first = next) {
        next = batches_fill_ragged(&batch, &sequences, order, n, first, t->batch_tokens);
        arena_reset(&arena);
        Translation *translation = arena_alloc(&arena, (next - first) * sizeof *translation);
        t->search.stop = t->stop;
        search_greedy(&t->search, t->model, &batch.ragged, &t->limits, &arena, translation);
        for (size_t i = first; i < next; i++)
            tokenizer_decode(t->tokenizer, translation[i - first].token, (size_t)translation[i - first].n, &out[order[i]]);
        if (t->reports) progress_state(&progress, "translated %zu of %zu lines", next, n);
        stopped = t->stop && t->stop();
    }
    progress_clear(&progress);
    batches_free_ragged(&batch);
    arena_free(&arena);
    mem_free(order);
    sequences_free(&sequences);
    return !stopped;
}
