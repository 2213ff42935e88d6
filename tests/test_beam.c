/* model/beam, score, align: beam search against looking at everything, against forced decoding, with and without early stop;
 * ensembles; prefixes; alignments. Scores are compared to the last bit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/threads.h"
#include "model/align.h"
#include "model/score.h"
#include "tests/naive.h"
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

static Translation *translate_source(Model *model, const Ragged *source, const SearchOptions *options)
{
    return searching_translate(&arena, &model, 1, &(SearchInput){.source = *source}, options);
}

static double divisor(const SearchOptions *o, int n)
{
    if (o->length_norm == LENGTH_NONE) return 1;
    return pow(o->length_norm == LENGTH_GNMT ? (5.0 + n) / 6 : n, o->length_penalty);
}

/* ---- beam search ---- */

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
        Model *model = searching_model(&config, seed);
        const Ragged source = sample_batch(&arena, seed, N, 0, 8, config.vocab_size).source;
        const SearchOptions options = {.max_extra = LIMIT, .beam_size = N_ALL, .n_best = N_ALL,
                                       .length_norm = (LengthNorm)(seed % 3), .length_penalty = seed < 3 ? 1 : 0.6};
        const Translation *found = translate_source(model, &source, &options);
        for (int s = 0; s < N; s++) {
            Translation *ranked[N_ALL], *all = searching_all(&arena, config.vocab_size, LIMIT);
            const double *log_probability = searching_forced(&arena, &model, 1, &source, s, all);
            int n = 0;
            for (Translation *t = all; t; t = t->next, n++) {
                t->log_probability = log_probability[n];
                t->score = t->log_probability / divisor(&options, t->n + 1);
                ranked[n] = t;
            }
            ck_assert_int_eq(n, N_ALL);
            qsort(ranked, N_ALL, sizeof *ranked, by_score);
            for (int i = 0; i < N_ALL; i++) ranked[i]->next = i + 1 < N_ALL ? ranked[i + 1] : NULL;
            searching_assert_same(&found[s], ranked[0]);
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
        Model *model = searching_model(&config, seed);
        const Ragged source = sample_batch(&arena, seed, N, 0, seed == 5 ? 60 : 20, config.vocab_size).source;
        const int beam = 2 + (int)seed * 2;
        SearchOptions options = {.max_ratio = 1.5, .max_extra = 10, .beam_size = beam, .n_best = beam, .length_penalty = 1};
        const Translation *lists = translate_source(model, &source, &options);
        options.n_best = 1;
        const Translation *best = translate_source(model, &source, &options);
        for (int s = 0; s < N; s++) {
            const double *log_probability = searching_forced(&arena, &model, 1, &source, s, &lists[s]);
            ck_assert_int_eq(searching_length(&lists[s]), beam);
            Translation first = lists[s];
            first.next = NULL;
            searching_assert_same(&first, &best[s]);
            int i = 0;
            for (const Translation *t = &lists[s]; t; t = t->next, i++) {
                ck_assert_msg(t->log_probability == log_probability[i], "%a, %a", t->log_probability, log_probability[i]);
                ck_assert(t->score == t->log_probability / divisor(&options, t->n + 1));
                ck_assert(!t->next || t->score >= t->next->score);
                for (const Translation *other = t->next; other; other = other->next) ck_assert(!searching_same(t, other));
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
        SearchOptions options = {.max_ratio = 1.5, .max_extra = 10, .beam_size = beam, .n_best = 1 + (int)(seed / 5) % beam,
                                 .length_norm = (LengthNorm)(seed % 3), .length_penalty = 0.3 * (double)(seed % 7)};
        searching_steps = 0;
        const Translation *early = translate_source(model, &source, &options);
        n_early += searching_steps;
        options.no_early_stop = true;
        searching_steps = 0;
        const Translation *late = translate_source(model, &source, &options);
        n_late += searching_steps;
        for (int s = 0; s < N; s++) searching_assert_same(&early[s], &late[s]);
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
        {.max_ratio = 1.5, .max_extra = 10, .beam_size = 4, .n_best = 3, .length_penalty = 1},
        {.max_ratio = 1.5, .max_extra = 10, .sample = true, .temperature = 1.2, .top_p = 0.95, .seed = 5},
    };
    Model *model = searching_model(&tiny, 2);
    const Ragged source = sample_batch(&arena, 3, N, 0, 20, tiny.vocab_size).source;
    int64_t line[N];
    int32_t token[N * 21], start[N + 1] = {0};
    for (int s = 0; s < N; s++) line[s] = ((int64_t)1 << 33) + s;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        threads_set(2);
        const SearchInput all = {.source = source, .line = line};
        const Translation *together = searching_translate(&arena, &model, 1, &all, &cases[c]);
        threads_set(1);
        for (int s = 0; s < N; s++) {
            const Ragged one = sample_sentence(&arena, &source, N - 1 - s);
            const SearchInput input = {.source = one, .line = &line[N - 1 - s]};
            searching_assert_same(searching_translate(&arena, &model, 1, &input, &cases[c]), &together[N - 1 - s]);
            memcpy(token + start[s], one.token, (size_t)one.n_tokens * sizeof *token);
            start[s + 1] = start[s] + one.n_tokens;
        }
        threads_set(3);
        int64_t backwards[N];
        for (int s = 0; s < N; s++) backwards[s] = line[N - 1 - s];
        const SearchInput input = {.source = {N, start[N], start, token}, .line = backwards};
        const Translation *reversed = searching_translate(&arena, &model, 1, &input, &cases[c]);
        for (int s = 0; s < N; s++) searching_assert_same(&reversed[N - 1 - s], &together[s]);
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
    const SearchOptions options = {.max_extra = 2, .beam_size = 4, .n_best = 4, .length_norm = LENGTH_NONE};
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
        const SearchOptions options = {.max_extra = 9, .beam_size = 3, .n_best = sample ? 1 : 2, .sample = sample,
                                       .temperature = 1, .top_p = 0.5};
        const SearchInput input = {.source = source, .line = line};
        const Translation *found = searching_translate(&arena, &model, 1, &input, &options);
        for (int s = 0; s < 2; s++) ck_assert_int_eq(found[s].n, 0);
    }
    model_free(model);
}
END_TEST

static int third_step(void *context)
{
    (void)context;
    return ++searching_steps > 3;
}

START_TEST(stops_when_told)
{
    Model *model = searching_model(&tiny, 2);
    const Ragged source = sample_batch(&arena, 3, 9, 9, 12, tiny.vocab_size).source;
    const SearchOptions options = {.max_ratio = 2, .beam_size = 3, .length_penalty = 1};
    Search search;
    Translation out[9];
    search_init(&search, &model, 1);
    search.stop = third_step;
    searching_steps = 0;
    search_translate(&search, &(SearchInput){.source = source}, &options, &arena, out);
    for (int s = 0; s < 9; s++) ck_assert_int_le(out[s].n, 3);
    ck_assert_int_eq(searching_steps, 4);
    search_free(&search);
    model_free(model);
}
END_TEST

/* ---- prefixes, ensembles ---- */

/* The beginning of its own translation changes nothing; any other one is where the translation begins, beyond the limit,
 * too. */
START_TEST(prefixes)
{
    enum { N = 12 };
    Model *model = searching_model(&tiny, 2);
    const Batch batch = sample_batch(&arena, 4, N, 3, 20, tiny.vocab_size);
    const int beam = 1 + 3 * _i;
    const SearchOptions options = {.max_ratio = 1, .max_extra = 5, .beam_size = beam, .n_best = beam, .length_penalty = 1};
    const Translation *free_ones = translate_source(model, &batch.source, &options);
    int32_t token[N * 64], start[N + 1] = {0};
    for (int s = 0; s < N; s++) {
        const int n = s % 2 ? free_ones[s].n / 2 : free_ones[s].n;
        if (n) memcpy(token + start[s], free_ones[s].token, (size_t)n * sizeof *token);
        start[s + 1] = start[s] + n;
    }
    const Ragged own = {N, start[N], start, token};
    const SearchInput own_input = {.source = batch.source, .prefix = &own};
    const Translation *found = searching_translate(&arena, &model, 1, &own_input, &options);
    for (int s = 0; s < N && !_i; s++) searching_assert_same(&found[s], &free_ones[s]);

    /* The targets without their BOS, and much longer than the limit */
    Ragged other = batch.target;
    int32_t *others = arena_alloc(&arena, (size_t)other.n_tokens * sizeof *others);
    for (int i = 0; i < other.n_tokens; i++) others[i] = other.token[i] == TOKEN_BOS ? 4 : other.token[i];
    other.token = others;
    SearchOptions narrow = options;
    narrow.max_ratio = 0;
    found = searching_translate(&arena, &model, 1, &(SearchInput){.source = batch.source, .prefix = &other}, &narrow);
    for (int s = 0; s < N; s++) {
        const int n = other.start[s + 1] - other.start[s];
        const double *log_probability = searching_forced(&arena, &model, 1, &batch.source, s, &found[s]);
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
    Model *models[] = {searching_model(&tiny, 2), searching_model(&tiny, 4)}, *twice[] = {models[0], models[0]};
    const Batch batch = sample_batch(&arena, 4, N, 3, 20, tiny.vocab_size);
    const SearchOptions options = {.max_ratio = 1, .max_extra = 5, .beam_size = 4, .n_best = 4, .length_penalty = 1};
    const SearchInput input = {.source = batch.source};
    const Translation *pair = searching_translate(&arena, models, 2, &input, &options);
    const Translation *double_one = searching_translate(&arena, twice, 2, &input, &options);
    const Translation *alone = searching_translate(&arena, models, 1, &input, &options);
    int n_other = 0;
    for (int s = 0; s < N; s++) {
        const double *log_probability = searching_forced(&arena, models, 2, &batch.source, s, &pair[s]);
        int i = 0;
        for (const Translation *t = &pair[s]; t; t = t->next, i++) ck_assert(t->log_probability == log_probability[i]);
        ck_assert(searching_same(&alone[s], &double_one[s]));
        ck_assert_double_eq_tol(alone[s].log_probability, double_one[s].log_probability, 1e-4);
        n_other += !searching_same(&alone[s], &pair[s]);
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

/* ---- alignments ---- */

/* Against attention that keeps its weights: the mean over heads, the upper half of the layers, and models. */
START_TEST(alignments)
{
    enum { N = 7, D = 24, H = 3, W = D / H };
    ModelConfig config = tiny;
    config.decoder_layers = 4;
    Model *models[] = {searching_model(&config, 2), searching_model(&config, 5)};
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
        Tensor *memory = transformer_encode(models[m], &tape, &batch.source);
        transformer_decode_watched(models[m], &tape, memory, &batch.source, &batch.target, watched);
        for (int layer = 2; layer < 4; layer++)
            for (int s = 0; s < N; s++)
                for (int h = 0; h < H; h++) {
                    const Tensor *q = watched[layer].query, *k = watched[layer].key;
                    const int q0 = batch.target.start[s], k0 = batch.source.start[s];
                    const AttentionView keys = {.value = k->value + (size_t)k0 * k->stride + h * W, .stride = k->stride};
                    const AttentionHead head = {
                        .n_q = batch.target.start[s + 1] - q0, .n_k = batch.source.start[s + 1] - k0, .d_head = W,
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
    tcase_add_test(tcase, alignments);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return suite;
}
