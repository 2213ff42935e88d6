#include "train/translator.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "data/batches.h"
#include "model/align.h"
#include "model/beam.h"
#include "train/progress.h"

/* A hypothesis costs memory for its logits even if its sentence is short. */
enum { LEAST_TOKENS = 8 };

SearchOptions translator_search_options(const Options *o, const Tokenizer *tokenizer)
{
    static const LengthNorm norms[] = {
        [LENGTH_NORM_PLAIN] = LENGTH_PLAIN, [LENGTH_NORM_GNMT] = LENGTH_GNMT, [LENGTH_NORM_NONE] = LENGTH_NONE};
    return (SearchOptions){
        .max_ratio = o->decode_max_ratio,
        .max_extra = (int)o->decode_max_extra,
        .utf8_bytes = tokenizer_utf8_bytes(tokenizer),
        .beam = (int)o->decode_beam,
        .n_best = 1,
        .length_norm = norms[o->decode_length_norm],
        .length_penalty = o->decode_length_penalty,
        .sample = o->decode_sample,
        .temperature = o->decode_temperature,
        .top_k = (int)o->decode_top_k,
        .top_p = o->decode_top_p,
        .seed = (uint64_t)o->decode_seed,
    };
}

void translator_init_ensemble(Translator *translator, Model *const *model, int n_models, const Tokenizer *tokenizer,
                              const Options *options)
{
    *translator = (Translator){
        .tokenizer = tokenizer,
        .cache = tokenizer_cache_new(),
        .limits = translator_search_options(options, tokenizer),
        .max_source = (int)options->decode_max_source,
        .batch_tokens = (int)options->decode_batch_tokens,
    };
    search_init(&translator->search, model, n_models);
}

void translator_init(Translator *translator, Model *model, const Tokenizer *tokenizer, const Options *options)
{
    translator_init_ensemble(translator, &model, 1, tokenizer, options);
}

void translator_free(Translator *translator)
{
    tokenizer_cache_free(translator->cache);
    search_free(&translator->search);
}

void translator_append(const Translator *t, Tokens *tokens, const char *name, int64_t number, Sequences *sequences)
{
    if (tokens->n > (size_t)t->max_source) {
        warn("%s, line %" PRId64 ": cut from %zu tokens to decode.max_source = %d", name, number, tokens->n, t->max_source);
        tokens->n = (size_t)t->max_source;
    }
    tokenizer_append(tokens, TOKEN_EOS);
    sequences_append(sequences, tokens->token, tokens->n);
}

/* ---- batches ---- */

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

/* What the batches of one translator_run need. */
typedef struct Batches {
    const Sequences *source, *prefix;
    uint32_t *order; /* [n] */
    size_t n;
    int64_t first_number;
    RaggedBuffer source_batch, prefix_batch;
    Arena arena;
} Batches;

/* Fill the batch from order[first] on; returns what comes after it. Each token counts once for each hypothesis about it. */
static size_t fill(const Translator *t, Batches *b, size_t first)
{
    const int width = beam_width(&t->limits), budget = t->batch_tokens / width, most = budget / LEAST_TOKENS;
    const size_t end = b->n - first > (size_t)most ? first + (size_t)(most < 1 ? 1 : most) : b->n;
    const size_t next = batches_fill_ragged(&b->source_batch, b->source, b->order, end, first, budget);
    if (b->prefix) batches_fill_ragged(&b->prefix_batch, b->prefix, b->order, next, first, INT32_MAX);
    return next;
}

static void translate(Translator *t, Batches *b, size_t first, Translation *out)
{
    const Ragged *source = &b->source_batch.ragged;
    int64_t *line = arena_alloc(&b->arena, (size_t)source->n_seq * sizeof *line);
    for (int s = 0; s < source->n_seq; s++) line[s] = b->first_number + b->order[first + (size_t)s];
    const SearchInput input = {.source = *source, .prefix = b->prefix ? &b->prefix_batch.ragged : NULL, .line = line};
    t->search.stop = t->stop;
    search_translate(&t->search, &input, &t->limits, &b->arena, out);
}

/* All translations of a batch, each beside its source, as pairs. */
static Batch as_pairs(Arena *arena, const Ragged *source, const Translation *found)
{
    int n = 0, n_source = 0, n_target = 0;
    for (int s = 0; s < source->n_seq; s++)
        for (const Translation *t = &found[s]; t; t = t->next) {
            n++;
            n_source += source->start[s + 1] - source->start[s];
            n_target += t->n + 1;
        }
    int32_t *block = arena_alloc(arena, (2 * ((size_t)n + 1) + (size_t)n_source + 2 * (size_t)n_target) * sizeof *block);
    int32_t *source_start = block, *target_start = block + n + 1, *sources = target_start + n + 1,
            *targets = sources + n_source, *labels = targets + n_target;
    n = n_source = n_target = 0;
    source_start[0] = target_start[0] = 0;
    for (int s = 0; s < source->n_seq; s++)
        for (const Translation *t = &found[s]; t; t = t->next) {
            for (int i = source->start[s]; i < source->start[s + 1]; i++) sources[n_source++] = source->token[i];
            targets[n_target] = TOKEN_BOS;
            for (int i = 0; i < t->n; i++) targets[n_target + 1 + i] = labels[n_target + i] = t->token[i];
            n_target += t->n + 1;
            labels[n_target - 1] = TOKEN_EOS;
            source_start[++n] = n_source;
            target_start[n] = n_target;
        }
    return (Batch){.source = {n, n_source, source_start, sources}, .target = {n, n_target, target_start, targets},
                   .label = labels};
}

/* The alignments of all translations of the batch, in order. */
static real **align(Translator *t, Batches *b, const Translation *found)
{
    const Batch pairs = as_pairs(&b->arena, &b->source_batch.ragged, found);
    real **weight = arena_alloc(&b->arena, (size_t)pairs.source.n_seq * sizeof *weight);
    align_batch(&t->search, &pairs, &b->arena, weight);
    return weight;
}

bool translator_run(Translator *t, const Sequences *source, const Sequences *prefix, int64_t first_number,
                    void (*take)(void *context, const Translated *translated), void *context)
{
    Batches b = {.source = source, .prefix = prefix, .first_number = first_number};
    b.order = sorted(source, &b.n);
    Progress progress;
    progress_init(&progress, stderr);
    bool stopped = false;
    for (size_t first = 0, next; first < b.n && !stopped; first = next) {
        arena_reset(&b.arena);
        next = fill(t, &b, first);
        Translation *found = arena_alloc(&b.arena, (next - first) * sizeof *found);
        translate(t, &b, first, found);
        stopped = t->stop && t->stop();
        if (stopped) break;
        real **weight = t->aligns ? align(t, &b, found) : NULL;
        const int32_t *start = b.source_batch.ragged.start;
        for (size_t s = 0; s < next - first; s++) {
            take(context, &(Translated){.index = b.order[first + s], .best = &found[s], .n_source = start[s + 1] - start[s],
                                        .weight = (const real *const *)weight});
            for (const Translation *each = &found[s]; weight && each; each = each->next) weight++;
        }
        if (t->reports) progress_state(&progress, "translated %zu of %zu lines", next, b.n);
    }
    progress_clear(&progress);
    batches_free_ragged(&b.source_batch);
    batches_free_ragged(&b.prefix_batch);
    arena_free(&b.arena);
    mem_free(b.order);
    return !stopped;
}

/* ---- text ---- */

typedef struct Texts {
    const Tokenizer *tokenizer;
    Text *out;
} Texts;

static void take_text(void *context, const Translated *translated)
{
    const Texts *texts = context;
    const Translation *best = translated->best;
    tokenizer_decode(texts->tokenizer, best->token, (size_t)best->n, &texts->out[translated->index]);
}

bool translator_lines(Translator *t, const Text *lines, size_t n, const char *name, int64_t first_number, Text *out)
{
    Sequences source = sequences_new(tokenizer_size(t->tokenizer));
    Tokens tokens = {0};
    for (size_t i = 0; i < n; i++) {
        tokens.n = 0;
        tokenizer_encode(t->tokenizer, t->cache, lines[i].data, lines[i].n, &tokens);
        translator_append(t, &tokens, name, first_number + (int64_t)i, &source);
    }
    const bool good = translator_run(t, &source, NULL, first_number, take_text, &(Texts){t->tokenizer, out});
    tokenizer_tokens_free(&tokens);
    sequences_free(&source);
    return good;
}
