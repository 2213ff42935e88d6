#include "data/learner.h"

#include <stdlib.h>

#include "core/memory.h"
#include "core/utf8.h"
#include "data/map.h"
#include "data/pieces.h"
#include "data/strings.h"

/* The distinct pieces and how often each came. */
struct Learner {
    Strings pieces;
    int64_t *count; /* [pieces.n] */
    size_t count_capacity;
    Text text; /* the text being added */
};

Learner *learner_new(void)
{
    return mem_zalloc(sizeof(Learner));
}

void learner_free(Learner *learner)
{
    if (!learner) return;
    strings_free(&learner->pieces);
    mem_free(learner->count);
    text_free(&learner->text);
    mem_free(learner);
}

void learner_add(Learner *learner, const char *text, size_t length)
{
    pieces_prepare(&learner->text, text, length);
    size_t n;
    for (size_t i = 0; i < learner->text.n; i += n) {
        const char *piece = learner->text.data + i;
        n = pieces_next(piece, learner->text.n - i);
        int32_t n_before = learner->pieces.n, number = strings_add(&learner->pieces, piece, n);
        if (number == n_before) {
            ARRAY_RESERVE(learner->count, (size_t)number, learner->count_capacity);
            learner->count[number] = 0;
        }
        learner->count[number]++;
    }
}

bool learner_add_files(Learner *learner, const FileList *files, Error *error)
{
    for (int i = 0; i < files->n; i++) {
        LineReader *reader = lines_open(files->path[i], error);
        if (!reader) return false;
        const char *line;
        size_t length;
        int status;
        while ((status = lines_next(reader, &line, &length, error)) > 0) learner_add(learner, line, length);
        lines_close(reader);
        if (status < 0) return false;
    }
    return true;
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

Tokenizer *learner_finish(const Learner *learner, int vocab_size, Error *error)
{
    enum { MOST_BYTES = 1 << 29 }; /* of distinct pieces: there may be three places for each, numbered in 32 bits */
    if (vocab_size < TOKENIZER_MIN_SIZE) {
        error_usage(error, "a vocabulary of %d tokens is too small: it must be at least %d, for the bytes", vocab_size,
                    TOKENIZER_MIN_SIZE);
        return NULL;
    }
    if (!learner->pieces.n) {
        error_set(error, "there is no text to learn the tokenizer from: all lines are blank");
        return NULL;
    }
    if (learner->pieces.pool.n > MOST_BYTES) {
        error_set(error, "there are too many distinct words to learn the tokenizer from (%d); give it less text",
                  learner->pieces.n);
        return NULL;
    }
    Tokenizer *tokenizer = tokenizer_new();
    add_characters(learner, tokenizer, (vocab_size - TOKENIZER_MIN_SIZE) / 2);
    add_merges(learner, tokenizer, vocab_size);
    return tokenizer;
}
