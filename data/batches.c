#include "data/batches.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/random.h"

/* ---- filling ---- */

static void clear(RaggedBuffer *buffer)
{
    buffer->ragged.n_seq = buffer->ragged.n_tokens = 0;
}

/* The array, of `n` elements in use, with room for `more`. */
static int32_t *reserve(int32_t *array, int32_t n, int32_t more, int32_t *capacity)
{
    if (more <= *capacity - n) return array;
    int64_t wanted = 2 * (int64_t)*capacity > (int64_t)n + more ? 2 * (int64_t)*capacity : (int64_t)n + more;
    CHECK(wanted <= INT32_MAX, "a batch of %lld tokens", (long long)wanted);
    array = mem_resize(array, (size_t)n * sizeof *array, (size_t)wanted * sizeof *array);
    *capacity = (int32_t)wanted;
    return array;
}

/* Append a sequence of n tokens; they are to be written where the result points. */
static int32_t *append(RaggedBuffer *buffer, int32_t n)
{
    Ragged *r = &buffer->ragged;
    buffer->start = reserve(buffer->start, r->n_seq ? r->n_seq + 1 : 0, 2, &buffer->start_capacity);
    buffer->token = reserve(buffer->token, r->n_tokens, n, &buffer->token_capacity);
    int32_t *result = buffer->token + r->n_tokens;
    buffer->start[r->n_seq++] = r->n_tokens;
    buffer->start[r->n_seq] = r->n_tokens += n;
    r->start = buffer->start;
    r->token = buffer->token;
    return result;
}

static void append_pair(BatchBuffer *buffer, const Bitext *bitext, size_t pair)
{
    int32_t n = sequences_length(&bitext->target, pair), first = buffer->target.ragged.n_tokens;
    sequences_copy(&bitext->source, pair, append(&buffer->source, sequences_length(&bitext->source, pair)));
    int32_t *target = append(&buffer->target, n + 1);
    target[0] = TOKEN_BOS;
    sequences_copy(&bitext->target, pair, target + 1);
    buffer->label = reserve(buffer->label, first, n + 1, &buffer->label_capacity);
    sequences_copy(&bitext->target, pair, buffer->label + first);
    buffer->label[first + n] = TOKEN_EOS;
}

/* How many tokens a batch has by now. */
typedef struct Fill {
    int32_t source, target;
} Fill;

/* Count the pair in if it fits: neither side may overflow the budget, except that the first pair always fits. */
static bool take(Fill *fill, const Bitext *bitext, size_t pair, int32_t batch_tokens)
{
    int32_t n_source = sequences_length(&bitext->source, pair), n_target = sequences_length(&bitext->target, pair) + 1;
    if (fill->source && (n_source > batch_tokens - fill->source || n_target > batch_tokens - fill->target)) return false;
    fill->source += n_source;
    fill->target += n_target;
    return true;
}

static void begin(BatchBuffer *buffer)
{
    clear(&buffer->source);
    clear(&buffer->target);
}

static void finish(BatchBuffer *buffer)
{
    buffer->batch = (Batch){.source = buffer->source.ragged, .target = buffer->target.ragged, .label = buffer->label};
}

size_t batches_fill(BatchBuffer *buffer, const Bitext *bitext, size_t first, int32_t batch_tokens)
{
    CHECK(first < bitext->source.n, "pair %zu of %zu", first, bitext->source.n);
    Fill fill = {0};
    size_t pair = first;
    begin(buffer);
    for (; pair < bitext->source.n && take(&fill, bitext, pair, batch_tokens); pair++) append_pair(buffer, bitext, pair);
    finish(buffer);
    return pair;
}

size_t batches_fill_ragged(RaggedBuffer *buffer, const Sequences *sequences, const uint32_t *order, size_t n, size_t first,
                           int32_t batch_tokens)
{
    CHECK(first < n, "sequence %zu of %zu", first, n);
    clear(buffer);
    size_t i = first;
    for (; i < n; i++) {
        size_t sequence = order ? order[i] : i;
        int32_t length = sequences_length(sequences, sequence);
        if (i > first && length > batch_tokens - buffer->ragged.n_tokens) break;
        sequences_copy(sequences, sequence, append(buffer, length));
    }
    return i;
}

void batches_free_ragged(RaggedBuffer *buffer)
{
    mem_free(buffer->start);
    mem_free(buffer->token);
    *buffer = (RaggedBuffer){0};
}

void batches_free(BatchBuffer *buffer)
{
    batches_free_ragged(&buffer->source);
    batches_free_ragged(&buffer->target);
    mem_free(buffer->label);
    *buffer = (BatchBuffer){0};
}

/* ---- random order ---- */

/* A Feistel network permutes the numbers of so many bits that n of them fit: the two halves of the bits are changed in turn,
 * each by a random function of the other. Numbers that fall outside 0 .. n-1 are permuted again until they fall inside. Runs
 * depend on this order: never change it. */
uint32_t batches_permute(uint64_t seed, uint32_t epoch, uint32_t n, uint32_t position)
{
    enum { ROUNDS = 10 };
    CHECK(position < n, "position %u of %u", position, n);
    RandomStream stream = random_stream(seed, RANDOM_SHUFFLE, epoch, 0);
    int n_bits = 0;
    while (n_bits < 32 && (uint64_t)1 << n_bits < n) n_bits++;
    int n_low = (n_bits + 1) / 2;
    uint32_t low_mask = ((uint32_t)1 << n_low) - 1, high_mask = ((uint32_t)1 << (n_bits - n_low)) - 1;
    uint32_t x = position;
    do {
        uint32_t low = x & low_mask, high = x >> n_low, bits[4];
        for (int round = 0; round < ROUNDS; round++) {
            bool change_low = round % 2 == 0;
            random_block(&stream, (uint64_t)round << 32 | (change_low ? high : low), bits);
            if (change_low) low ^= bits[0] & low_mask;
            else high ^= bits[0] & high_mask;
        }
        x = high << n_low | low;
    } while (x >= n);
    return x;
}

/* Step over the batch at the iterator's place; its pairs go to `buffer`, which may be NULL. */
static void step(BatchIterator *iterator, BatchBuffer *buffer)
{
    const Bitext *bitext = iterator->bitext;
    uint32_t n = (uint32_t)bitext->source.n;
    CHECK(iterator->position < n, "position %u of %u", iterator->position, n);
    Fill fill = {0};
    for (; iterator->position < n; iterator->position++) {
        uint32_t pair = batches_permute(iterator->seed, iterator->epoch, n, iterator->position);
        if (!take(&fill, bitext, pair, iterator->batch_tokens)) return;
        if (buffer) append_pair(buffer, bitext, pair);
    }
    iterator->epoch++;
    iterator->position = 0;
}

void batches_next(BatchIterator *iterator, BatchBuffer *buffer)
{
    begin(buffer);
    step(iterator, buffer);
    finish(buffer);
}

int64_t batches_count(const BatchIterator *iterator)
{
    BatchIterator walker = *iterator;
    walker.position = 0;
    int64_t n = 0;
    for (; walker.epoch == iterator->epoch; n++) step(&walker, NULL);
    return n;
}
