/* Batches: the order of an epoch, and pairs as ragged batches. */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "data/batches.h"
#include "data/bitext.h"
#include "tests/nasty.h"
#include "tests/suites.h"

/* Pair i is told apart by its first token, 3 + i. */
static Bitext random_bitext(uint32_t n, uint32_t longest)
{
    Bitext bitext = bitext_new(100000);
    bitext_add_part(&bitext, 1);
    RandomStream stream = random_stream(2, RANDOM_TEST, n, longest);
    int32_t token[1000];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t n_source = 1 + random_below(&stream, 2 * i, longest);
        uint32_t n_target = 1 + random_below(&stream, 2 * i + 1, longest);
        for (uint32_t k = 0; k < 1000; k++) token[k] = (int32_t)(3 + i + k);
        int32_t source[1001];
        memcpy(source, token, n_source * sizeof *token);
        source[n_source] = TOKEN_EOS;
        bitext_append(&bitext, source, n_source + 1, token, n_target);
    }
    return bitext;
}

static int32_t larger(const Batch *batch)
{
    return batch->source.n_tokens > batch->target.n_tokens ? batch->source.n_tokens : batch->target.n_tokens;
}

/* The batch's sentence s must be pair `pair`, whole. */
static void assert_pair(const Batch *batch, int s, const Bitext *bitext, uint32_t pair)
{
    int32_t token[1001];
    int32_t n_source = bitext_length(bitext, pair, BITEXT_SOURCE), n_target = bitext_length(bitext, pair, BITEXT_TARGET) + 1;
    const Ragged *source = &batch->source, *target = &batch->target;
    ENSURE(source->start[s + 1] - source->start[s] == n_source, "%u", pair);
    ENSURE(target->start[s + 1] - target->start[s] == n_target, "%u", pair);
    bitext_copy(bitext, pair, BITEXT_SOURCE, token);
    ENSURE(!memcmp(token, source->token + source->start[s], (size_t)n_source * sizeof *token), "%u", pair);
    token[0] = TOKEN_BOS;
    bitext_copy(bitext, pair, BITEXT_TARGET, token + 1);
    token[n_target] = TOKEN_EOS;
    ENSURE(!memcmp(token, target->token + target->start[s], (size_t)n_target * sizeof *token), "%u", pair);
    ENSURE(!memcmp(token + 1, batch->label + target->start[s], (size_t)n_target * sizeof *token), "%u", pair);
}

START_TEST(an_epoch_is_a_permutation)
{
    static const uint32_t sizes[] = {1, 2, 3, 7, 64, 65, 1000, 29000, 131073};
    for (int i = 0; i < 9; i++) {
        uint32_t n = sizes[i], n_moved = 0;
        unsigned char *seen = mem_zalloc(n);
        for (uint32_t position = 0; position < n; position++) {
            uint32_t pair = batches_permute(5, 1, n, position);
            ENSURE(pair < n && !seen[pair], "%u of %u", position, n);
            seen[pair] = 1;
            n_moved += pair != batches_permute(5, 2, n, position);
        }
        if (n > 10) ENSURE(n_moved > n - 10, "%u of %u", n_moved, n);
        mem_free(seen);
    }
}
END_TEST

/* All small numbers of pairs: those that just fit the bits, and those that just don't. */
START_TEST(every_number_of_pairs_is_permuted)
{
    unsigned char seen[2001];
    for (uint32_t n = 1; n <= 2000; n++) {
        memset(seen, 0, n);
        for (uint32_t position = 0; position < n; position++) {
            const uint32_t pair = batches_permute(n, n % 5, n, position);
            ENSURE(pair < n && !seen[pair], "%u of %u", position, n);
            seen[pair] = 1;
        }
    }
}
END_TEST

START_TEST(permutations_are_uniform)
{
    enum { N_EPOCHS = 24000 };
    int counts[4][4] = {{0}}, orders[256] = {0};
    for (uint32_t epoch = 0; epoch < N_EPOCHS; epoch++) {
        int order = 0;
        for (uint32_t position = 0; position < 4; position++) {
            uint32_t pair = batches_permute(9, epoch, 4, position);
            counts[position][pair]++;
            order = 4 * order + (int)pair;
        }
        orders[order]++;
    }
    for (int i = 0; i < 16; i++) ck_assert_int_lt(abs(counts[i / 4][i % 4] - N_EPOCHS / 4), 400);
    int n_orders = 0;
    for (int i = 0; i < 256; i++) {
        n_orders += orders[i] > 0;
        if (orders[i]) ck_assert_int_lt(abs(orders[i] - N_EPOCHS / 24), 200);
    }
    ck_assert_int_eq(n_orders, 24);
}
END_TEST

START_TEST(the_order_never_changes)
{
    static const uint32_t expected[10] = {20830, 5317, 3327, 8545, 20156, 4968, 22181, 28544, 1700, 2080};
    for (uint32_t position = 0; position < 10; position++)
        ck_assert_uint_eq(batches_permute(42, 3, 29000, position), expected[position]);
}
END_TEST

/* Neighbours in an epoch are no neighbours in the text: where pair 0 stands and what follows it are uniform enough, by a
 * chi-squared test with 49 degrees of freedom (99.99%: 97). */
START_TEST(neighbours_are_mixed)
{
    enum { N = 1000, N_EPOCHS = 20000, CELLS = 50 };
    int first[CELLS] = {0}, next[CELLS] = {0};
    for (uint32_t epoch = 0; epoch < N_EPOCHS; epoch++) {
        const uint32_t a = batches_permute(77, epoch, N, 499), b = batches_permute(77, epoch, N, 500);
        first[a * CELLS / N]++;
        next[(b + N - a) % N * CELLS / N]++;
    }
    double chi_first = 0, chi_next = 0;
    for (int i = 0; i < CELLS; i++) {
        const double expected = N_EPOCHS / (double)CELLS;
        chi_first += (first[i] - expected) * (first[i] - expected) / expected;
        chi_next += (next[i] - expected) * (next[i] - expected) / expected;
    }
    ck_assert_double_lt(chi_first, 97);
    ck_assert_double_lt(chi_next, 97);
}
END_TEST

/* Parts of weights 1, 0, 2.25 and 0.3: how often the pairs come in ten epochs. */
START_TEST(weights_say_how_often_pairs_come)
{
    enum { A = 40, B = 7, C = 20, D = 10, N = A + B + C + D, N_EPOCHS = 20 };
    Bitext bitext = random_bitext(N, 5);
    BitextPart part[] = {{A, 1}, {B, 0}, {C, 2.25}, {D, 0.3}};
    mem_free(bitext.part);
    bitext.part = part;
    bitext.n_parts = 4;
    const uint32_t n_epoch = A + 45 + 3;
    ck_assert_uint_eq(batches_epoch_pairs(&bitext), n_epoch);
    int count[N] = {0}, moved = 0;
    BatchIterator iterator = {.bitext = &bitext, .seed = 3, .batch_tokens = 30};
    for (iterator.epoch = 0; iterator.epoch < N_EPOCHS; iterator.epoch++) {
        int in_epoch[N] = {0};
        for (uint32_t position = 0; position < n_epoch; position++) {
            const uint32_t pair = batches_pair(&iterator, position);
            ENSURE(pair < N, "%u", pair);
            in_epoch[pair]++;
            moved += pair != position;
        }
        for (int i = 0; i < N; i++) {
            count[i] += in_epoch[i];
            if (i < A) ENSURE(in_epoch[i] == 1, "%d", i);
            else if (i < A + B) ENSURE(in_epoch[i] == 0, "%d", i);
            else if (i < A + B + C) ENSURE(in_epoch[i] == 2 || in_epoch[i] == 3, "%d", i);
            else ENSURE(in_epoch[i] <= 1, "%d", i);
        }
    }
    for (int i = A + B; i < A + B + C; i++) ck_assert_int_eq(count[i], N_EPOCHS * 9 / 4);
    for (int i = A + B + C; i < N; i++) ck_assert_int_eq(count[i], N_EPOCHS * 3 / 10);
    ck_assert_int_gt(moved, N_EPOCHS * n_epoch * 9 / 10);
    /* Batches walk this order. */
    iterator.epoch = 1;
    BatchBuffer buffer = {0};
    uint32_t position = 0;
    while (iterator.epoch == 1) {
        const BatchIterator here = iterator;
        batches_next(&iterator, &buffer);
        for (int s = 0; s < buffer.batch.source.n_seq; s++)
            assert_pair(&buffer.batch, s, &bitext, batches_pair(&here, position++));
    }
    ck_assert_uint_eq(position, n_epoch);
    /* Other borders between the parts are other data, unless all weigh the same. */
    const uint64_t hash = batches_hash(&bitext, 5);
    part[0].n_pairs--;
    part[1].n_pairs++;
    ck_assert_uint_ne(batches_hash(&bitext, 5), hash);
    ck_assert_uint_ne(batches_hash(&bitext, 6), batches_hash(&bitext, 5));
    for (int i = 0; i < 4; i++) part[i].weight = 1;
    ck_assert_uint_eq(batches_hash(&bitext, 5), 5);
    batches_free(&buffer);
    sequences_free(&bitext.sides);
}
END_TEST

START_TEST(batches_keep_the_budget)
{
    enum { N = 2000, BUDGET = 150 };
    Bitext bitext = random_bitext(N, 80);
    BatchIterator iterator = {.bitext = &bitext, .seed = 1, .batch_tokens = BUDGET};
    BatchBuffer buffer = {0};
    for (uint32_t epoch = 0; epoch < 3; epoch++) {
        uint32_t position = 0;
        while (iterator.epoch == epoch) {
            ck_assert_uint_eq(iterator.position, position);
            batches_next(&iterator, &buffer);
            ck_assert_int_le(larger(&buffer.batch), BUDGET);
            ck_assert_int_eq(buffer.batch.source.n_seq, buffer.batch.target.n_seq);
            for (int s = 0; s < buffer.batch.source.n_seq; s++)
                assert_pair(&buffer.batch, s, &bitext, batches_permute(1, epoch, N, position++));
            if (position == N) continue;
            /* The next pair would have been too much. */
            uint32_t pair = batches_permute(1, epoch, N, position);
            ck_assert(buffer.batch.source.n_tokens + bitext_length(&bitext, pair, BITEXT_SOURCE) > BUDGET ||
                      buffer.batch.target.n_tokens + bitext_length(&bitext, pair, BITEXT_TARGET) + 1 > BUDGET);
        }
        ck_assert_uint_eq(position, N);
        ck_assert_uint_eq(iterator.position, 0);
    }
    batches_free(&buffer);
    bitext_free(&bitext);
}
END_TEST

START_TEST(batches_go_on_from_anywhere)
{
    Bitext bitext = random_bitext(300, 40);
    BatchIterator iterator = {.bitext = &bitext, .seed = 1234567890123, .batch_tokens = 100};
    BatchBuffer buffer = {0}, again = {0};
    while (iterator.epoch < 3) {
        BatchIterator resumed = {.bitext = &bitext, .seed = 1234567890123, .batch_tokens = 100};
        resumed.epoch = iterator.epoch;
        resumed.position = iterator.position;
        batches_next(&iterator, &buffer);
        batches_next(&resumed, &again);
        const Ragged *a = &buffer.batch.target, *b = &again.batch.target;
        ck_assert(a->n_tokens == b->n_tokens && a->n_seq == b->n_seq);
        ck_assert(!memcmp(a->token, b->token, (size_t)a->n_tokens * sizeof *a->token));
        ck_assert(resumed.epoch == iterator.epoch && resumed.position == iterator.position);
    }
    batches_free(&buffer);
    batches_free(&again);
    bitext_free(&bitext);
}
END_TEST

/* Pairs whose words are merged anew: the same text, never too long, other tokens in each epoch, the same from anywhere. */
START_TEST(batches_with_merges_left_out)
{
    enum { N = 200, BUDGET = 300, LONGEST = 60 };
    Tokenizer *tokenizer = nasty_tokenizer(nasty_few_letters, 50, 300);
    TokenizerCache *cache = tokenizer_cache_new();
    Bitext bitext = bitext_new(tokenizer_size(tokenizer));
    bitext_add_part(&bitext, 1);
    Text text = {0}, expected = {0};
    for (uint32_t i = 0; bitext_pairs(&bitext) < N; i++) {
        Tokens side[2] = {{0}};
        for (uint32_t k = 0; k < 2; k++) {
            nasty_few_letters(&text, 2 * i + k);
            tokenizer_encode(tokenizer, cache, text.data, text.n, &side[k]);
        }
        tokenizer_append(&side[0], TOKEN_EOS);
        if (side[0].n > 1 && side[0].n <= LONGEST && side[1].n && side[1].n < LONGEST)
            bitext_append(&bitext, side[0].token, side[0].n, side[1].token, side[1].n);
        for (int k = 0; k < 2; k++) tokenizer_tokens_free(&side[k]);
    }
    BatchIterator iterator = {.bitext = &bitext, .seed = 1, .batch_tokens = BUDGET, .bpe_dropout = 0.2, .tokenizer = tokenizer,
                              .max_length = LONGEST};
    BatchBuffer buffer = {0}, again = {0};
    int n_as_before[2] = {0};
    while (iterator.epoch < 3) {
        BatchIterator resumed = iterator;
        uint32_t position = iterator.position;
        const uint32_t epoch = iterator.epoch;
        batches_next(&iterator, &buffer);
        batches_next(&resumed, &again);
        const Ragged *sides[] = {&buffer.batch.source, &buffer.batch.target};
        ck_assert_int_le(larger(&buffer.batch), BUDGET);
        ck_assert(sides[1]->n_tokens == again.batch.target.n_tokens);
        ck_assert(!memcmp(sides[1]->token, again.batch.target.token, (size_t)sides[1]->n_tokens * sizeof(int32_t)));
        for (int s = 0; s < sides[0]->n_seq; s++, position++)
            for (int k = 0; k < 2; k++) {
                int32_t whole[LONGEST];
                const uint32_t pair = batches_permute(1, epoch, N, position);
                const int32_t n = bitext_length(&bitext, pair, k), *token = sides[k]->token + sides[k]->start[s];
                const int32_t got = sides[k]->start[s + 1] - sides[k]->start[s];
                bitext_copy(&bitext, pair, k, whole);
                ENSURE(got <= LONGEST, "pair %u", pair);
                tokenizer_decode(tokenizer, whole, (size_t)n, &expected);
                tokenizer_decode(tokenizer, token, (size_t)got, &text);
                ENSURE(text.n == expected.n && !memcmp(text.data, expected.data, text.n), "pair %u", pair);
                if (k) ENSURE(token[0] == TOKEN_BOS, "pair %u", pair);
                else ENSURE(token[got - 1] == TOKEN_EOS, "pair %u", pair);
                if (k) ENSURE(buffer.batch.label[sides[k]->start[s + 1] - 1] == TOKEN_EOS, "pair %u", pair);
                n_as_before[k] += got == n + k && !memcmp(token + k, whole, (size_t)n * sizeof *whole);
            }
    }
    for (int k = 0; k < 2; k++) ck_assert(n_as_before[k] > 0 && n_as_before[k] < 3 * N / 2);
    batches_free(&buffer);
    batches_free(&again);
    bitext_free(&bitext);
    tokenizer_cache_free(cache);
    tokenizer_free(tokenizer);
    text_free(&text);
    text_free(&expected);
}
END_TEST

START_TEST(pairs_larger_than_the_budget)
{
    Bitext bitext = random_bitext(50, 30);
    BatchIterator iterator = {.bitext = &bitext, .seed = 1, .batch_tokens = 10};
    BatchBuffer buffer = {0};
    int n_pairs = 0, n_large = 0;
    while (iterator.epoch == 0) {
        batches_next(&iterator, &buffer);
        n_pairs += buffer.batch.source.n_seq;
        bool large = larger(&buffer.batch) > 10;
        n_large += large;
        ck_assert(!large || buffer.batch.source.n_seq == 1);
    }
    ck_assert_int_eq(n_pairs, 50);
    ck_assert_int_gt(n_large, 10);
    batches_free(&buffer);
    bitext_free(&bitext);
}
END_TEST

START_TEST(batches_in_order)
{
    enum { N = 500, BUDGET = 120 };
    Bitext bitext = random_bitext(N, 60);
    BatchBuffer buffer = {0};
    for (size_t first = 0, next; first < N; first = next) {
        next = batches_fill(&buffer, &bitext, first, BUDGET);
        ck_assert_uint_eq(next - first, (size_t)buffer.batch.source.n_seq);
        ck_assert_int_le(larger(&buffer.batch), BUDGET);
        for (size_t i = first; i < next; i++) assert_pair(&buffer.batch, (int)(i - first), &bitext, (uint32_t)i);
    }
    ck_assert_uint_eq(batches_fill(&buffer, &bitext, 0, INT32_MAX), N);
    ck_assert_uint_eq(batches_fill(&buffer, &bitext, 7, 1), 8); /* at least one */
    batches_free(&buffer);
    bitext_free(&bitext);
}
END_TEST

START_TEST(ragged_batches_in_any_order)
{
    enum { N = 300, BUDGET = 100 };
    Bitext bitext = random_bitext(N, 50);
    sequences_append(&bitext.sides, NULL, 0); /* an empty sequence is one, too */
    RaggedBuffer buffer = {0};
    uint32_t order[N];
    int32_t token[100];
    for (uint32_t i = 0; i < N; i++) order[i] = N - i;
    for (int ordered = 0; ordered < 2; ordered++)
        for (size_t first = 0, next; first < N; first = next) {
            next = batches_fill_ragged(&buffer, &bitext.sides, ordered ? order : NULL, N, first, BUDGET);
            const Ragged *r = &buffer.ragged;
            ck_assert_int_eq(r->n_seq, (int)(next - first));
            ck_assert(r->n_tokens <= BUDGET && r->start[r->n_seq] == r->n_tokens);
            for (size_t i = first; i < next; i++) {
                size_t s = i - first, sequence = ordered ? order[i] : i;
                int32_t n = sequences_length(&bitext.sides, sequence);
                sequences_copy(&bitext.sides, sequence, token);
                ck_assert_int_eq(r->start[s + 1] - r->start[s], n);
                ck_assert(!memcmp(token, r->token + r->start[s], (size_t)n * sizeof *token));
            }
        }
    batches_free_ragged(&buffer);
    bitext_free(&bitext);
}
END_TEST

Suite *suite_batches(void)
{
    Suite *suite = suite_create("batches");
    TCase *tcase = tcase_create("batches");
    tcase_add_test(tcase, an_epoch_is_a_permutation);
    tcase_add_test(tcase, every_number_of_pairs_is_permuted);
    tcase_add_test(tcase, permutations_are_uniform);
    tcase_add_test(tcase, neighbours_are_mixed);
    tcase_add_test(tcase, weights_say_how_often_pairs_come);
    tcase_add_test(tcase, the_order_never_changes);
    tcase_add_test(tcase, batches_keep_the_budget);
    tcase_add_test(tcase, batches_go_on_from_anywhere);
    tcase_add_test(tcase, batches_with_merges_left_out);
    tcase_add_test(tcase, pairs_larger_than_the_budget);
    tcase_add_test(tcase, batches_in_order);
    tcase_add_test(tcase, ragged_batches_in_any_order);
    suite_add_tcase(suite, tcase);
    return suite;
}
