#include "model/search.h"

#include <math.h>

#include "core/error.h"
#include "core/utf8.h"

void search_free(Search *search)
{
    tape_free(&search->tape);
    model_cache_free(&search->cache);
}

int32_t search_best_token(int n, const real *logits, const uint8_t *utf8_bytes, uint8_t state)
{
    int32_t best = TOKEN_EOS;
    real highest = (real)-INFINITY;
    for (int32_t t = 0; t < n; t++) {
        if (!(logits[t] > highest)) continue;
        bool may_follow = utf8_bytes ? utf8_next(state, utf8_bytes[t]) != UTF8_BAD : t != TOKEN_PAD && t != TOKEN_BOS;
        if (may_follow) {
            highest = logits[t];
            best = t;
        }
    }
    return best;
}

/* One sentence on its way. */
typedef struct Hypothesis {
    int32_t *token; /* [limit] */
    int32_t limit;
    int n, n_complete; /* tokens; of those, up to the last complete character */
    Utf8State state;
} Hypothesis;

/* Append the token; false if the sentence has ended. */
static bool extend(Hypothesis *h, int32_t token, const uint8_t *utf8_bytes)
{
    if (token == TOKEN_EOS) return false;
    h->token[h->n++] = token;
    if (utf8_bytes) h->state = utf8_next(h->state, utf8_bytes[token]);
    if (h->state == UTF8_START) h->n_complete = h->n;
    return h->n < h->limit;
}

void search_greedy(Search *search, Model *model, const Ragged *source, const SearchOptions *options, Arena *arena,
                   Translation *out)
{
    const int n = source->n_seq, classes = model->config.vocab_size;
    Tape *tape = &search->tape;
    Hypothesis *hypothesis = arena_zalloc(arena, (size_t)n * sizeof *hypothesis);
    int32_t *capacity = arena_alloc(arena, (size_t)n * sizeof *capacity),
            *live = arena_alloc(arena, (size_t)n * sizeof *live);
    int32_t *last = arena_alloc(arena, (size_t)n * sizeof *last), *next = arena_alloc(arena, (size_t)n * sizeof *next);
    int n_live = 0;
    for (int s = 0; s < n; s++) {
        double limit = floor(options->max_ratio * (source->start[s + 1] - source->start[s] - 1) + options->max_extra);
        CHECK(limit < 1e9, "a limit of %g tokens", limit);
        capacity[s] = hypothesis[s].limit = limit < 1 ? 1 : (int32_t)limit;
        hypothesis[s].token = arena_alloc(arena, (size_t)capacity[s] * sizeof(int32_t));
        live[n_live] = s;
        last[n_live++] = TOKEN_BOS;
    }
    tape_begin(tape, false);
    tape->dropout = false;
    model_cache_begin(model, tape, &search->cache, model_encode(model, tape, source), source, capacity);
    for (int position = 0; n_live && !(search->stop && search->stop()); position++) {
        tape_begin(tape, false);
        Tensor *logits =
            model_logits(model, tape, model_decode_step(model, tape, &search->cache, n_live, live, last, position));
#pragma omp parallel for schedule(static) if (n_live > 8)
        for (int i = 0; i < n_live; i++)
            next[i] = search_best_token(classes, logits->value + (size_t)i * logits->stride, options->utf8_bytes,
                                        hypothesis[live[i]].state);
        int n_left = 0;
        for (int i = 0; i < n_live; i++)
            if (extend(&hypothesis[live[i]], next[i], options->utf8_bytes)) {
                last[n_left] = next[i];
                live[n_left++] = live[i];
            }
        n_live = n_left;
    }
    for (int s = 0; s < n; s++) out[s] = (Translation){.token = hypothesis[s].token, .n = hypothesis[s].n_complete};
}
