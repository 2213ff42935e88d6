#include "translate/translator.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/threads.h"
#include "data/batches.h"
#include "model/align.h"
#include "model/beam.h"
#include "model/score.h"

enum {
    LEAST_TOKENS = 8,  /* what a line counts at least in a batch: a hypothesis costs memory for its logits, however short */
    LEAST_BATCH = 512, /* tokens of a batch if decode.batch_tokens allows it */
};

SearchOptions translator_search_options(const Options *o, const Tokenizer *tokenizer)
{
    static const LengthNorm norms[] = {
        [LENGTH_NORM_PLAIN] = LENGTH_PLAIN, [LENGTH_NORM_GNMT] = LENGTH_GNMT, [LENGTH_NORM_NONE] = LENGTH_NONE};
    return (SearchOptions){
        .max_ratio = o->decode_max_ratio,
        .max_extra = (int)o->decode_max_extra,
        .utf8_bytes = tokenizer_utf8_bytes(tokenizer),
        .beam_size = (int)o->decode_beam,
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

/* What a thread has for itself. */
typedef struct TranslatorWorker {
    Search search;
    RaggedBuffer source, prefix; /* the batch */
    Arena arena;
} TranslatorWorker;

void translator_free(Translator *translator)
{
    for (int i = 0; i < translator->n_workers; i++) {
        TranslatorWorker *w = &translator->worker[i];
        search_free(&w->search);
        batches_free_ragged(&w->source);
        batches_free_ragged(&w->prefix);
        arena_free(&w->arena);
    }
    mem_free(translator->worker);
    tokenizer_cache_free(translator->cache);
    search_free(&translator->search);
}

/* Let there be n workers at least. */
static void hire(Translator *t, int n)
{
    const size_t size = sizeof *t->worker;
    if (n <= t->n_workers) return;
    Model *model[t->search.n_models];
    for (int m = 0; m < t->search.n_models; m++) model[m] = t->search.models[m].model;
    t->worker = mem_resize(t->worker, (size_t)t->n_workers * size, (size_t)n * size);
    for (; t->n_workers < n; t->n_workers++) {
        TranslatorWorker *w = &t->worker[t->n_workers];
        *w = (TranslatorWorker){0};
        search_init(&w->search, model, t->search.n_models);
    }
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

/* One translator_run: batch i is order[first[i]] .. order[first[i + 1] - 1]. */
typedef struct Job {
    Translator *translator;
    const Sequences *source, *prefix;
    int64_t first_number;
    uint32_t *order; /* [n] */
    size_t n, *first;
    int n_batches, capacity;
    pthread_mutex_t lock; /* one thread at a time gives results and tells of progress */
    size_t n_done;
    void (*take)(void *context, const Translated *translated);
    void *context;
} Job;

/* Cut the sorted lines into batches. All that are translated at the same time have batch_tokens together, unless that
 * makes them so small that most of the time goes into fetching weights. Each token counts once for each hypothesis
 * about it. */
static void plan(Job *job)
{
    const Translator *t = job->translator;
    const int threads = threads_count(), least = t->batch_tokens < LEAST_BATCH ? t->batch_tokens : LEAST_BATCH;
    const int share = t->batch_tokens / threads, beam_size = beam_size_of(&t->limits);
    const int64_t budget = (share < least ? least : share) / beam_size, most = budget / LEAST_TOKENS;
    int64_t n_tokens = 0, n_lines = 0;
    for (size_t i = 0; i < job->n; i++) {
        const int64_t length = sequences_length(job->source, job->order[i]);
        n_tokens += length;
        n_lines++;
        if (i > 0 && n_tokens <= budget && n_lines <= most) continue;
        ARRAY_RESERVE(job->first, job->n_batches + 1, job->capacity);
        job->first[job->n_batches++] = i;
        n_tokens = length;
        n_lines = 1;
    }
    ARRAY_RESERVE(job->first, job->n_batches, job->capacity);
    job->first[job->n_batches] = job->n;
}

static Translation *translate(const Job *job, TranslatorWorker *w, size_t first, size_t end)
{
    batches_fill_ragged(&w->source, job->source, job->order, end, first, INT32_MAX);
    if (job->prefix) batches_fill_ragged(&w->prefix, job->prefix, job->order, end, first, INT32_MAX);
    int64_t *line = arena_alloc(&w->arena, (end - first) * sizeof *line);
    for (size_t i = first; i < end; i++) line[i - first] = job->first_number + job->order[i];
    const SearchInput input = {.source = w->source.ragged, .prefix = job->prefix ? &w->prefix.ragged : NULL, .line = line};
    Translation *found = arena_alloc(&w->arena, (end - first) * sizeof *found);
    search_translate(&w->search, &input, &job->translator->limits, &w->arena, found);
    return found;
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

/* The alignments of all pairs, in order. */
static real **align(TranslatorWorker *w, const Batch *pairs)
{
    real **weight = arena_alloc(&w->arena, (size_t)pairs->source.n_seq * sizeof *weight);
    align_batch(&w->search, pairs, &w->arena, weight);
    return weight;
}

/* Their token scores, in order. */
static double **score(TranslatorWorker *w, const Batch *pairs)
{
    double **out = arena_alloc(&w->arena, (size_t)pairs->target.n_seq * sizeof *out);
    double *all = arena_alloc(&w->arena, (size_t)pairs->target.n_tokens * sizeof *all);
    score_batch(&w->search, pairs, all);
    for (int i = 0; i < pairs->target.n_seq; i++) out[i] = all + pairs->target.start[i];
    return out;
}

/* One call of `take`, which may lack memory while the job is locked. */
typedef struct Taking {
    const Job *job;
    const Translated *translated;
} Taking;

static void take_one(void *context)
{
    const Taking *taking = context;
    taking->job->take(taking->job->context, taking->translated);
}

/* A batch, which may lack memory within a parallel region. */
typedef struct Piece {
    Job *job;
    int batch;
} Piece;

static void run_batch(void *context)
{
    const Piece *piece = context;
    Job *job = piece->job;
    const int batch = piece->batch;
    TranslatorWorker *w = &job->translator->worker[threads_self()];
    const size_t first = job->first[batch], end = job->first[batch + 1];
    arena_reset(&w->arena);
    const Translation *found = translate(job, w, first, end);
    const bool aligns = job->translator->aligns, scores = job->translator->scores;
    const Batch pairs = aligns || scores ? as_pairs(&w->arena, &w->source.ragged, found) : (Batch){0};
    real **weight = aligns ? align(w, &pairs) : NULL;
    double **token_score = scores ? score(w, &pairs) : NULL;
    const int32_t *start = w->source.ragged.start;
    for (size_t s = 0; s < end - first; s++) {
        const Translated result = {.index = job->order[first + s], .best = &found[s], .n_source = start[s + 1] - start[s],
                                   .weight = (const real *const *)weight, .score = (const double *const *)token_score};
        size_t wanted;
        pthread_mutex_lock(&job->lock);
        const bool taken = mem_run(mem_scope(), take_one, &(Taking){job, &result}, &wanted);
        pthread_mutex_unlock(&job->lock);
        if (!taken) mem_lacks(wanted);
        for (const Translation *each = &found[s]; each; each = each->next) {
            if (weight) weight++;
            if (token_score) token_score++;
        }
    }
    pthread_mutex_lock(&job->lock);
    job->n_done += end - first;
    if (job->translator->progress) job->translator->progress(job->translator->progress_context, job->n_done, job->n);
    pthread_mutex_unlock(&job->lock);
}

bool translator_run(Translator *t, const Sequences *source, const Sequences *prefix, int64_t first_number,
                    void (*take)(void *context, const Translated *translated), void *context)
{
    Job job = {.translator = t, .source = source, .prefix = prefix, .first_number = first_number, .take = take,
               .context = context, .lock = PTHREAD_MUTEX_INITIALIZER};
    job.order = sorted(source, &job.n);
    plan(&job);
    hire(t, threads_count());
    for (int i = 0; i < t->n_workers; i++) {
        t->worker[i].search.stop = t->stop;
        t->worker[i].search.stop_context = t->stop_context;
    }
    int stopped = 0;
    size_t lacking = 0;
    MemScope *scope = mem_scope();
    /* A thread a batch: the operations inside then run on that thread alone, and none waits for another. */
#pragma omp parallel for schedule(dynamic, 1) if (job.n_batches > 1)
    for (int i = 0; i < job.n_batches; i++) {
        if (t->stop && t->stop(t->stop_context)) {
#pragma omp atomic write
            stopped = 1;
            continue;
        }
        size_t wanted, lacks;
#pragma omp atomic read
        lacks = lacking;
        if (lacks) continue;
        if (!mem_run(scope, run_batch, &(Piece){&job, i}, &wanted)) {
#pragma omp atomic write
            lacking = wanted;
            continue;
        }
    }
    if (lacking) mem_lacks(lacking);
    mem_free(job.first);
    mem_free(job.order);
    return !stopped && !(t->stop && t->stop(t->stop_context));
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
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a sentence has a translation; the arena never returns NULL */
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
