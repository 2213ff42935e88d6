/* model/beam, score, sample, align: beam search against looking at everything, against forced decoding, with and without early
 * stop; sampling against the distribution; ensembles; prefixes; alignments. Scores are compared to the last bit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/threads.h"
#include "model/align.h"
#include "model/sample.h"
#include "model/score.h"
#include "tests/naive.h"
#include "tests/sample.h"
#include "tests/suites.h"

static const ModelConfig tiny = {
    .vocab_size = 9, .d_model = 24, .d_ff = 40, .heads = 3, .encoder_layers = 2, .decoder_layers = 2,
};

static Arena arena;

static void setup(void)
{
    kernels_init();
}

static void teardown(void)
{
    arena_free(&arena);
}

static Model *frozen(const ModelConfig *config, uint64_t seed)
{
    Model *model = sample_model(config, seed, false);
    model_freeze(model);
    return model;
}

static int n_steps;

static int count_steps(void)
{
    n_steps++;
    return 0;
}

/* The translations of `input`, in the arena. */
static Translation *translate(Model *const *model, int n_models, const SearchInput *input, const SearchOptions *options)
{
    Search search;
    Translation *out = arena_alloc(&arena, (size_t)input->source.n_seq * sizeof *out);
    search_init(&search, model, n_models);
    search.stop = count_steps;
    search_translate(&search, input, options, &arena, out);
    search_free(&search);
    return out;
}

static Translation *translate_source(Model *model, const Ragged *source, const SearchOptions *options)
{
    return translate(&model, 1, &(SearchInput){.source = *source}, options);
}

static int list_length(const Translation *t)
{
    int n = 0;
    for (; t; t = t->next) n++;
    return n;
}

static bool same_tokens(const Translation *a, const Translation *b)
{
    return a->n == b->n && (!a->n || !memcmp(a->token, b->token, (size_t)a->n * sizeof *a->token));
}

/* The same lists, to the last bit. */
static void assert_same_lists(const Translation *a, const Translation *b)
{
    ck_assert_int_eq(list_length(a), list_length(b));
    for (; a; a = a->next, b = b->next) {
        ck_assert(same_tokens(a, b));
        ck_assert_msg(a->log_probability == b->log_probability, "%a, %a", a->log_probability, b->log_probability);
        ck_assert_msg(a->score == b->score, "%a, %a", a->score, b->score);
    }
}

/* The sum of forced decoding's log-probabilities for each of the list, beside sentence s of `source`. */
static double *forced(Model *const *model, int n_models, const Ragged *source, int s, const Translation *list)
{
    const int n = list_length(list), n_source = source->start[s + 1] - source->start[s];
    double *sum = arena_zalloc(&arena, (size_t)n * sizeof *sum);
    int32_t *source_start = arena_alloc(&arena, (size_t)(n + 1) * sizeof(int32_t)),
            *start = arena_alloc(&arena, (size_t)(n + 1) * sizeof(int32_t)), n_tokens = 0;
    int32_t *sources = arena_alloc(&arena, (size_t)(n * n_source) * sizeof *sources), *target, *label;
    start[0] = 0;
    int i = 0;
    for (const Translation *t = list; t; t = t->next) start[++i] = n_tokens += t->n + 1;
    target = arena_alloc(&arena, (size_t)n_tokens * sizeof *target);
    label = arena_alloc(&arena, (size_t)n_tokens * sizeof *label);
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
    double *each = arena_alloc(&arena, (size_t)n_tokens * sizeof *each);
    Search search;
    search_init(&search, model, n_models);
    score_batch(&search, &batch, each);
    search_free(&search);
    for (i = 0; i < n; i++)
        for (int j = start[i]; j < start[i + 1]; j++) sum[i] += each[j];
    return sum;
}

static double divisor(const SearchOptions *o, int n)
{
    if (o->length_norm == LENGTH_NONE) return 1;
    return pow(o->length_norm == LENGTH_GNMT ? (5.0 + n) / 6 : n, o->length_penalty);
}

/* ---- beam search ---- */

/* All sequences of at most `limit` of the tokens from N_SPECIAL on, as a list in no special order. */
static Translation *all_sequences(int vocab_size, int limit)
{
    Translation *list = arena_zalloc(&arena, sizeof *list);
    for (Translation *t = list, *last = list; t; t = t->next)
        for (int32_t token = N_SPECIAL; token < vocab_size && t->n < limit; token++) {
            Translation *longer = arena_zalloc(&arena, sizeof *longer);
            longer->n = t->n + 1;
            longer->token = arena_alloc(&arena, (size_t)longer->n * sizeof *longer->token);
            if (t->n) memcpy(longer->token, t->token, (size_t)t->n * sizeof *t->token);
            longer->token[t->n] = token;
            last = last->next = longer;
        }
    return list;
}

static int by_score(const void *a, const void *b)
{
    const Translation *x = *(Translation *const *)a, *y = *(Translation *const *)b;
    return (x->score < y->score) - (x->score > y->score);
}

/* A beam as wide as there are translations finds them all, in the right order. */
START_TEST(wide_beam_looks_at_everything)
{
    ModelConfig config = tiny;
    config.vocab_size = 6;
    enum { LIMIT = 3, N_ALL = 1 + 3 + 9 + 27, N = 5 };
    for (uint64_t seed = 0; seed < 6; seed++) {
        Model *model = frozen(&config, seed);
        const Ragged source = sample_batch(&arena, seed, N, 0, 8, config.vocab_size).source;
        const SearchOptions options = {.max_extra = LIMIT, .beam = N_ALL, .n_best = N_ALL, .length_norm = (LengthNorm)(seed % 3),
                                       .length_penalty = seed < 3 ? 1 : 0.6};
        const Translation *found = translate_source(model, &source, &options);
        for (int s = 0; s < N; s++) {
            Translation *ranked[N_ALL], *all = all_sequences(config.vocab_size, LIMIT);
            const double *log_probability = forced(&model, 1, &source, s, all);
            int n = 0;
            for (Translation *t = all; t; t = t->next, n++) {
                t->log_probability = log_probability[n];
                t->score = t->log_probability / divisor(&options, t->n + 1);
                ranked[n] = t;
            }
            ck_assert_int_eq(n, N_ALL);
            qsort(ranked, N_ALL, sizeof *ranked, by_score);
            for (int i = 0; i < N_ALL; i++) ranked[i]->next = i + 1 < N_ALL ? ranked[i + 1] : NULL;
            assert_same_lists(&found[s], ranked[0]);
        }
        model_free(model);
        arena_reset(&arena);
    }
}
END_TEST

/* Forced decoding, without cache, gives each translation of each list the log-probability that the search counted; lists are
 * sorted and have no duplicates; the first is the one-best. */
START_TEST(lists_of_the_best)
{
    enum { N = 17 };
    int n_long = 0;
    for (uint64_t seed = 0; seed < 6; seed++) {
        ModelConfig config = tiny;
        config.norm = seed % 2 ? MODEL_PRE_NORM : MODEL_POST_NORM;
        Model *model = frozen(&config, seed);
        const Ragged source = sample_batch(&arena, seed, N, 0, seed == 5 ? 60 : 20, config.vocab_size).source;
        const int beam = 2 + (int)seed * 2;
        SearchOptions options = {.max_ratio = 1.5, .max_extra = 10, .beam = beam, .n_best = beam, .length_penalty = 1};
        const Translation *lists = translate_source(model, &source, &options);
        options.n_best = 1;
        const Translation *best = translate_source(model, &source, &options);
        for (int s = 0; s < N; s++) {
            const double *log_probability = forced(&model, 1, &source, s, &lists[s]);
            ck_assert_int_eq(list_length(&lists[s]), beam);
            Translation first = lists[s];
            first.next = NULL;
            assert_same_lists(&first, &best[s]);
            int i = 0;
            for (const Translation *t = &lists[s]; t; t = t->next, i++) {
                ck_assert_msg(t->log_probability == log_probability[i], "%a, %a", t->log_probability, log_probability[i]);
                ck_assert(t->score == t->log_probability / divisor(&options, t->n + 1));
                ck_assert(!t->next || t->score >= t->next->score);
                for (const Translation *other = t->next; other; other = other->next) ck_assert(!same_tokens(t, other));
                n_long += t->n > 32; /* the cache has grown */
            }
        }
        model_free(model);
        arena_reset(&arena);
    }
    ck_assert_int_gt(n_long, 50);
}
END_TEST

/* Stopping early changes nothing but the number of steps. */
START_TEST(early_stop_is_right)
{
    enum { N = 3 };
    int n_early = 0, n_late = 0;
    for (uint64_t seed = 0; seed < 120; seed++) {
        /* Sure of some tokens, unsure of others: a sum that is behind may well be ahead when it has been divided. */
        Model *model = sample_model(&tiny, seed % 12, false);
        for (int i = 0; i < model->output.rows * model->output.cols; i++) model->output.value[i] *= 4;
        const Ragged source = sample_batch(&arena, seed, N, 0, 12, tiny.vocab_size).source;
        const int beam = 2 + (int)seed % 5;
        SearchOptions options = {.max_ratio = 1.5, .max_extra = 10, .beam = beam, .n_best = 1 + (int)(seed / 5) % beam,
                                 .length_norm = (LengthNorm)(seed % 3), .length_penalty = 0.3 * (double)(seed % 7)};
        n_steps = 0;
        const Translation *early = translate_source(model, &source, &options);
        n_early += n_steps;
        options.no_early_stop = true;
        n_steps = 0;
        const Translation *late = translate_source(model, &source, &options);
        n_late += n_steps;
        for (int s = 0; s < N; s++) assert_same_lists(&early[s], &late[s]);
        model_free(model);
        arena_reset(&arena);
    }
    ck_assert_msg(n_early < n_late, "%d steps with early stop, %d without", n_early, n_late);
}
END_TEST

/* Alone, in another order, on other numbers of threads: each sentence's list is the same, drawn ones, too. */
START_TEST(independent_of_the_batch)
{
    enum { N = 30 };
    const SearchOptions cases[] = {
        {.max_ratio = 1.5, .max_extra = 10, .beam = 4, .n_best = 3, .length_penalty = 1},
        {.max_ratio = 1.5, .max_extra = 10, .sample = true, .temperature = 1.2, .top_p = 0.95, .seed = 5},
    };
    Model *model = frozen(&tiny, 2);
    const Ragged source = sample_batch(&arena, 3, N, 0, 20, tiny.vocab_size).source;
    int64_t line[N];
    int32_t token[N * 21], start[N + 1] = {0};
    for (int s = 0; s < N; s++) line[s] = ((int64_t)1 << 33) + s;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        threads_set(2);
        const Translation *together = translate(&model, 1, &(SearchInput){.source = source, .line = line}, &cases[c]);
        threads_set(1);
        for (int s = 0; s < N; s++) {
            const Ragged one = sample_sentence(&arena, &source, N - 1 - s);
            const SearchInput input = {.source = one, .line = &line[N - 1 - s]};
            assert_same_lists(translate(&model, 1, &input, &cases[c]), &together[N - 1 - s]);
            memcpy(token + start[s], one.token, (size_t)one.n_tokens * sizeof *token);
            start[s + 1] = start[s] + one.n_tokens;
        }
        threads_set(3);
        int64_t backwards[N];
        for (int s = 0; s < N; s++) backwards[s] = line[N - 1 - s];
        const SearchInput input = {.source = {N, start[N], start, token}, .line = backwards};
        const Translation *reversed = translate(&model, 1, &input, &cases[c]);
        for (int s = 0; s < N; s++) assert_same_lists(&reversed[N - 1 - s], &together[s]);
    }
    model_free(model);
}
END_TEST

/* Where all tokens are equally probable, what comes first is what the rules say. */
START_TEST(ties)
{
    static const struct {
        int n;
        int32_t token[2];
    } wanted[] = {{0, {0}}, {1, {3}}, {2, {3, 3}}, {2, {3, 4}}}; /* when [3] has taken three places, none is left for [4] */
    ModelConfig config = tiny;
    config.vocab_size = 5;
    Model *model = sample_model(&config, 1, false);
    memset(model->output.value, 0, (size_t)model->output.rows * model->output.stride * sizeof(real));
    const Ragged source = sample_batch(&arena, 3, 2, 4, 4, config.vocab_size).source;
    const SearchOptions options = {.max_extra = 2, .beam = 4, .n_best = 4, .length_norm = LENGTH_NONE};
    const Translation *found = translate_source(model, &source, &options);
    for (int s = 0; s < 2; s++) {
        const Translation *t = &found[s];
        for (int i = 0; i < 4; i++, t = t->next) {
            ck_assert_int_eq(t->n, wanted[i].n);
            for (int j = 0; j < t->n; j++) ck_assert_int_eq(t->token[j], wanted[i].token[j]);
        }
    }
    model_free(model);
}
END_TEST

/* A model that computes no numbers still gives a translation. */
START_TEST(not_a_number)
{
    Model *model = sample_model(&tiny, 1, false);
    for (size_t i = 0; i < model->params.size; i++) model->params.value[i] = (real)NAN;
    const Ragged source = sample_batch(&arena, 3, 2, 4, 4, tiny.vocab_size).source;
    const int64_t line[] = {1, 2};
    for (int sample = 0; sample < 2; sample++) {
        const SearchOptions options = {.max_extra = 9, .beam = 3, .n_best = sample ? 1 : 2, .sample = sample, .temperature = 1, .top_p = 0.5};
        const Translation *found = translate(&model, 1, &(SearchInput){.source = source, .line = line}, &options);
        for (int s = 0; s < 2; s++) ck_assert_int_eq(found[s].n, 0);
    }
    model_free(model);
}
END_TEST

static int third_step(void)
{
    return ++n_steps > 3;
}

START_TEST(stops_when_told)
{
    Model *model = frozen(&tiny, 2);
    const Ragged source = sample_batch(&arena, 3, 9, 9, 12, tiny.vocab_size).source;
    const SearchOptions options = {.max_ratio = 2, .beam = 3, .length_penalty = 1};
    Search search;
    Translation out[9];
    search_init(&search, &model, 1);
    search.stop = third_step;
    n_steps = 0;
    search_translate(&search, &(SearchInput){.source = source}, &options, &arena, out);
    for (int s = 0; s < 9; s++) ck_assert_int_le(out[s].n, 3);
    ck_assert_int_eq(n_steps, 4);
    search_free(&search);
    model_free(model);
}
END_TEST

/* ---- prefixes, ensembles ---- */

/* The beginning of its own translation changes nothing; any other one is where the translation begins, beyond the limit, too. */
START_TEST(prefixes)
{
    enum { N = 12 };
    Model *model = frozen(&tiny, 2);
    const Batch batch = sample_batch(&arena, 4, N, 3, 20, tiny.vocab_size);
    const SearchOptions options = {.max_ratio = 1, .max_extra = 5, .beam = 1 + 3 * _i, .n_best = 1 + 3 * _i, .length_penalty = 1};
    const Translation *free_ones = translate_source(model, &batch.source, &options);
    int32_t token[N * 64], start[N + 1] = {0};
    for (int s = 0; s < N; s++) {
        const int n = s % 2 ? free_ones[s].n / 2 : free_ones[s].n;
        if (n) memcpy(token + start[s], free_ones[s].token, (size_t)n * sizeof *token);
        start[s + 1] = start[s] + n;
    }
    const Ragged own = {N, start[N], start, token};
    const Translation *found = translate(&model, 1, &(SearchInput){.source = batch.source, .prefix = &own}, &options);
    for (int s = 0; s < N && !_i; s++) assert_same_lists(&found[s], &free_ones[s]);

    /* The targets without their BOS, and much longer than the limit */
    Ragged other = batch.target;
    int32_t *others = arena_alloc(&arena, (size_t)other.n_tokens * sizeof *others);
    for (int i = 0; i < other.n_tokens; i++) others[i] = other.token[i] == TOKEN_BOS ? 4 : other.token[i];
    other.token = others;
    SearchOptions narrow = options;
    narrow.max_ratio = 0;
    found = translate(&model, 1, &(SearchInput){.source = batch.source, .prefix = &other}, &narrow);
    for (int s = 0; s < N; s++) {
        const int n = other.start[s + 1] - other.start[s];
        const double *log_probability = forced(&model, 1, &batch.source, s, &found[s]);
        int i = 0;
        for (const Translation *t = &found[s]; t; t = t->next, i++) {
            ck_assert_int_ge(t->n, n);
            ck_assert_mem_eq(t->token, others + other.start[s], (size_t)n * sizeof *others);
            ck_assert(t->log_probability == log_probability[i]);
        }
    }
    model_free(model);
}
END_TEST

/* Two models: forced decoding agrees to the last bit, and the probabilities of tokens are the means. One model twice is that
 * model. */
START_TEST(ensembles)
{
    enum { N = 12 };
    Model *models[] = {frozen(&tiny, 2), frozen(&tiny, 4)}, *twice[] = {models[0], models[0]};
    const Batch batch = sample_batch(&arena, 4, N, 3, 20, tiny.vocab_size);
    const SearchOptions options = {.max_ratio = 1, .max_extra = 5, .beam = 4, .n_best = 4, .length_penalty = 1};
    const SearchInput input = {.source = batch.source};
    const Translation *pair = translate(models, 2, &input, &options), *double_one = translate(twice, 2, &input, &options),
                      *alone = translate(models, 1, &input, &options);
    int n_other = 0;
    for (int s = 0; s < N; s++) {
        const double *log_probability = forced(models, 2, &batch.source, s, &pair[s]);
        int i = 0;
        for (const Translation *t = &pair[s]; t; t = t->next, i++) ck_assert(t->log_probability == log_probability[i]);
        ck_assert(same_tokens(&alone[s], &double_one[s]));
        ck_assert_double_eq_tol(alone[s].log_probability, double_one[s].log_probability, 1e-4);
        n_other += !same_tokens(&alone[s], &pair[s]);
    }
    ck_assert_int_gt(n_other, 0);
    double *score[3];
    for (int m = 0; m < 3; m++) {
        Search search;
        score[m] = arena_alloc(&arena, (size_t)batch.target.n_tokens * sizeof **score);
        search_init(&search, m < 2 ? &models[m] : models, m < 2 ? 1 : 2);
        score_batch(&search, &batch, score[m]);
        search_free(&search);
    }
    for (int i = 0; i < batch.target.n_tokens; i++)
        ck_assert_double_eq_tol(exp(score[2][i]), (exp(score[0][i]) + exp(score[1][i])) / 2, 1e-6);
    model_free(models[0]);
    model_free(models[1]);
}
END_TEST

/* ---- sampling ---- */

/* Pearson's statistic of counts of n draws against probabilities; `classes` of them aren't 0. */
static double chi_square(const int *count, const double *probability, int n_tokens, int n, int *classes)
{
    double sum = 0;
    *classes = 0;
    for (int t = 0; t < n_tokens; t++) {
        if (probability[t] == 0) {
            ck_assert_int_eq(count[t], 0);
            continue;
        }
        const double wanted = probability[t] * n;
        sum += (count[t] - wanted) * (count[t] - wanted) / wanted;
        ++*classes;
    }
    return sum;
}

/* For 1 degree of freedom to 8: what chance exceeds once in a thousand times */
static const double chance[] = {0, 10.83, 13.82, 16.27, 18.47, 20.52, 22.46, 24.32, 26.12};

START_TEST(drawn_as_often_as_probable)
{
    enum { V = 9, DRAWS = 20000 };
    static const double p[V] = {0.3, 0.1, 0.02, 0.05, 0.25, 0.08, 0.12, 0.05, 0.03};
    static const struct {
        double temperature;
        int top_k;
        double top_p;
        bool stays[V]; /* PAD and BOS never do */
    } cases[] = {
        {1, 0, 1, {0, 0, 1, 1, 1, 1, 1, 1, 1}},
        {0.5, 0, 1, {0, 0, 1, 1, 1, 1, 1, 1, 1}},
        {1, 3, 1, {0, 0, 0, 0, 1, 1, 1, 0, 0}},
        {1, 4, 1, {0, 0, 0, 1, 1, 1, 1, 0, 0}}, /* of the two at 0.05 the first */
        {1, 0, 0.7, {0, 0, 0, 0, 1, 1, 1, 0, 0}}, /* of 0.6: 0.25, 0.12 are 0.62, with 0.08 0.75 */
        {1, 3, 0.8, {0, 0, 0, 0, 1, 0, 1, 0, 0}}, /* of 0.45: 0.37 are 0.82 */
        {2, 0, 0.05, {0, 0, 0, 0, 1, 0, 0, 0, 0}},
        {1, 1, 1, {0, 0, 0, 0, 1, 0, 0, 0, 0}},
    };
    real logits[V];
    for (int t = 0; t < V; t++) logits[t] = (real)(log(p[t]) + 3);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const SearchOptions options = {.sample = true, .temperature = cases[c].temperature, .top_k = cases[c].top_k,
                                       .top_p = cases[c].top_p};
        const Constraint any = {NULL, UTF8_START, 9};
        const RandomStream stream = random_stream(c, RANDOM_TEST, 0, 0);
        double weight[V], wanted[V], sum = 0;
        int32_t token[V];
        int count[V] = {0}, classes;
        for (int t = 0; t < V; t++) sum += wanted[t] = cases[c].stays[t] ? pow(p[t], 1 / cases[c].temperature) : 0;
        for (int t = 0; t < V; t++) wanted[t] /= sum;
        for (uint64_t i = 0; i < DRAWS; i++)
            count[sample_token(logits, V, &any, &options, random_uniform(&stream, i), weight, token)]++;
        const double statistic = chi_square(count, wanted, V, DRAWS, &classes);
        ck_assert_msg(statistic <= chance[classes - 1], "case %zu: %g with %d classes", c, statistic, classes);
        ck_assert_int_eq(sample_token(logits, V, &(Constraint){NULL, UTF8_START, 0}, &options, 0.5, weight, token), TOKEN_EOS);
    }
}
END_TEST

/* top_p among so many tokens that it looks for them in parts */
START_TEST(nucleus_of_many)
{
    enum { V = 3000 };
    real logits[V];
    double weight[V], sum = 0;
    int32_t token[V], all[V];
    const Constraint any = {NULL, UTF8_START, 9};
    const RandomStream stream = random_stream(1, RANDOM_TEST, 0, 0);
    for (int t = 0; t < V; t++) logits[t] = (real)random_normal(&stream, (uint64_t)t);
    const int n = distribution_top(logits, V, &any, V, all);
    for (int i = 0; i < n; i++) sum += exp((double)logits[all[i]]);
    static const double parts[] = {0.001, 0.02, 0.3, 0.9, 0.999};
    for (size_t c = 0; c < sizeof parts / sizeof *parts; c++) {
        const SearchOptions options = {.sample = true, .temperature = 1, .top_p = parts[c]};
        double have = 0;
        int size = 0, last = 0;
        while (have < parts[c] * sum) have += exp((double)logits[all[size++]]);
        /* The highest draw gives the least probable of them. */
        const int32_t drawn = sample_token(logits, V, &any, &options, 1 - 0x1p-53, weight, token);
        while (all[last] != drawn) last++;
        ck_assert_int_eq(last, size - 1);
        ck_assert_int_eq(sample_token(logits, V, &any, &options, 0, weight, token), all[0]);
    }
}
END_TEST

/* The first tokens that a search draws for many lines with one text are distributed as forced decoding says; another seed
 * draws others; the log-probabilities are those of the whole distribution. */
START_TEST(draws_of_the_search)
{
    enum { N = 4000, V = 9 };
    Model *model = frozen(&tiny, 2);
    const Ragged one = sample_batch(&arena, 3, 1, 4, 4, V).source;
    int32_t token[N * 5], start[N + 1];
    int64_t line[N];
    for (int s = 0; s <= N; s++) start[s] = 5 * s;
    for (int s = 0; s < N; s++) {
        memcpy(token + 5 * s, one.token, 5 * sizeof *token);
        line[s] = s;
    }
    const SearchInput input = {.source = {N, 5 * N, start, token}, .line = line};
    SearchOptions options = {.max_extra = 1, .sample = true, .temperature = 1, .top_p = 1, .seed = 7, .length_penalty = 1};
    const Translation *drawn = translate(&model, 1, &input, &options);
    options.seed = 8;
    const Translation *others = translate(&model, 1, &input, &options);
    /* What forced decoding says of each first token: EOS, or one of the others. */
    const Translation *all = all_sequences(V, 1);
    int32_t label[V], firsts[V], ends[V + 1], count = 0;
    double score[V], probability[V] = {0}, sum = 0;
    for (int t = TOKEN_EOS; t < V; t++, count++) {
        label[count] = t;
        firsts[count] = TOKEN_BOS;
        ends[count] = count;
    }
    ends[count] = count;
    const Batch batch = {{count, 5 * count, start, token}, {count, count, ends, firsts}, label};
    Search search;
    search_init(&search, &model, 1);
    score_batch(&search, &batch, score);
    search_free(&search);
    for (int i = 0; i < count; i++) sum += probability[label[i]] = exp(score[i]);
    for (int t = 0; t < V; t++) probability[t] /= sum;
    int counts[V] = {0}, classes, n_same = 0;
    for (int s = 0; s < N; s++) {
        counts[drawn[s].n ? drawn[s].token[0] : TOKEN_EOS]++;
        n_same += same_tokens(&drawn[s], &others[s]);
    }
    const double statistic = chi_square(counts, probability, V, N, &classes);
    ck_assert_msg(statistic <= chance[classes - 1], "%g with %d classes", statistic, classes);
    ck_assert_int_lt(n_same, N * 9 / 10);
    const double *log_probability = forced(&model, 1, &one, 0, all);
    for (const Translation *t = all; t; t = t->next, log_probability++)
        for (int s = 0; s < N; s++)
            if (same_tokens(t, &drawn[s])) ck_assert(drawn[s].log_probability == *log_probability);
    model_free(model);
}
END_TEST

/* ---- alignments ---- */

/* Against attention that keeps its weights: the mean over heads, the upper half of the layers, and models. */
START_TEST(alignments)
{
    enum { N = 7, D = 24, H = 3, W = D / H };
    ModelConfig config = tiny;
    config.decoder_layers = 4;
    Model *models[] = {frozen(&config, 2), frozen(&config, 5)};
    const Batch batch = sample_batch(&arena, 4, N, 0, 20, config.vocab_size);
    Search search;
    real *weight[N];
    search_init(&search, models, 2);
    align_batch(&search, &batch, &arena, weight);
    search_free(&search);
    double *wanted[N];
    for (int s = 0; s < N; s++) wanted[s] = arena_zalloc(&arena, 21 * 21 * sizeof **wanted);
    for (int m = 0; m < 2; m++) {
        Tape tape = {0};
        tape_begin(&tape, false);
        CrossAttention watched[4];
        Tensor *memory = model_encode(models[m], &tape, &batch.source);
        model_decode_watched(models[m], &tape, memory, &batch.source, &batch.target, watched);
        for (int layer = 2; layer < 4; layer++)
            for (int s = 0; s < N; s++)
                for (int h = 0; h < H; h++) {
                    const Tensor *q = watched[layer].query, *k = watched[layer].key;
                    const int q0 = batch.target.start[s], k0 = batch.source.start[s];
                    const AttentionView keys = {.value = k->value + (size_t)k0 * k->stride + h * W, .stride = k->stride};
                    const AttentionHead head = {
                        .n_q = batch.target.start[s + 1] - q0, .n_k = batch.source.start[s + 1] - k0, .width = W,
                        .visible = batch.source.n_tokens, .k = keys, .v = keys,
                        .q = {.value = q->value + (size_t)q0 * q->stride + h * W, .stride = q->stride},
                    };
                    NaiveAttention naive = naive_attention(&head, false);
                    for (int i = 0; i < head.n_q * head.n_k; i++) wanted[s][i] += naive.weights[i].value / (2 * 2 * H);
                    naive_attention_free(&naive);
                }
        tape_free(&tape);
    }
    for (int s = 0; s < N; s++) {
        const int n_target = batch.target.start[s + 1] - batch.target.start[s],
                  n_source = batch.source.start[s + 1] - batch.source.start[s];
        for (int i = 0; i < n_target; i++) {
            double sum = 0;
            for (int j = 0; j < n_source; j++) {
                ck_assert_double_eq_tol((double)weight[s][i * n_source + j], wanted[s][i * n_source + j], 1e-5);
                sum += (double)weight[s][i * n_source + j];
            }
            ck_assert_double_eq_tol(sum, 1, 1e-5);
        }
    }
    model_free(models[0]);
    model_free(models[1]);
}
END_TEST

Suite *suite_beam(void)
{
    Suite *suite = suite_create("beam");
    TCase *tcase = tcase_create("beam");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, wide_beam_looks_at_everything);
    tcase_add_test(tcase, lists_of_the_best);
    tcase_add_test(tcase, early_stop_is_right);
    tcase_add_test(tcase, independent_of_the_batch);
    tcase_add_test(tcase, ties);
    tcase_add_test(tcase, not_a_number);
    tcase_add_test(tcase, stops_when_told);
    tcase_add_loop_test(tcase, prefixes, 0, 2);
    tcase_add_test(tcase, ensembles);
    tcase_add_test(tcase, drawn_as_often_as_probable);
    tcase_add_test(tcase, nucleus_of_many);
    tcase_add_test(tcase, draws_of_the_search);
    tcase_add_test(tcase, alignments);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return suite;
}
