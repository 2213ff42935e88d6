#include "model/beam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

double *beam_norms(Arena *arena, const SearchOptions *options, int longest)
{
    double *norm = arena_alloc(arena, ((size_t)longest + 1) * sizeof *norm);
    norm[0] = 1;
    for (int n = 1; n <= longest; n++) {
        const double base = options->length_norm == LENGTH_GNMT ? (5.0 + n) / 6 : n;
        norm[n] = options->length_norm == LENGTH_NONE ? 1 : pow(base, options->length_penalty);
        if (n > 1 && norm[n] < norm[n - 1]) norm[n] = norm[n - 1]; /* whatever pow's rounding */
    }
    return norm;
}

int beam_size_of(const SearchOptions *options)
{
    return options->sample || options->beam_size < 1 ? 1 : options->beam_size;
}

void beam_begin(Beam *beam, Arena *arena, const SearchOptions *options, int limit, const double *norm)
{
    const int beam_size = beam_size_of(options), n_best = options->sample || options->n_best < 1 ? 1 : options->n_best;
    const size_t n = (size_t)beam_size;
    CHECK(n_best <= beam_size, "%d translations from a beam of %d", n_best, beam_size);
    *beam = (Beam){.beam_size = beam_size, .n_best = n_best, .limit = limit, .no_early_stop = options->no_early_stop, .norm = norm,
                   .n_live = 1, .arena = arena};
    beam->live = arena_zalloc(arena, n * sizeof *beam->live);
    beam->next = arena_alloc(arena, n * sizeof *beam->next);
    beam->history = arena_alloc(arena, n * sizeof *beam->history);
    beam->taken = arena_alloc(arena, n * sizeof *beam->taken);
    beam->finished = arena_alloc(arena, n * sizeof *beam->finished);
    for (int slot = 0; slot < beam_size; slot++)
        beam->history[slot] = (History){.token = arena_alloc(arena, (size_t)limit * sizeof(int32_t)), .n = -1};
}

/* Of equals, the one with the better parent, then the lower token number comes first. */
static int better_first(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    if (x->log_probability != y->log_probability) return x->log_probability > y->log_probability ? -1 : 1;
    return x->parent != y->parent ? (x->parent > y->parent) - (x->parent < y->parent)
                                  : (x->token > y->token) - (x->token < y->token);
}

static void finish(Beam *beam, const Hypothesis *parent, double log_probability)
{
    const size_t n = (size_t)beam->n_tokens;
    Translation *t = &beam->finished[beam->n_finished++];
    *t = (Translation){.token = arena_alloc(beam->arena, n * sizeof *t->token), .n = (int)n,
                       .log_probability = log_probability, .score = log_probability / beam->norm[n + 1]};
    if (n) memcpy(t->token, beam->history[parent->slot].token, n * sizeof *t->token);
}

/* The first position at which slot `to` holds other keys and values than slot `from`, all of whose n_tokens count. */
static int first_difference(const Beam *beam, int from, int to)
{
    const History *a = &beam->history[from], *b = &beam->history[to];
    int n = 0;
    while (n < b->n && a->token[n] == b->token[n]) n++;
    return b->n < 0 ? 0 : n + 1;
}

/* Of the slots that are free, the one that differs from `from` the latest gets a copy. */
static BeamCopy fork_slot(Beam *beam, int from)
{
    BeamCopy copy = {.from = from, .to = -1, .first = -1, .last = beam->n_tokens + 1};
    for (int slot = 0; slot < beam->beam_size; slot++) {
        if (beam->taken[slot]) continue;
        const int first = first_difference(beam, from, slot);
        if (first > copy.first) {
            copy.first = first;
            copy.to = slot;
        }
    }
    History *history = &beam->history[copy.to];
    memcpy(history->token, beam->history[from].token, (size_t)beam->n_tokens * sizeof *history->token);
    history->n = beam->n_tokens;
    beam->taken[copy.to] = true;
    return copy;
}

/* Slots for the next hypotheses, which have those of their parents: the first child of each stays there. */
static int settle(Beam *beam, int n_next, BeamCopy *copy)
{
    int n_copies = 0;
    bool stays[beam->beam_size];
    memset(beam->taken, 0, (size_t)beam->beam_size * sizeof *beam->taken);
    for (int i = 0; i < n_next; i++) {
        bool *taken = &beam->taken[beam->next[i].slot];
        stays[i] = !*taken;
        *taken = true;
    }
    for (int i = 0; i < n_next; i++) {
        if (stays[i]) continue;
        copy[n_copies] = fork_slot(beam, beam->next[i].slot);
        beam->next[i].slot = copy[n_copies++].to;
    }
    return n_copies;
}

int beam_extend(Beam *beam, const uint8_t *utf8_bytes, Candidate *candidate, int n, BeamCopy *copy)
{
    const int n_tokens = beam->n_tokens, places = beam->beam_size - beam->n_finished;
    int32_t token[beam->beam_size];
    int n_next = 0;
    for (int i = 0; i < beam->n_live; i++) beam->history[beam->live[i].slot].n = n_tokens;
    qsort(candidate, (size_t)n, sizeof *candidate, better_first);
    for (int i = 0; i < n && i < places; i++) {
        const Candidate *c = &candidate[i];
        const Hypothesis *parent = &beam->live[c->parent];
        if (c->token == TOKEN_EOS) {
            finish(beam, parent, c->log_probability);
            continue;
        }
        const Constraint constraint = {.utf8_bytes = utf8_bytes, .state = parent->state};
        token[n_next] = c->token;
        beam->next[n_next++] = (Hypothesis){parent->slot, c->log_probability, constraint_next(&constraint, c->token)};
    }
    /* Nothing may follow only if the model computes no numbers. Even then there is a translation. */
    if (!n_next && !beam->n_finished) finish(beam, &beam->live[0], (double)-INFINITY);
    const int n_copies = settle(beam, n_next, copy);
    for (int i = 0; i < n_next; i++) beam->history[beam->next[i].slot].token[n_tokens] = token[i];
    Hypothesis *old = beam->live;
    beam->live = beam->next;
    beam->next = old;
    beam->n_live = n_next;
    beam->n_tokens++;
    return n_copies;
}

/* Higher scores first; of equals the one that finished first. */
static int higher_first(const void *a, const void *b)
{
    const Translation *x = *(Translation *const *)a, *y = *(Translation *const *)b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return (x > y) - (x < y);
}

/* The finished ones, best first. */
static void rank(const Beam *beam, Translation **ranked)
{
    for (int i = 0; i < beam->n_finished; i++) ranked[i] = &beam->finished[i];
    qsort(ranked, (size_t)beam->n_finished, sizeof *ranked, higher_first);
}

/* Let a live hypothesis have log-probability s and n tokens. The log-probability L of any translation Y that it may become is
 * at most s, since each token adds a number that is at most 0 (distribution_log sees to that), and adding such a number never
 * rounds up. Its score is L / norm(|Y|) with n + 1 <= |Y| <= limit + 1. All three norms are positive and don't decrease with
 * |Y| (beam_norms sees to that), so, numbers being at most 0,
 *     L / norm(|Y|) <= s / norm(|Y|) <= s / norm(limit + 1),
 * also as computed, because division rounds monotonically. The largest s is that of live[0]. So if s / norm(limit + 1) is at
 * most the score of the n_best-th finished translation, no live hypothesis can push that out: where it reached the same
 * score, it would finish later, and lose the tie. */
bool beam_decided(const Beam *beam)
{
    if (!beam->n_live) return true;
    if (beam->n_finished < beam->n_best || beam->no_early_stop) return false;
    Translation *ranked[beam->n_finished];
    rank(beam, ranked);
    return beam->live[0].log_probability / beam->norm[beam->limit + 1] <= ranked[beam->n_best - 1]->score;
}

Translation beam_best(Beam *beam)
{
    if (!beam->n_finished) finish(beam, &beam->live[0], (double)-INFINITY);
    Translation *ranked[beam->n_finished];
    rank(beam, ranked);
    const int n = beam->n_finished < beam->n_best ? beam->n_finished : beam->n_best;
    for (int i = 0; i + 1 < n; i++) ranked[i]->next = ranked[i + 1];
    return *ranked[0];
}
