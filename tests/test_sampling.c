/* model/sample: what is drawn against the distribution, alone and in a search. */
#include <math.h>
#include <string.h>

#include "model/sample.h"
#include "model/score.h"
#include "tests/sample.h"
#include "tests/searching.h"
#include "tests/suites.h"

static const ModelConfig tiny = {
    .vocab_size = 9, .d_model = 24, .d_ff = 40, .heads = 3, .encoder_layers = 2, .decoder_layers = 2,
};

static Arena arena;

static void setup(void)
{
}

static void teardown(void)
{
    arena_free(&arena);
}

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
    const Distribution d = {.n = 1, .n_tokens = V, .n_models = 1, .bound = logits, .stride = V};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const SearchOptions options = {.sample = true, .temperature = cases[c].temperature, .top_k = cases[c].top_k,
                                       .top_p = cases[c].top_p};
        const Constraint any = {NULL, UTF8_START, 9};
        const RandomStream stream = random_stream(c, RANDOM_TEST, 0, 0);
        double weight[V], wanted[V], sum = 0;
        int32_t token[V];
        real rank[V];
        const SampleScratch scratch = {token, rank, weight};
        int count[V] = {0}, classes;
        for (int t = 0; t < V; t++) sum += wanted[t] = cases[c].stays[t] ? pow(p[t], 1 / cases[c].temperature) : 0;
        for (int t = 0; t < V; t++) wanted[t] /= sum;
        for (uint64_t i = 0; i < DRAWS; i++)
            count[sample_token(&d, 0, &any, &options, random_uniform(&stream, i), &scratch)]++;
        const double statistic = chi_square(count, wanted, V, DRAWS, &classes);
        ck_assert_msg(statistic <= chance[classes - 1], "case %zu: %g with %d classes", c, statistic, classes);
        const Constraint no_room = {NULL, UTF8_START, 0};
        ck_assert_int_eq(sample_token(&d, 0, &no_room, &options, 0.5, &scratch), TOKEN_EOS);
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
    real rank[V];
    const SampleScratch scratch = {token, rank, weight};
    const Distribution d = {.n = 1, .n_tokens = V, .n_models = 1, .bound = logits, .stride = V};
    const Constraint any = {NULL, UTF8_START, 9};
    const RandomStream stream = random_stream(1, RANDOM_TEST, 0, 0);
    for (int t = 0; t < V; t++) logits[t] = (real)random_normal(&stream, (uint64_t)t);
    const int n = distribution_top(&d, 0, &any, V, all, rank);
    for (int i = 0; i < n; i++) sum += exp((double)logits[all[i]]);
    static const double parts[] = {0.001, 0.02, 0.3, 0.9, 0.999};
    for (size_t c = 0; c < sizeof parts / sizeof *parts; c++) {
        const SearchOptions options = {.sample = true, .temperature = 1, .top_p = parts[c]};
        double have = 0;
        int size = 0, last = 0;
        while (have < parts[c] * sum) have += exp((double)logits[all[size++]]);
        /* The highest draw gives the least probable of them. */
        const int32_t drawn = sample_token(&d, 0, &any, &options, 1 - 0x1p-53, &scratch);
        while (all[last] != drawn) last++;
        ck_assert_int_eq(last, size - 1);
        ck_assert_int_eq(sample_token(&d, 0, &any, &options, 0, &scratch), all[0]);
    }
}
END_TEST

/* The first tokens that a search draws for many lines with one text are distributed as forced decoding says; another seed
 * draws others; the log-probabilities are those of the whole distribution. */
START_TEST(draws_of_the_search)
{
    enum { N = 4000, V = 9 };
    Model *model = searching_model(&tiny, 2);
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
    const Translation *drawn = searching_translate(&arena, &model, 1, &input, &options);
    options.seed = 8;
    const Translation *others = searching_translate(&arena, &model, 1, &input, &options);
    /* What forced decoding says of each first token: EOS, or one of the others. */
    const Translation *all = searching_all(&arena, V, 1);
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
        n_same += searching_same(&drawn[s], &others[s]);
    }
    const double statistic = chi_square(counts, probability, V, N, &classes);
    ck_assert_msg(statistic <= chance[classes - 1], "%g with %d classes", statistic, classes);
    ck_assert_int_lt(n_same, N * 9 / 10);
    const double *log_probability = searching_forced(&arena, &model, 1, &one, 0, all);
    for (const Translation *t = all; t; t = t->next, log_probability++)
        for (int s = 0; s < N; s++)
            if (searching_same(t, &drawn[s])) ck_assert(drawn[s].log_probability == *log_probability);
    model_free(model);
}
END_TEST

Suite *suite_sampling(void)
{
    Suite *suite = suite_create("sampling");
    TCase *tcase = tcase_create("sampling");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, drawn_as_often_as_probable);
    tcase_add_test(tcase, nucleus_of_many);
    tcase_add_test(tcase, draws_of_the_search);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return suite;
}
