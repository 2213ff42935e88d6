#include "model/search.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/threads.h"
#include "model/beam.h"
#include "model/distribution.h"
#include "model/sample.h"
#include "model/transformer.h"

void search_init(Search *search, Model *const *model, int n_models)
{
    *search = (Search){.n_models = n_models, .models = mem_zalloc((size_t)n_models * sizeof *search->models)};
    for (int m = 0; m < n_models; m++) {
        CHECK(model[m]->config.vocab_size == model[0]->config.vocab_size, "vocabularies of %d and %d",
              model[0]->config.vocab_size, model[m]->config.vocab_size);
        search->models[m].model = model[m];
        search->models[m].tape.compute = model[m]->compute;
    }
}

void search_free(Search *search)
{
    for (int m = 0; m < search->n_models; m++) {
        tape_free(&search->models[m].tape);
        decoder_cache_free(&search->models[m].cache);
    }
    mem_free(search->models);
    *search = (Search){0};
}

/* A live hypothesis, which is a row of the step: live[place] of the beam of its sentence. */
typedef struct Row {
    int sentence, place;
} Row;

/* One run of search_translate. */
typedef struct Run {
    Search *search;
    const SearchInput *input;
    const SearchOptions *options;
    int beam_size, n_keep; /* of each beam; candidates of a hypothesis that are looked at */
    Beam *beam;        /* [n_seq] */
    int n_rows;        /* of the present step; at most R = n_seq * beam_size */
    Row *row;          /* [R] */
    int32_t *slot;     /* [R] in the models' caches */
    int32_t *token;    /* [R] the last token */
    int *n_candidates; /* [R] */
    Candidate *candidate; /* [R, n_keep] */
    BeamCopy *copy;       /* [R] */
    int top_size;          /* tokens that are looked at at a time: n_keep, or, for sampling, V */
    SampleScratch scratch; /* [threads, top_size]; weights for sampling only */
} Run;

static int prefix_length(const SearchInput *input, int s)
{
    return input->prefix ? input->prefix->start[s + 1] - input->prefix->start[s] : 0;
}

/* The tokens that a translation may have, besides EOS; n_source: without EOS. */
static int limit_of(const SearchOptions *options, int n_source, int n_prefix)
{
    const double most = floor(options->max_ratio * n_source + options->max_extra);
    CHECK(most < 1e9, "a limit of %g tokens", most);
    const int limit = most < 1 ? 1 : (int)most;
    return limit < n_prefix ? n_prefix : limit;
}

static void begin_beams(Run *run, Arena *arena)
{
    const Ragged *source = &run->input->source;
    const int n = source->n_seq;
    int *limit = arena_alloc(arena, (size_t)n * sizeof *limit), longest = 0;
    for (int s = 0; s < n; s++) {
        limit[s] = limit_of(run->options, source->start[s + 1] - source->start[s] - 1, prefix_length(run->input, s));
        if (limit[s] > longest) longest = limit[s];
    }
    const double *norm = beam_norms(arena, run->options, longest + 1);
    run->beam = arena_alloc(arena, (size_t)n * sizeof *run->beam);
    for (int s = 0; s < n; s++) beam_begin(&run->beam[s], arena, run->options, limit[s], norm);
}

static void begin_models(Run *run)
{
    for (int m = 0; m < run->search->n_models; m++) {
        SearchModel *sm = &run->search->models[m];
        decoder_cache_begin(sm->model, &sm->tape, &sm->cache, &run->input->source, run->beam_size);
    }
}

static Run begin(Search *search, const SearchInput *input, const SearchOptions *options, Arena *arena)
{
    const int n_tokens = search->models[0].model->config.vocab_size;
    Run run = {.search = search, .input = input, .options = options, .beam_size = beam_size_of(options)};
    run.n_keep = run.beam_size < n_tokens ? run.beam_size : n_tokens;
    run.top_size = options->sample ? n_tokens : run.n_keep;
    const size_t most = (size_t)input->source.n_seq * (size_t)run.beam_size;
    run.row = arena_alloc(arena, most * sizeof *run.row);
    run.slot = arena_alloc(arena, most * sizeof *run.slot);
    run.token = arena_alloc(arena, most * sizeof *run.token);
    run.n_candidates = arena_alloc(arena, most * sizeof *run.n_candidates);
    run.candidate = arena_alloc(arena, most * (size_t)run.n_keep * sizeof *run.candidate);
    run.copy = arena_alloc(arena, most * sizeof *run.copy);
    const size_t scratch = (size_t)threads_count() * (size_t)run.top_size;
    run.scratch.token = arena_alloc(arena, scratch * sizeof *run.scratch.token);
    run.scratch.rank = arena_alloc(arena, scratch * sizeof *run.scratch.rank);
    if (options->sample) run.scratch.weight = arena_alloc(arena, scratch * sizeof *run.scratch.weight);
    begin_beams(&run, arena);
    begin_models(&run);
    return run;
}

/* The rows of the next step. */
static void gather(Run *run)
{
    run->n_rows = 0;
    for (int s = 0; s < run->input->source.n_seq; s++) {
        const Beam *beam = &run->beam[s];
        if (beam_decided(beam)) continue;
        for (int i = 0; i < beam->n_live; i++) {
            const int row = run->n_rows++, slot = beam->live[i].slot, n = beam->n_tokens;
            run->row[row] = (Row){s, i};
            run->slot[row] = s * run->beam_size + slot;
            run->token[row] = n ? beam->history[slot].token[n - 1] : TOKEN_BOS;
        }
    }
}

/* What comes after the rows' tokens, which stand at `position`; in the first model's tape. */
static Distribution step(Run *run, int position)
{
    const int n_models = run->search->n_models;
    Tensor *logits[n_models];
    for (int m = 0; m < n_models; m++) {
        SearchModel *sm = &run->search->models[m];
        tape_begin(&sm->tape, false);
        Tensor *hidden =
            decoder_cache_step(sm->model, &sm->tape, &sm->cache, run->n_rows, run->slot, run->token, position);
        logits[m] = transformer_logits(sm->model, &sm->tape, hidden);
    }
    return distribution_of(&run->search->models[0].tape, logits, n_models);
}

/* The calling thread's */
static SampleScratch own_scratch(const Run *run)
{
    const size_t offset = (size_t)threads_self() * (size_t)run->top_size;
    const SampleScratch *s = &run->scratch;
    return (SampleScratch){s->token + offset, s->rank + offset, s->weight ? s->weight + offset : NULL};
}

/* The tokens that may follow row i, to scratch->token: the most probable ones, or the one that is drawn, or given. */
static int followers(const Run *run, const Distribution *d, int i, const SampleScratch *scratch)
{
    const int s = run->row[i].sentence;
    const Beam *beam = &run->beam[s];
    const SearchInput *input = run->input;
    if (beam->n_tokens < prefix_length(input, s)) {
        scratch->token[0] = input->prefix->token[input->prefix->start[s] + beam->n_tokens];
        return 1;
    }
    const Constraint constraint = {.utf8_bytes = run->options->utf8_bytes, .state = beam->live[run->row[i].place].state,
                                   .room = beam->limit - beam->n_tokens};
    if (!run->options->sample) return distribution_top(d, i, &constraint, run->n_keep, scratch->token, scratch->rank);
    const uint64_t line = (uint64_t)input->line[s];
    const RandomStream stream = random_stream(run->options->seed, RANDOM_SAMPLE, (uint32_t)line, (uint32_t)(line >> 32));
    const double uniform = random_uniform(&stream, (uint64_t)beam->n_tokens);
    scratch->token[0] = sample_token(d, i, &constraint, run->options, uniform, scratch);
    return scratch->token[0] >= 0;
}

static void propose(Run *run, const Distribution *d)
{
#pragma omp parallel for schedule(static) if (run->n_rows > 4)
    for (int i = 0; i < run->n_rows; i++) {
        const SampleScratch scratch = own_scratch(run);
        Candidate *candidate = run->candidate + (size_t)i * (size_t)run->n_keep;
        const int place = run->row[i].place, n = followers(run, d, i, &scratch);
        const double before = run->beam[run->row[i].sentence].live[place].log_probability;
        for (int c = 0; c < n; c++)
            candidate[c] = (Candidate){before + distribution_log(d, i, scratch.token[c]), place, scratch.token[c]};
        run->n_candidates[i] = n;
    }
}

/* Let the beams go on, and the caches with them. */
static void extend(Run *run)
{
    int n_copies = 0;
    for (int i = 0, next; i < run->n_rows; i = next) {
        const int s = run->row[i].sentence;
        Candidate *first = run->candidate + (size_t)i * (size_t)run->n_keep;
        int n = 0;
        for (next = i; next < run->n_rows && run->row[next].sentence == s; next++) {
            memmove(first + n, run->candidate + (size_t)next * (size_t)run->n_keep,
                    (size_t)run->n_candidates[next] * sizeof *first);
            n += run->n_candidates[next];
        }
        BeamCopy *copy = run->copy + n_copies;
        const int n_new = beam_extend(&run->beam[s], run->options->utf8_bytes, first, n, copy);
        for (int c = 0; c < n_new; c++) {
            copy[c].from += s * run->beam_size;
            copy[c].to += s * run->beam_size;
        }
        n_copies += n_new;
    }
#pragma omp parallel for schedule(static) if (n_copies > 16)
    for (int c = 0; c < n_copies; c++)
        for (int m = 0; m < run->search->n_models; m++) {
            SearchModel *sm = &run->search->models[m];
            decoder_cache_copy(&sm->cache, sm->model, run->copy[c].from, run->copy[c].to, run->copy[c].first,
                             run->copy[c].last);
        }
}

void search_translate(Search *search, const SearchInput *input, const SearchOptions *options, Arena *arena, Translation *out)
{
    Run run = begin(search, input, options, arena);
    gather(&run);
    for (int position = 0; run.n_rows && !(search->stop && search->stop(search->stop_context)); position++) {
        const Distribution d = step(&run, position);
        propose(&run, &d);
        extend(&run);
        gather(&run);
    }
    for (int s = 0; s < input->source.n_seq; s++) out[s] = beam_best(&run.beam[s]);
}
