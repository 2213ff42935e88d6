#include "data/learner.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "data/map.h"
#include "data/pieces.h"
#include "data/strings.h"
#include "text/utf8.h"

/* The distinct pieces and how often each came. */
struct Learner {
    Tokenizer *base; /* what is known before learning: symbols, and how text is cut */
    Strings pieces;
    int64_t *count; /* [pieces.n] */
    size_t count_capacity, most_bytes;
    int64_t n_pieces, n_forgotten;
    bool words;
    Text text; /* the text being added */
};

Learner *learner_new(void)
{
    Learner *learner = mem_zalloc(sizeof *learner);
    learner->base = tokenizer_new();
    learner->most_bytes = LEARNER_MOST_BYTES;
    return learner;
}

void learner_free(Learner *learner)
{
    if (!learner) return;
    tokenizer_free(learner->base);
    strings_free(&learner->pieces);
    mem_free(learner->count);
    text_free(&learner->text);
    mem_free(learner);
}

bool learner_add_symbols(Learner *learner, const Words *symbols, Error *error)
{
    for (int i = 0; i < symbols->n; i++)
        if (tokenizer_add_symbol(learner->base, symbols->word[i], strlen(symbols->word[i])) < 0)
            return error_usage(error, "'%s' can't be a symbol: it must be new, have two characters or more and at most %d "
                               "bytes, be normalized (NFC), and not look like <s> or <0xFF>", symbols->word[i],
                               TOKENIZER_MAX_BYTES - 1);
    return true;
}

void learner_set_words(Learner *learner)
{
    learner->words = true;
    tokenizer_set_words(learner->base);
}

void learner_set_bound(Learner *learner, size_t most_bytes)
{
    learner->most_bytes = most_bytes;
}

int64_t learner_pieces(const Learner *learner)
{
    return learner->n_pieces;
}

int64_t learner_forgotten(const Learner *learner)
{
    return learner->n_forgotten;
}

static void count_piece(Learner *learner, const char *piece, size_t n, int64_t times)
{
    int32_t n_before = learner->pieces.n, number = strings_add(&learner->pieces, piece, n);
    if (number == n_before) {
        ARRAY_RESERVE(learner->count, (size_t)number, learner->count_capacity);
        learner->count[number] = 0;
    }
    learner->count[number] += times;
}

/* A piece among others. */
typedef struct Rank {
    int64_t count;
    int32_t number;
} Rank;

static int most_frequent_first(const void *a, const void *b)
{
    const Rank *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static Rank *rank_pieces(const Learner *learner)
{
    Rank *rank = mem_alloc((size_t)learner->pieces.n * sizeof *rank);
    for (int32_t i = 0; i < learner->pieces.n; i++) rank[i] = (Rank){learner->count[i], i};
    qsort(rank, (size_t)learner->pieces.n, sizeof *rank, most_frequent_first);
    return rank;
}

/* Keep the most frequent pieces, those of equal count in the order in which they came, up to so many bytes. */
static void forget(Learner *learner, size_t most_bytes)
{
    if (learner->pieces.pool.n <= most_bytes) return;
    Rank *rank = rank_pieces(learner);
    Strings old = learner->pieces;
    int64_t *old_count = learner->count;
    learner->pieces = (Strings){0};
    learner->count = NULL;
    learner->count_capacity = 0;
    for (int32_t i = 0; i < old.n; i++) {
        size_t n;
        const char *piece = strings_get(&old, rank[i].number, &n);
        if (learner->pieces.pool.n + n <= most_bytes) count_piece(learner, piece, n, rank[i].count);
        else {
            learner->n_forgotten += rank[i].count;
            most_bytes = 0; /* no rarer one is kept because it is shorter */
        }
    }
    strings_free(&old);
    mem_free(old_count);
    mem_free(rank);
}

static void bound(Learner *learner)
{
    if (learner->pieces.pool.n > 4 * learner->most_bytes) forget(learner, 2 * learner->most_bytes);
}

void learner_add(Learner *learner, const char *text, size_t length)
{
    pieces_prepare(&learner->text, text, length);
    PieceCursor cursor = tokenizer_pieces(learner->base, &learner->text);
    const char *piece;
    size_t n;
    int32_t symbol;
    while ((piece = tokenizer_next_piece(&cursor, &n, &symbol))) {
        if (symbol >= 0) continue;
        count_piece(learner, piece, n, 1);
        learner->n_pieces++;
    }
    bound(learner);
}

void learner_merge(Learner *learner, const Learner *other)
{
    for (int32_t i = 0; i < other->pieces.n; i++) {
        size_t n;
        const char *piece = strings_get(&other->pieces, i, &n);
        count_piece(learner, piece, n, other->count[i]);
    }
    learner->n_pieces += other->n_pieces;
    learner->n_forgotten += other->n_forgotten;
    bound(learner);
}

/* ---- characters ---- */

typedef struct Character {
    int32_t code;
    int64_t count;
} Character;

static int by_count(const void *a, const void *b)
{
    const Character *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return (x->code > y->code) - (x->code < y->code);
}

static void add_characters(const Learner *learner, Tokenizer *tokenizer, int32_t most)
{
    Map counts = {0};
    for (int32_t piece = 0; piece < learner->pieces.n; piece++) {
        size_t n;
        const char *text = strings_get(&learner->pieces, piece, &n);
        for (size_t i = 0; i < n;) {
            int32_t code;
            i += utf8_decode(text + i, n - i, &code);
            if (code >= 0x80) *map_at(&counts, (uint64_t)code) += learner->count[piece];
        }
    }
    Character *characters = mem_alloc(counts.n * sizeof *characters);
    size_t n = 0;
    for (size_t i = 0; i < counts.n_slots; i++)
        if (counts.slot[i].key != MAP_NO_KEY && counts.slot[i].value >= LEARNER_MIN_CHARACTER)
            characters[n++] = (Character){.code = (int32_t)counts.slot[i].key, .count = counts.slot[i].value};
    qsort(characters, n, sizeof *characters, by_count);
    for (size_t i = 0; i < n && i < (size_t)most; i++) tokenizer_add_character(tokenizer, characters[i].code);
    mem_free(characters);
    map_free(&counts);
}

/* ---- merges ---- */

enum { NO_TOKEN = -1 };    /* the token of a position whose character is left to its bytes, or that was merged away */
#define NOWHERE UINT32_MAX /* no position, no place */

/* Two neighbouring tokens. */
typedef struct Pair {
    int32_t left, right;
    int64_t count;
    uint32_t first, last; /* its places in order of their positions; at some the pair may no longer stand */
} Pair;

typedef struct Place {
    uint32_t position; /* of the left token */
    uint32_t next;     /* the next place of the pair */
} Place;

/* Of the queue of pairs, a binary heap: most frequent first, then smaller left token, then smaller right token. */
typedef struct Entry {
    int64_t count; /* when the entry was made; it can only have fallen since */
    uint32_t pair;
    int32_t left, right;
} Entry;

/* The pieces laid end to end, a token a character. All occurrences of a pair come into being together: when the
 * later-learned of its two tokens does. So a pair enters the queue once, and its places are found in order. */
typedef struct Merging {
    int32_t *token;            /* by position */
    uint32_t *previous, *next; /* positions in the same piece, or NOWHERE */
    int32_t *piece;            /* which piece */
    uint32_t n;                /* positions */
    const int64_t *weight;     /* by piece: how often it came */
    Map pair_at;               /* left << 32 | right -> 1 + index into pair */
    Pair *pair;
    Place *place;
    Entry *heap;
    uint32_t n_pair, n_place, n_heap, pair_capacity, place_capacity, heap_capacity;
} Merging;

static bool sooner(Entry a, Entry b)
{
    if (a.count != b.count) return a.count > b.count;
    return a.left != b.left ? a.left < b.left : a.right < b.right;
}

static void push(Merging *m, uint32_t pair)
{
    const Pair *p = &m->pair[pair];
    if (p->count < 2) return;
    Entry new = {.count = p->count, .pair = pair, .left = p->left, .right = p->right};
    ARRAY_RESERVE(m->heap, m->n_heap, m->heap_capacity);
    uint32_t i = m->n_heap++;
    for (; i > 0 && sooner(new, m->heap[(i - 1) / 2]); i = (i - 1) / 2) m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = new;
}

static Entry pop(Merging *m)
{
    Entry first = m->heap[0], last = m->heap[--m->n_heap];
    uint32_t i = 0;
    for (uint32_t child = 1; child < m->n_heap; child = 2 * i + 1) {
        if (child + 1 < m->n_heap && sooner(m->heap[child + 1], m->heap[child])) child++;
        if (!sooner(m->heap[child], last)) break;
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = last;
    return first;
}

/* The value in pair_at. */
static int64_t *pair_at(Merging *m, int32_t left, int32_t right)
{
    return map_at(&m->pair_at, (uint64_t)(uint32_t)left << 32 | (uint32_t)right);
}

/* The token at `position` and the next one have become neighbours. */
static void add_place(Merging *m, uint32_t position)
{
    uint32_t next = m->next[position];
    if (next == NOWHERE || m->token[position] == NO_TOKEN || m->token[next] == NO_TOKEN) return;
    int64_t *at = pair_at(m, m->token[position], m->token[next]);
    if (!*at) {
        ARRAY_RESERVE(m->pair, m->n_pair, m->pair_capacity);
        m->pair[m->n_pair++] =
            (Pair){.left = m->token[position], .right = m->token[next], .first = NOWHERE, .last = NOWHERE};
        *at = m->n_pair;
    }
    Pair *pair = &m->pair[*at - 1];
    ARRAY_RESERVE(m->place, m->n_place, m->place_capacity);
    m->place[m->n_place] = (Place){.position = position, .next = NOWHERE};
    if (pair->first == NOWHERE) pair->first = m->n_place;
    else m->place[pair->last].next = m->n_place;
    pair->last = m->n_place++;
    pair->count += m->weight[m->piece[position]];
}

/* They are about to be neighbours no more. */
static void remove_place(Merging *m, uint32_t position)
{
    uint32_t next = m->next[position];
    if (next == NOWHERE || m->token[position] == NO_TOKEN || m->token[next] == NO_TOKEN) return;
    m->pair[*pair_at(m, m->token[position], m->token[next]) - 1].count -= m->weight[m->piece[position]];
}

/* Merge the tokens at `position` and after it. */
static void merge_at(Merging *m, uint32_t position, int32_t merged)
{
    uint32_t previous = m->previous[position], right = m->next[position];
    if (previous != NOWHERE) remove_place(m, previous);
    remove_place(m, position);
    remove_place(m, right);
    m->token[position] = merged;
    m->token[right] = NO_TOKEN;
    m->next[position] = m->next[right];
    if (m->next[right] != NOWHERE) m->previous[m->next[right]] = position;
    if (previous != NOWHERE) add_place(m, previous);
    add_place(m, position);
}

/* Merge the pair wherever it stands, from left to right. */
static void merge_everywhere(Merging *m, Pair pair, int32_t merged)
{
    for (uint32_t place = pair.first; place != NOWHERE; place = m->place[place].next) {
        uint32_t position = m->place[place].position, right = m->next[position];
        if (right != NOWHERE && m->token[position] == pair.left && m->token[right] == pair.right)
            merge_at(m, position, merged);
    }
}

static void lay_out(Merging *m, const Learner *learner, const Tokenizer *tokenizer)
{
    size_t most = learner->pieces.pool.n; /* as many characters as bytes */
    m->token = mem_alloc(most * sizeof *m->token);
    m->previous = mem_alloc(most * sizeof *m->previous);
    m->next = mem_alloc(most * sizeof *m->next);
    m->piece = mem_alloc(most * sizeof *m->piece);
    m->weight = learner->count;
    for (int32_t piece = 0; piece < learner->pieces.n; piece++) {
        size_t n;
        const char *text = strings_get(&learner->pieces, piece, &n);
        uint32_t first = m->n;
        for (size_t i = 0; i < n; m->n++) {
            int32_t code;
            i += utf8_decode(text + i, n - i, &code);
            m->token[m->n] = tokenizer_character(tokenizer, code);
            m->piece[m->n] = piece;
            m->previous[m->n] = m->n > first ? m->n - 1 : NOWHERE;
            m->next[m->n] = i < n ? m->n + 1 : NOWHERE;
        }
    }
    for (uint32_t i = 0; i < m->n; i++) add_place(m, i);
    for (uint32_t i = 0; i < m->n_pair; i++) push(m, i);
}

static void add_merges(const Learner *learner, Tokenizer *tokenizer, int32_t vocab_size)
{
    Merging m = {0};
    lay_out(&m, learner, tokenizer);
    while (m.n_heap && tokenizer_size(tokenizer) < vocab_size) {
        Entry best = pop(&m);
        if (best.count != m.pair[best.pair].count) {
            push(&m, best.pair);
            continue;
        }
        int32_t merged = tokenizer_add_merge(tokenizer, best.left, best.right);
        if (merged < 0) continue; /* too long, or made of other parts before */
        uint32_t n_before = m.n_pair;
        merge_everywhere(&m, m.pair[best.pair], merged);
        for (uint32_t i = n_before; i < m.n_pair; i++) push(&m, i);
    }
    mem_free(m.token);
    mem_free(m.previous);
    mem_free(m.next);
    mem_free(m.piece);
    mem_free(m.pair);
    mem_free(m.place);
    mem_free(m.heap);
    map_free(&m.pair_at);
}

/* ---- words ---- */

/* Most frequent first, ties by their bytes. */
static int by_count_and_bytes(const void *a, const void *b, void *pieces)
{
    const Rank *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    size_t n_x, n_y;
    const char *text_x = strings_get(pieces, x->number, &n_x), *text_y = strings_get(pieces, y->number, &n_y);
    const int order = memcmp(text_x, text_y, n_x < n_y ? n_x : n_y);
    return order ? order : (n_x > n_y) - (n_x < n_y);
}

static void add_words(Learner *learner, Tokenizer *tokenizer, int32_t vocab_size)
{
    Rank *rank = rank_pieces(learner);
    qsort_r(rank, (size_t)learner->pieces.n, sizeof *rank, by_count_and_bytes, &learner->pieces);
    for (int32_t i = 0; i < learner->pieces.n && tokenizer_size(tokenizer) < vocab_size; i++) {
        size_t n;
        const char *piece = strings_get(&learner->pieces, rank[i].number, &n);
        tokenizer_add_word(tokenizer, piece, n); /* or not, if it is too long: then it is left to its bytes */
    }
    mem_free(rank);
}

/* A copy of what is known before learning. */
static Tokenizer *copy_base(const Learner *learner)
{
    Tokenizer *tokenizer = tokenizer_new();
    for (int32_t i = TOKENIZER_FIRST_CHARACTER; i < tokenizer_size(learner->base); i += 2) {
        size_t n;
        const char *symbol = tokenizer_bytes(learner->base, i, &n);
        tokenizer_add_symbol(tokenizer, symbol, n);
    }
    if (learner->words) tokenizer_set_words(tokenizer);
    return tokenizer;
}

Tokenizer *learner_finish(Learner *learner, int vocab_size, Error *error)
{
    const int least = tokenizer_size(learner->base);
    if (vocab_size < least) {
        error_usage(error, "a vocabulary of %d tokens is too small: it must be at least %d, for the bytes%s", vocab_size,
                    least, least > TOKENIZER_MIN_SIZE ? " and the symbols, two tokens each" : "");
        return NULL;
    }
    if (!learner->pieces.n) {
        error_set(error, "there is no text to learn the tokenizer from: all lines are blank");
        return NULL;
    }
    forget(learner, learner->most_bytes);
    Tokenizer *tokenizer = copy_base(learner);
    if (learner->words) add_words(learner, tokenizer, vocab_size);
    else {
        add_characters(learner, tokenizer, (vocab_size - least) / 2);
        add_merges(learner, tokenizer, vocab_size);
    }
    return tokenizer;
}
