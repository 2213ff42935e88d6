#include "data/batches.h"

#include <string.h>

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

/* A pair on its way into a batch: its tokens, the source with EOS, by side. */
typedef struct Pair {
    size_t number;
    int32_t n[2];
    const int32_t *token[2]; /* NULL: those of the bitext */
} Pair;

static Pair pair_as_it_is(const Bitext *bitext, size_t number)
{
    return (Pair){number, {bitext_length(bitext, number, BITEXT_SOURCE), bitext_length(bitext, number, BITEXT_TARGET)}, {NULL}};
}

static void copy_side(const Bitext *bitext, const Pair *pair, BitextSide side, int32_t *out)
{
    if (pair->token[side]) memcpy(out, pair->token[side], (size_t)pair->n[side] * sizeof *out);
    else bitext_copy(bitext, pair->number, side, out);
}

static void append_pair(BatchBuffer *buffer, const Bitext *bitext, const Pair *pair)
{
    const int32_t n = pair->n[BITEXT_TARGET], first = buffer->target.ragged.n_tokens;
    copy_side(bitext, pair, BITEXT_SOURCE, append(&buffer->source, pair->n[BITEXT_SOURCE]));
    int32_t *target = append(&buffer->target, n + 1);
    target[0] = TOKEN_BOS;
    copy_side(bitext, pair, BITEXT_TARGET, target + 1);
    buffer->label = reserve(buffer->label, first, n + 1, &buffer->label_capacity);
    memcpy(buffer->label + first, target + 1, (size_t)n * sizeof *target);
    buffer->label[first + n] = TOKEN_EOS;
}

/* How many tokens a batch has by now. */
typedef struct Fill {
    int32_t source, target;
} Fill;

/* Count the pair in if it fits: neither side may overflow the budget, except that the first pair always fits. */
static bool take(Fill *fill, const Pair *pair, int32_t batch_tokens)
{
    const int32_t n_source = pair->n[BITEXT_SOURCE], n_target = pair->n[BITEXT_TARGET] + 1;
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
    const size_t n = bitext_pairs(bitext);
    CHECK(first < n, "pair %zu of %zu", first, n);
    Fill fill = {0};
    size_t i = first;
    begin(buffer);
    for (; i < n; i++) {
        const Pair pair = pair_as_it_is(bitext, i);
        if (!take(&fill, &pair, batch_tokens)) break;
        append_pair(buffer, bitext, &pair);
    }
    finish(buffer);
    return i;
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
    mem_free(buffer->whole);
    for (int side = 0; side < 2; side++) tokenizer_tokens_free(&buffer->again[side]);
    text_free(&buffer->text);
    *buffer = (BatchBuffer){0};
}

/* ---- random order ---- */

/* A Feistel network permutes the numbers of so many bits that n of them fit: the two halves of the bits are changed in turn,
 * each by a random function of the other. Numbers that fall outside 0 .. n-1 are permuted again until they fall inside. Runs
 * depend on this order: never change it. */
static uint32_t permute(const RandomStream *stream, uint32_t n, uint32_t position)
{
    enum { ROUNDS = 10 };
    CHECK(position < n, "position %u of %u", position, n);
    int n_bits = 0;
    while (n_bits < 32 && (uint64_t)1 << n_bits < n) n_bits++;
    int n_low = (n_bits + 1) / 2;
    uint32_t low_mask = ((uint32_t)1 << n_low) - 1, high_mask = ((uint32_t)1 << (n_bits - n_low)) - 1;
    uint32_t x = position;
    do {
        uint32_t low = x & low_mask, high = x >> n_low, bits[4];
        for (int round = 0; round < ROUNDS; round++) {
            bool change_low = round % 2 == 0;
            random_block(stream, (uint64_t)round << 32 | (change_low ? high : low), bits);
            if (change_low) low ^= bits[0] & low_mask;
            else high ^= bits[0] & high_mask;
        }
        x = high << n_low | low;
    } while (x >= n);
    return x;
}

uint32_t batches_permute(uint64_t seed, uint32_t epoch, uint32_t n, uint32_t position)
{
    const RandomStream stream = random_stream(seed, RANDOM_SHUFFLE, epoch, 0);
    return permute(&stream, n, position);
}

/* The pairs of the part in an epoch. */
static uint64_t part_pairs(const BitextPart *part)
{
    const double wanted = part->weight * part->n_pairs;
    if (!part->n_pairs || part->weight <= 0) return 0;
    return wanted < 1 ? 1 : (uint64_t)(wanted + 0.5);
}

uint64_t batches_epoch_pairs(const Bitext *bitext)
{
    uint64_t n = 0;
    for (int i = 0; i < bitext->n_parts; i++) n += part_pairs(&bitext->part[i]);
    return n;
}

uint64_t batches_hash(const Bitext *bitext, uint64_t hash)
{
    bool plain = true;
    for (int i = 0; i < bitext->n_parts; i++) plain = plain && bitext->part[i].weight == 1;
    for (int i = 0; i < bitext->n_parts && !plain; i++) hash = (hash ^ bitext->part[i].n_pairs) * 0x100000001B3u;
    return hash;
}

uint32_t batches_pair(const BatchIterator *iterator, uint32_t position)
{
    const Bitext *bitext = iterator->bitext;
    const uint32_t n_epoch = (uint32_t)batches_epoch_pairs(bitext);
    uint32_t place = batches_permute(iterator->seed, iterator->epoch, n_epoch, position), first = 0;
    const BitextPart *part = bitext->part;
    for (; place >= part_pairs(part); part++) {
        place -= (uint32_t)part_pairs(part);
        first += part->n_pairs;
    }
    const uint32_t n = part->n_pairs, n_share = (uint32_t)(part_pairs(part) % n), pair = place % n;
    if (place < part_pairs(part) - n_share) return first + pair; /* of a whole copy */
    const RandomStream stream = random_stream(iterator->seed, RANDOM_SHUFFLE, (uint32_t)(part - bitext->part), 1);
    return first + permute(&stream, n, (uint32_t)(((uint64_t)iterator->epoch * n_share + pair) % n));
}

/* Merge the words of both sides anew, unless that makes the pair too long. */
static void drop_merges(const BatchIterator *iterator, BatchBuffer *buffer, Pair *pair)
{
    const RandomStream stream = random_stream(iterator->seed, RANDOM_SEGMENT, iterator->epoch, iterator->position);
    for (BitextSide side = BITEXT_SOURCE; side <= BITEXT_TARGET; side++) {
        Tokens *again = &buffer->again[side];
        const int32_t n = pair->n[side], n_end = side == BITEXT_SOURCE; /* EOS is no text */
        buffer->whole = reserve(buffer->whole, 0, n, &buffer->whole_capacity);
        bitext_copy(iterator->bitext, pair->number, side, buffer->whole);
        again->n = 0;
        tokenizer_encode_again(iterator->tokenizer, buffer->whole, (size_t)(n - n_end), iterator->bpe_dropout, &stream,
                               (uint32_t)side, &buffer->text, again);
        if (again->n >= (size_t)iterator->max_length) return;
        if (n_end) tokenizer_append(again, TOKEN_EOS);
    }
    for (int side = 0; side < 2; side++) {
        pair->n[side] = (int32_t)buffer->again[side].n;
        pair->token[side] = buffer->again[side].token;
    }
}

/* Step over the batch at the iterator's place; its pairs go to `buffer`. */
static void step(BatchIterator *iterator, BatchBuffer *buffer)
{
    const Bitext *bitext = iterator->bitext;
    const uint32_t n = (uint32_t)batches_epoch_pairs(bitext);
    CHECK(iterator->position < n, "position %u of %u", iterator->position, n);
    Fill fill = {0};
    for (; iterator->position < n; iterator->position++) {
        Pair pair = pair_as_it_is(bitext, batches_pair(iterator, iterator->position));
        if (iterator->bpe_dropout > 0) drop_merges(iterator, buffer, &pair);
        if (!take(&fill, &pair, iterator->batch_tokens)) return;
        append_pair(buffer, bitext, &pair);
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
