/* model/search: greedy search with cached keys and values against decoding whole prefixes; limits; well-formed text; a model
 * that learns a few sentences by heart. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "core/threads.h"
#include "model/distribution.h"
#include "model/search.h"
#include "run/adam.h"
#include "tests/sample.h"
#include "tests/suites.h"
#include "text/utf8.h"

/* A vocabulary so small that random models end sentences often. */
static const ModelConfig tiny = {
    .vocab_size = 9, .d_model = 24, .d_ff = 40, .heads = 3, .encoder_layers = 2, .decoder_layers = 2, .dropout = (real)0.5,
};

static const SearchOptions generous = {.max_ratio = 1.5, .max_extra = 10};

static void translate(Model *model, const Ragged *source, const SearchOptions *options, Arena *arena, Translation *out)
{
    Search search;
    search_init(&search, &model, 1);
    search_translate(&search, &(SearchInput){.source = *source}, options, arena, out);
    search_free(&search);
}

/* A sentence on its way without a cache: BOS and the tokens so far. */
typedef struct Prefix {
    int32_t token[256];
    int n, limit;
    bool ended;
} Prefix;

/* The last rows of the logits for the live prefixes, all decoded from their beginning, are those of one more cached step. */
static Tensor *compare_step(Model *model, Tape *whole, Tape *step, DecoderCache *cache, const Ragged *source, int n_live,
                            const int32_t *live, Prefix *const *prefix, int position)
{
    tape_begin(whole, false);
    tape_begin(step, false);
    int32_t *start = arena_alloc(&whole->arena, ((size_t)n_live + 1) * sizeof *start), n_source = 0;
    int32_t *source_start = arena_alloc(&whole->arena, ((size_t)n_live + 1) * sizeof *start);
    int32_t *source_token = arena_alloc(&whole->arena, (size_t)source->n_tokens * sizeof *start);
    int32_t *token = arena_alloc(&whole->arena, (size_t)(n_live * (position + 1)) * sizeof *start);
    int32_t *last = arena_alloc(&whole->arena, (size_t)n_live * sizeof *last);
    for (int i = 0; i < n_live; i++) {
        const int s = live[i], n = source->start[s + 1] - source->start[s];
        source_start[i] = n_source;
        start[i] = i * (position + 1);
        memcpy(source_token + n_source, source->token + source->start[s], (size_t)n * sizeof *token);
        memcpy(token + start[i], prefix[s]->token, (size_t)(position + 1) * sizeof *token);
        last[i] = prefix[s]->token[position];
        n_source += n;
    }
    source_start[n_live] = n_source;
    start[n_live] = n_live * (position + 1);
    const Ragged sources = {n_live, n_source, source_start, source_token}, targets = {n_live, start[n_live], start, token};
    Tensor *memory = transformer_encode(model, whole, &sources);
    Tensor *logits = transformer_logits(model, whole, transformer_decode(model, whole, memory, &sources, &targets));
    Tensor *cached = transformer_logits(model, step, decoder_cache_step(model, step, cache, n_live, live, last, position));
    for (int i = 0; i < n_live; i++)
        ck_assert_mem_eq(logits->value + (size_t)(start[i + 1] - 1) * logits->stride,
                         cached->value + (size_t)i * cached->stride, (size_t)cached->cols * sizeof(real));
    return cached;
}

/* Decode without a cache; returns how many sentences ended before their limit. */
static int decode_whole_prefixes(Model *model, const Ragged *source, Arena *arena, Prefix **prefix)
{
    Tape whole = {0}, step = {0};
    DecoderCache cache = {0};
    int32_t live[64];
    int n_live = 0, n_ended = 0;
    for (int s = 0; s < source->n_seq; s++) {
        const int n = source->start[s + 1] - source->start[s] - 1;
        prefix[s] = arena_zalloc(arena, sizeof **prefix);
        prefix[s]->token[prefix[s]->n++] = TOKEN_BOS;
        prefix[s]->limit = (int)(1.5 * n + 10);
        live[n_live++] = s;
    }
    decoder_cache_begin(model, &step, &cache, source, 1);
    for (int position = 0; n_live; position++) {
        const Tensor *logits = compare_step(model, &whole, &step, &cache, source, n_live, live, prefix, position);
        int n_left = 0;
        for (int i = 0; i < n_live; i++) {
            const real *row = logits->value + (size_t)i * logits->stride;
            int32_t best = TOKEN_EOS;
            for (int32_t t = TOKEN_EOS; t < logits->cols; t++)
                if (row[t] > row[best]) best = t;
            Prefix *p = prefix[live[i]];
            if (best == TOKEN_EOS) n_ended++;
            else p->token[p->n++] = best;
            if (best != TOKEN_EOS && p->n - 1 < p->limit) live[n_left++] = live[i];
        }
        n_live = n_left;
    }
    decoder_cache_free(&cache);
    tape_free(&whole);
    tape_free(&step);
    return n_ended;
}

static void assert_translation(const Translation *found, int n, const int32_t *wanted)
{
    ck_assert_int_eq(found->n, n);
    if (n) ck_assert_mem_eq(found->token, wanted, (size_t)n * sizeof *wanted);
}

START_TEST(equals_decoding_without_a_cache)
{
    ModelConfig config = tiny;
    config.norm = _i ? MODEL_PRE_NORM : MODEL_POST_NORM;
    Arena arena = {0};
    int n_ended = 0, n_all = 0;
    for (uint64_t seed = 0; seed < 6; seed++) {
        enum { N = 17 };
        Model *model = sample_model(&config, seed, false);
        const Ragged source = sample_batch(&arena, seed, N, 0, seed == 5 ? 100 : 20, config.vocab_size).source;
        Prefix *prefix[N];
        n_ended += decode_whole_prefixes(model, &source, &arena, prefix);
        n_all += N;
        model_freeze(model, PRECISION_FP32);
        Translation out[N];
        translate(model, &source, &generous, &arena, out);
        for (int s = 0; s < N; s++) assert_translation(&out[s], prefix[s]->n - 1, prefix[s]->token + 1);
        model_free(model);
    }
    /* Both ways of ending occur. */
    ck_assert_msg(n_ended > n_all / 10 && n_ended < n_all, "%d of %d sentences ended", n_ended, n_all);
    arena_free(&arena);
}
END_TEST

/* Alone, in another order, on other numbers of threads: each sentence's translation is the same. */
START_TEST(independent_of_the_batch)
{
    enum { N = 40 };
    Arena arena = {0};
    Model *model = sample_model(&tiny, 2, false);
    model_freeze(model, PRECISION_FP32);
    const Ragged source = sample_batch(&arena, 3, N, 0, 20, tiny.vocab_size).source;
    Translation together[N], alone, reversed[N];
    threads_set(2);
    translate(model, &source, &generous, &arena, together);
    threads_set(1);
    int32_t token[N * 21], start[N + 1] = {0};
    for (int s = 0; s < N; s++) {
        const Ragged one = sample_sentence(&arena, &source, N - 1 - s);
        translate(model, &one, &generous, &arena, &alone);
        assert_translation(&alone, together[N - 1 - s].n, together[N - 1 - s].token);
        memcpy(token + start[s], one.token, (size_t)one.n_tokens * sizeof *token);
        start[s + 1] = start[s] + one.n_tokens;
    }
    threads_set(3);
    translate(model, &(Ragged){N, start[N], start, token}, &generous, &arena, reversed);
    for (int s = 0; s < N; s++) assert_translation(&reversed[N - 1 - s], together[s].n, together[s].token);
    model_free(model);
    arena_free(&arena);
}
END_TEST

/* One model, several threads of a program, each with a search of its own and ever longer sentences: the same bits as alone. */
typedef struct Sharer {
    Model *model;
    pthread_t thread;
    Arena arena;
    Ragged source[4];
    Translation alone[4][5], shared[4][5];
} Sharer;

static void *share(void *argument)
{
    Sharer *sharer = argument;
    for (int i = 0; i < 4; i++) translate(sharer->model, &sharer->source[i], &generous, &sharer->arena, sharer->shared[i]);
    return NULL;
}

START_TEST(several_threads_share_a_model)
{
    enum { THREADS = 4 };
    Model *model = sample_model(&tiny, 2, false);
    model_freeze(model, PRECISION_FP32);
    static Sharer sharer[THREADS];
    for (int t = 0; t < THREADS; t++) {
        sharer[t].model = model;
        for (int i = 0; i < 4; i++) {
            sharer[t].source[i] = sample_batch(&sharer[t].arena, (uint64_t)(10 * t + i), 5, 1, 5 + 40 * i, tiny.vocab_size).source;
            translate(model, &sharer[t].source[i], &generous, &sharer[t].arena, sharer[t].alone[i]);
        }
    }
    for (int t = 0; t < THREADS; t++) ck_assert_int_eq(pthread_create(&sharer[t].thread, NULL, share, &sharer[t]), 0);
    for (int t = 0; t < THREADS; t++) ck_assert_int_eq(pthread_join(sharer[t].thread, NULL), 0);
    for (int t = 0; t < THREADS; t++) {
        for (int i = 0; i < 4; i++)
            for (int s = 0; s < 5; s++) {
                assert_translation(&sharer[t].shared[i][s], sharer[t].alone[i][s].n, sharer[t].alone[i][s].token);
                ck_assert(sharer[t].shared[i][s].score == sharer[t].alone[i][s].score);
            }
        arena_free(&sharer[t].arena);
    }
    model_free(model);
}
END_TEST

/* Where the end can't come, a translation is as long as it may be: at most ratio * tokens + extra, at least 1. */
START_TEST(limits)
{
    enum { N = 12 };
    static const SearchOptions cases[] = {{.max_ratio = 1.5, .max_extra = 3}, {.max_ratio = 2}, {.max_extra = 5},
                                          {.max_ratio = 0.3}, {.max_ratio = 0.99, .max_extra = -4}};
    uint8_t bytes[9];
    memset(bytes, 'a', sizeof bytes);
    bytes[TOKEN_PAD] = bytes[TOKEN_BOS] = bytes[TOKEN_EOS] = 0xFF;
    Arena arena = {0};
    Model *model = sample_model(&tiny, 2, false);
    const Ragged source = sample_batch(&arena, 3, N, 0, 20, tiny.vocab_size).source;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        SearchOptions options = cases[c];
        options.utf8_bytes = bytes;
        Translation out[N];
        translate(model, &source, &options, &arena, out);
        for (int s = 0; s < N; s++) {
            const int n = source.start[s + 1] - source.start[s] - 1;
            const int limit = (int)(options.max_ratio * n + options.max_extra);
            ck_assert_int_eq(out[s].n, limit < 1 ? 1 : limit);
        }
    }
    model_free(model);
    arena_free(&arena);
}
END_TEST

/* 300 tokens: special ones, each byte, and words. Nothing but whole well-formed characters comes out, and no newline. */
START_TEST(text_is_well_formed)
{
    enum { N = 30, VOCAB = 300, FIRST_WORD = N_SPECIAL + 256 };
    uint8_t bytes[VOCAB];
    for (int t = 0; t < VOCAB; t++) bytes[t] = t < FIRST_WORD ? (uint8_t)(t - N_SPECIAL) : 'a';
    bytes[TOKEN_PAD] = bytes[TOKEN_BOS] = bytes[N_SPECIAL + '\n'] = 0xFF;
    bytes[TOKEN_EOS] = 0;
    ModelConfig config = tiny;
    config.vocab_size = VOCAB;
    const SearchOptions options = {.max_ratio = 1, .max_extra = 3, .utf8_bytes = bytes};
    Arena arena = {0};
    int n_characters[5] = {0}, n_ended = 0, n_cut = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        Model *model = sample_model(&config, seed, false);
        const Ragged source = sample_batch(&arena, seed, N, 0, 20, VOCAB).source;
        Translation out[N];
        translate(model, &source, &options, &arena, out);
        for (int s = 0; s < N; s++) {
            const int limit = source.start[s + 1] - source.start[s] - 1 + 3;
            char text[64];
            ck_assert_int_le(out[s].n, limit);
            for (int i = 0; i < out[s].n; i++) {
                ck_assert_int_ge(out[s].token[i], N_SPECIAL);
                ck_assert_int_ne(out[s].token[i], N_SPECIAL + '\n');
                text[i] = (char)bytes[out[s].token[i]];
            }
            for (int i = 0; i < out[s].n;) {
                int32_t code;
                const size_t n = utf8_decode(text + i, (size_t)(out[s].n - i), &code);
                ck_assert_msg(code >= 0, "seed %d: ill-formed at byte %d of %d", (int)seed, i, out[s].n);
                n_characters[n]++;
                i += (int)n;
            }
            n_ended += out[s].n < limit;
            n_cut += out[s].n == limit;
        }
        model_free(model);
    }
    /* It was put to the test. */
    for (int n = 1; n <= 4; n++) ck_assert_msg(n_characters[n] > 20, "%d characters of %d bytes", n_characters[n], n);
    ck_assert_msg(n_ended > 0 && n_cut > 20, "%d ended, %d cut", n_ended, n_cut);
    arena_free(&arena);
}
END_TEST

START_TEST(best_tokens)
{
    static const real logits[] = {9, 9, 1, 3, 5, 5, 4, (real)NAN};
    static const uint8_t bytes[] = {0xFF, 0xFF, 0, 'a', 0xC3, 0xC3, 0xA9, 'b'};
    static const struct {
        Constraint constraint;
        int k, n;
        int32_t token[5];
    } cases[] = {
        {{NULL, UTF8_START, 9}, 5, 5, {4, 5, 6, 3, 2}}, /* not PAD or BOS, nor NaN; of equals the first */
        {{NULL, UTF8_START, 9}, 1, 1, {4}},
        {{NULL, UTF8_START, 0}, 3, 1, {TOKEN_EOS}}, /* no room for more */
        {{bytes, UTF8_START, 2}, 3, 3, {4, 5, 3}},
        {{bytes, UTF8_START, 1}, 3, 2, {3, TOKEN_EOS}}, /* no room for the second byte of a character */
        {{bytes, UTF8_START, 9}, 2, 2, {4, 5}},
    };
    const Distribution d = {.n = 1, .n_tokens = 8, .n_models = 1, .bound = logits, .stride = 8};
    int32_t token[8];
    real rank[8];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        ck_assert_int_eq(distribution_top(&d, 0, &cases[c].constraint, cases[c].k, token, rank), cases[c].n);
        for (int i = 0; i < cases[c].n; i++) ck_assert_int_eq(token[i], cases[c].token[i]);
    }
    const Constraint inside = {bytes, utf8_next(UTF8_START, 0xC3), 1};
    ck_assert_int_eq(distribution_top(&d, 0, &inside, 3, token, rank), 1);
    ck_assert_int_eq(token[0], 6);
}
END_TEST

/* The heap finds what sorting finds, ties and all. */
START_TEST(best_tokens_of_many)
{
    enum { V = 1000 };
    real logits[V], rank[V];
    int32_t all[V], top[V];
    const Distribution d = {.n = 1, .n_tokens = V, .n_models = 1, .bound = logits, .stride = V};
    const Constraint any = {NULL, UTF8_START, 9};
    for (uint64_t seed = 0; seed < 4; seed++) {
        const RandomStream stream = random_stream(seed, RANDOM_TEST, 0, 0);
        for (int t = 0; t < V; t++) logits[t] = (real)random_below(&stream, (uint64_t)t, seed < 2 ? 50 : 1000000);
        const int n_all = distribution_top(&d, 0, &any, V, all, rank);
        ck_assert_int_eq(n_all, V - 2);
        for (int i = 1; i < n_all; i++) {
            const real before = logits[all[i - 1]], here = logits[all[i]];
            ck_assert(before > here || (before == here && all[i - 1] < all[i]));
        }
        for (int k = 1; k < V; k += k < 20 ? 1 : 97) {
            ck_assert_int_eq(distribution_top(&d, 0, &any, k, top, rank), k);
            ck_assert_mem_eq(top, all, (size_t)k * sizeof *top);
        }
    }
}
END_TEST

/* Of two models, the tokens with the highest mean probabilities, though few means are computed. */
START_TEST(best_tokens_of_two_models)
{
    enum { V = 500, ROWS = 3, K = 20 };
    Arena arena = {0};
    Tape tape = {.compute = compute_best()};
    Tensor tensors[2], *logits[] = {&tensors[0], &tensors[1]};
    for (int m = 0; m < 2; m++) {
        tensors[m] = (Tensor){.rows = ROWS, .cols = V, .stride = V, .value = arena_alloc(&arena, ROWS * V * sizeof(real))};
        sample_normal((uint64_t)m, 3, ROWS * V, tensors[m].value);
    }
    const Distribution d = distribution_of(&tape, logits, 2);
    const Constraint any = {NULL, UTF8_START, 9};
    for (int row = 0; row < ROWS; row++) {
        int32_t token[K];
        real rank[K];
        double sum = 0;
        ck_assert_int_eq(distribution_top(&d, row, &any, K, token, rank), K);
        for (int32_t t = 0; t < V; t++) {
            sum += exp(distribution_log(&d, row, t));
            bool among = t == TOKEN_PAD || t == TOKEN_BOS;
            for (int i = 0; i < K; i++) among |= token[i] == t;
            ck_assert(among || distribution_rank(&d, row, t) <= rank[K - 1]);
        }
        ck_assert_double_eq_tol(sum, 1, 1e-5);
        for (int i = 0; i < K; i++) {
            ck_assert(rank[i] == distribution_rank(&d, row, token[i]));
            ck_assert(!i || rank[i] <= rank[i - 1]);
        }
    }
    tape_free(&tape);
    arena_free(&arena);
}
END_TEST

/* Eight random pairs are learnt by heart, and greedy search returns them. */
START_TEST(learns_by_heart)
{
    enum { N = 8, STEPS = 150 };
    const ModelConfig config = {
        .vocab_size = 30, .d_model = 32, .d_ff = 64, .heads = 4, .encoder_layers = 1, .decoder_layers = 1,
        .norm = _i ? MODEL_PRE_NORM : MODEL_POST_NORM, .activation = _i ? ACTIVATE_GELU : ACTIVATE_RELU,
        .tie = _i ? MODEL_TIE_DECODER : MODEL_TIE_ALL,
    };
    Arena arena = {0};
    Tape tape = {.dropout = true};
    Model *model = model_new(&config, true);
    model_init(model, 1);
    const Batch batch = sample_batch(&arena, 1, N, 1, 9, config.vocab_size);
    const int n_tokens = batch.target.n_tokens;
    Adam adam;
    adam_init(&adam, model->params.size, 0.9, 0.98, 1e-9);
    LossSums sums = {0};
    double first = 0;
    for (int step = 0; step < STEPS; step++) {
        memset(model->params.grad, 0, model->params.size * sizeof(real));
        tape_begin(&tape, true);
        Tensor *loss = transformer_loss(model, &tape, &batch, (real)(1.0 / n_tokens), &sums);
        *tape_grad(&tape, loss) = 1;
        tape_backward(&tape);
        if (!step) first = sums.nll / n_tokens;
        adam_update(&adam, &model->params, 0.005 * (step < 20 ? (step + 1) / 20.0 : 1), 1);
    }
    ck_assert_msg(first > 2.5, "%g a token at first", first);
    ck_assert_msg(sums.nll / n_tokens < 0.02, "%g a token in the end", sums.nll / n_tokens);
    model_freeze(model, PRECISION_FP32);
    Translation out[N];
    translate(model, &batch.source, &generous, &arena, out);
    for (int s = 0; s < N; s++)
        assert_translation(&out[s], batch.target.start[s + 1] - batch.target.start[s] - 1,
                           batch.label + batch.target.start[s]);
    adam_free(&adam);
    model_free(model);
    tape_free(&tape);
    arena_free(&arena);
}
END_TEST

Suite *suite_search(void)
{
    Suite *suite = suite_create("search");
    TCase *tcase = tcase_create("search");
    tcase_add_loop_test(tcase, equals_decoding_without_a_cache, 0, 2);
    tcase_add_test(tcase, independent_of_the_batch);
    tcase_add_test(tcase, several_threads_share_a_model);
    tcase_add_test(tcase, limits);
    tcase_add_test(tcase, text_is_well_formed);
    tcase_add_test(tcase, best_tokens);
    tcase_add_test(tcase, best_tokens_of_many);
    tcase_add_test(tcase, best_tokens_of_two_models);
    tcase_add_loop_test(tcase, learns_by_heart, 0, 2);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return suite;
}
