#include "tests/searching.h"

#include <check.h>
#include <string.h>

#include "model/score.h"
#include "tests/sample.h"

int searching_steps;

static int count_steps(void *context)
{
    (void)context;
    searching_steps++;
    return 0;
}

Model *searching_model(const ModelConfig *config, uint64_t seed)
{
    Model *model = sample_model(config, seed, false);
    model_freeze(model, PRECISION_FP32);
    return model;
}

/* The translations of `input`, in the arena. */
Translation *searching_translate(Arena *arena, Model *const *model, int n_models, const SearchInput *input,
                                 const SearchOptions *options)
{
    Search search;
    Translation *out = arena_alloc(arena, (size_t)input->source.n_seq * sizeof *out);
    search_init(&search, model, n_models);
    search.stop = count_steps;
    search_translate(&search, input, options, arena, out);
    search_free(&search);
    return out;
}

int searching_length(const Translation *t)
{
    int n = 0;
    for (; t; t = t->next) n++;
    return n;
}

bool searching_same(const Translation *a, const Translation *b)
{
    return a->n == b->n && (!a->n || !memcmp(a->token, b->token, (size_t)a->n * sizeof *a->token));
}

/* The same lists, to the last bit. */
void searching_assert_same(const Translation *a, const Translation *b)
{
    ck_assert_int_eq(searching_length(a), searching_length(b));
    for (; a; a = a->next, b = b->next) {
        ck_assert(searching_same(a, b));
        ck_assert_msg(a->log_probability == b->log_probability, "%a, %a", a->log_probability, b->log_probability);
        ck_assert_msg(a->score == b->score, "%a, %a", a->score, b->score);
    }
}

/* The sum of forced decoding's log-probabilities for each of the list, beside sentence s of `source`. */
double *searching_forced(Arena *arena, Model *const *model, int n_models, const Ragged *source, int s,
                         const Translation *list)
{
    const int n = searching_length(list), n_source = source->start[s + 1] - source->start[s];
    double *sum = arena_zalloc(arena, (size_t)n * sizeof *sum);
    int32_t *source_start = arena_alloc(arena, (size_t)(n + 1) * sizeof(int32_t)),
            *start = arena_alloc(arena, (size_t)(n + 1) * sizeof(int32_t)), n_tokens = 0;
    int32_t *sources = arena_alloc(arena, (size_t)(n * n_source) * sizeof *sources), *target, *label;
    start[0] = 0;
    int i = 0;
    for (const Translation *t = list; t; t = t->next) start[++i] = n_tokens += t->n + 1;
    target = arena_alloc(arena, (size_t)n_tokens * sizeof *target);
    label = arena_alloc(arena, (size_t)n_tokens * sizeof *label);
    for (i = 0; i <= n; i++) source_start[i] = i * n_source;
    i = 0;
    for (const Translation *t = list; t; t = t->next, i++) {
        memcpy(sources + i * n_source, source->token + source->start[s], (size_t)n_source * sizeof *sources);
        for (int j = 0; j <= t->n; j++) {
            target[start[i] + j] = j ? t->token[j - 1] : TOKEN_BOS;
            label[start[i] + j] = j < t->n ? t->token[j] : TOKEN_EOS;
        }
    }
    const Batch batch = {{n, n * n_source, source_start, sources}, {n, n_tokens, start, target}, label};
    double *each = arena_alloc(arena, (size_t)n_tokens * sizeof *each);
    Search search;
    search_init(&search, model, n_models);
    score_batch(&search, &batch, each);
    search_free(&search);
    for (i = 0; i < n; i++)
        for (int j = start[i]; j < start[i + 1]; j++) sum[i] += each[j];
    return sum;
}

/* All sequences of at most `limit` of the tokens from N_SPECIAL on, as a list in no special order. */
Translation *searching_all(Arena *arena, int vocab_size, int limit)
{
    Translation *list = arena_zalloc(arena, sizeof *list);
    for (Translation *t = list, *last = list; t; t = t->next)
        for (int32_t token = N_SPECIAL; token < vocab_size && t->n < limit; token++) {
            Translation *longer = arena_zalloc(arena, sizeof *longer);
            longer->n = t->n + 1;
            longer->token = arena_alloc(arena, (size_t)longer->n * sizeof *longer->token);
            if (t->n) memcpy(longer->token, t->token, (size_t)t->n * sizeof *t->token);
            longer->token[t->n] = token;
            last = last->next = longer;
        }
    return list;
}
