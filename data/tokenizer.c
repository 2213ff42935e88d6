#include "data/tokenizer.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "core/memory.h"
#include "data/map.h"
#include "data/pieces.h"
#include "data/strings.h"
#include "data/visible.h"
#include "text/utf8.h"

typedef struct Merge {
    int32_t left, right;
} Merge;

struct Tokenizer {
    Strings text;    /* by token; a special token has one that is no UTF-8, so that no text finds it */
    Map character;   /* code point -> token */
    Map merge;       /* pair_key(left, right) -> merged token: the smaller, the earlier it was learned */
    Merge *parts;    /* [size - first_merge] */
    uint8_t *utf8;   /* [size]: see tokenizer_utf8_bytes */
    int32_t first_character, first_merge; /* symbols come before, words take the place of merges */
    bool words;             /* pieces are what blanks separate */
    uint8_t begins[256];    /* whether a symbol begins with the byte */
    uint32_t hash;
    size_t parts_capacity, utf8_capacity;
};

enum {
    PLAIN = ' ',   /* utf8[] of a token of whole characters */
    NEVER = 0xFF,  /* utf8[] of a token that must not be generated */
    LAST_CODE = 0x10FFFF,
};

static const char *const special_names[N_SPECIAL] = {[TOKEN_PAD] = "<pad>", [TOKEN_BOS] = "<s>", [TOKEN_EOS] = "</s>"};

static bool is_control(int32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

/* ---- building ---- */

static int32_t add(Tokenizer *t, const char *text, size_t n, uint8_t utf8)
{
    int32_t token = t->text.n;
    if (strings_add(&t->text, text, n) != token) return -1;
    ARRAY_RESERVE(t->utf8, (size_t)token, t->utf8_capacity);
    t->utf8[token] = utf8;
    return token;
}

/* The hash covers what the tokens after the bytes are made of, in their order. */
static void extend_hash(Tokenizer *t, int32_t first, int32_t second)
{
    unsigned char bytes[8];
    for (int i = 0; i < 4; i++) {
        bytes[i] = (unsigned char)((uint32_t)first >> 8 * i);
        bytes[4 + i] = (unsigned char)((uint32_t)second >> 8 * i);
    }
    t->hash = (uint32_t)crc32(t->hash, bytes, sizeof bytes);
}

Tokenizer *tokenizer_new(void)
{
    Tokenizer *t = mem_zalloc(sizeof *t);
    for (int i = 0; i < N_SPECIAL; i++) add(t, (const char[]){(char)0xFF, (char)i}, 2, i == TOKEN_EOS ? PLAIN : NEVER);
    for (int byte = 0; byte < 256; byte++) {
        int32_t token = add(t, (const char[]){(char)byte}, 1, is_control(byte) && byte < 0x80 ? NEVER : (uint8_t)byte);
        if (byte < 0x80) *map_at(&t->character, (uint64_t)byte) = token;
    }
    t->first_character = t->first_merge = t->text.n;
    return t;
}

/* What is hashed in place of a token's left part, for those that have no parts. */
enum { HASH_CHARACTER = -1, HASH_SYMBOL = -2, HASH_WORD = -3 };

static void extend_hash_by_text(Tokenizer *t, int32_t kind, const char *text, size_t n)
{
    extend_hash(t, kind, (int32_t)crc32(0, (const unsigned char *)text, (uInt)n));
}

/* utf8[] of a token of whole characters. */
static uint8_t utf8_of(const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        int32_t code;
        i += utf8_decode(text + i, n - i, &code);
        if (is_control(code)) return NEVER;
    }
    return PLAIN;
}

/* Is it text in normal form, without blanks? */
static bool is_solid(const char *text, size_t n)
{
    Text normal = {0};
    text_normalize(&normal, text, n);
    const bool good = n && normal.n == n && !memcmp(normal.data, text, n) && !memchr(text, ' ', n);
    text_free(&normal);
    return good;
}

int32_t tokenizer_add_symbol(Tokenizer *t, const char *text, size_t n)
{
    char spaced[TOKENIZER_MAX_BYTES];
    int32_t code;
    if (t->first_character != t->text.n || n + 1 > sizeof spaced || !is_solid(text, n)) return -1;
    if (utf8_decode(text, n, &code) == n || tokenizer_find(t, text, n) >= 0 || strings_find(&t->text, text, n) >= 0) return -1;
    spaced[0] = ' ';
    memcpy(spaced + 1, text, n);
    const uint8_t utf8 = utf8_of(text, n);
    const int32_t token = add(t, text, n, utf8);
    add(t, spaced, n + 1, utf8);
    t->begins[(uint8_t)text[0]] = 1;
    extend_hash_by_text(t, HASH_SYMBOL, text, n);
    t->first_character = t->first_merge = t->text.n;
    return token;
}

int32_t tokenizer_add_character(Tokenizer *t, int32_t code)
{
    bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < 0x80 || code > LAST_CODE || surrogate || text_is_blank(code) || t->first_merge != t->text.n) return -1;
    char bytes[4];
    int32_t token = add(t, bytes, utf8_encode(code, bytes), is_control(code) ? NEVER : PLAIN);
    if (token < 0) return -1;
    *map_at(&t->character, (uint64_t)code) = token;
    extend_hash(t, HASH_CHARACTER, code);
    t->first_merge = t->text.n;
    return token;
}

static bool may_merge(const Tokenizer *t, int32_t token)
{
    return token >= TOKENIZER_FIRST_BYTE && token < t->text.n &&
           (token < TOKENIZER_FIRST_BYTE + 0x80 || token >= t->first_character);
}

static uint64_t pair_key(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

int32_t tokenizer_add_merge(Tokenizer *t, int32_t left, int32_t right)
{
    if (t->words || !may_merge(t, left) || !may_merge(t, right)) return -1;
    char bytes[2 * TOKENIZER_MAX_BYTES];
    size_t n_left, n_right;
    const char *text = tokenizer_bytes(t, left, &n_left);
    memcpy(bytes, text, n_left);
    text = tokenizer_bytes(t, right, &n_right);
    memcpy(bytes + n_left, text, n_right);
    if (n_left + n_right > TOKENIZER_MAX_BYTES) return -1;
    int32_t token = add(t, bytes, n_left + n_right, t->utf8[left] == NEVER || t->utf8[right] == NEVER ? NEVER : PLAIN);
    if (token < 0) return -1;
    *map_at(&t->merge, pair_key(left, right)) = token;
    ARRAY_RESERVE(t->parts, (size_t)(token - t->first_merge), t->parts_capacity);
    t->parts[token - t->first_merge] = (Merge){left, right};
    extend_hash(t, left, right);
    return token;
}

void tokenizer_set_words(Tokenizer *t)
{
    CHECK(t->first_merge == t->text.n, "a tokenizer has merges");
    t->words = true;
}

int32_t tokenizer_add_word(Tokenizer *t, const char *text, size_t n)
{
    if ((!t->words && t->first_merge != t->text.n) || n > TOKENIZER_MAX_BYTES) return -1;
    if (n < 2 || text[0] != ' ' || !is_solid(text + 1, n - 1)) return -1;
    const int32_t token = add(t, text, n, utf8_of(text, n));
    if (token < 0) return -1;
    t->words = true;
    extend_hash_by_text(t, HASH_WORD, text, n);
    return token;
}

void tokenizer_free(Tokenizer *t)
{
    if (!t) return;
    strings_free(&t->text);
    map_free(&t->character);
    map_free(&t->merge);
    mem_free(t->parts);
    mem_free(t->utf8);
    mem_free(t);
}

/* ---- looking at it ---- */

int32_t tokenizer_size(const Tokenizer *t)
{
    return t->text.n;
}

uint32_t tokenizer_hash(const Tokenizer *t)
{
    return t->hash;
}

const uint8_t *tokenizer_utf8_bytes(const Tokenizer *t)
{
    return t->utf8;
}

const char *tokenizer_bytes(const Tokenizer *t, int32_t token, size_t *n)
{
    return strings_get(&t->text, token, n);
}

bool tokenizer_parts(const Tokenizer *t, int32_t token, int32_t *left, int32_t *right)
{
    if (t->words || token < t->first_merge || token >= t->text.n) return false;
    *left = t->parts[token - t->first_merge].left;
    *right = t->parts[token - t->first_merge].right;
    return true;
}

TokenKind tokenizer_kind(const Tokenizer *t, int32_t token)
{
    if (token < t->first_character) return TOKEN_SYMBOL;
    if (token < t->first_merge) return TOKEN_CHARACTER;
    return t->words ? TOKEN_WORD : TOKEN_MERGE;
}

int32_t tokenizer_character(const Tokenizer *t, int32_t code)
{
    return (int32_t)map_get(&t->character, (uint64_t)code, -1);
}

void tokenizer_show(const Tokenizer *t, int32_t token, Text *out)
{
    size_t n;
    const char *bytes = tokenizer_bytes(t, token, &n);
    if (token < N_SPECIAL) text_append(out, special_names[token], strlen(special_names[token]));
    else if (n == 1 && (uint8_t)bytes[0] >= 0x80) text_append_format(out, "<0x%02X>", (uint8_t)bytes[0]);
    else visible_append(out, bytes, n);
}

int32_t tokenizer_find(const Tokenizer *t, const char *shown, size_t n)
{
    Text text = {0};
    int32_t token = visible_parse(&text, shown, n) ? strings_find(&t->text, text.data, text.n) : -1;
    text_free(&text);
    if (token >= 0) return token;
    for (int i = 0; i < N_SPECIAL; i++)
        if (n == strlen(special_names[i]) && !memcmp(shown, special_names[i], n)) return i;
    for (int byte = 0x80; byte < 0x100; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)byte);
        if (n == strlen(name) && !memcmp(shown, name, n)) return TOKENIZER_FIRST_BYTE + byte;
    }
    return -1;
}

/* ---- encoding ---- */

enum { SLOT_BYTES = 42, SLOT_TOKENS = 20, N_SLOTS = 1 << 15 };

/* A piece and its tokens. */
typedef struct Slot {
    uint8_t n_bytes, n_tokens; /* n_bytes 0: free */
    char bytes[SLOT_BYTES];
    int32_t token[SLOT_TOKENS];
} Slot;

struct TokenizerCache {
    Slot slot[N_SLOTS]; /* by hash; a newcomer takes the place of what was there */
    uint32_t hash;       /* of the tokenizer whose tokens these are */
    Text text;
};

TokenizerCache *tokenizer_cache_new(void)
{
    return mem_zalloc(sizeof(TokenizerCache));
}

void tokenizer_cache_free(TokenizerCache *cache)
{
    if (!cache) return;
    text_free(&cache->text);
    mem_free(cache);
}

void tokenizer_tokens_free(Tokens *tokens)
{
    mem_free(tokens->token);
    *tokens = (Tokens){0};
}

void tokenizer_append(Tokens *out, int32_t token)
{
    ARRAY_RESERVE(out->token, out->n, out->capacity);
    out->token[out->n++] = token;
}

/* A pair that can be merged. The queue gives the earliest-learned first, among equals the leftmost. */
typedef struct Candidate {
    int32_t token; /* that the pair becomes */
    int32_t at;    /* position of its left token */
} Candidate;

/* Which merges are left out. */
typedef struct MergeDropout {
    double probability;
    RandomStream stream;
    uint64_t position; /* in the stream, of the next number */
} MergeDropout;

/* The tokens of one piece while they are merged: a list linked by positions, and a binary heap of candidates. A merge
 * retires one position and adds at most two candidates. */
typedef struct Merging {
    const Tokenizer *tokenizer;
    Candidate left_out[3 * PIECES_MAX_BYTES]; /* until another merge has been made */
    int n_left_out;
    int32_t token[PIECES_MAX_BYTES]; /* -1: merged into the one before it */
    int32_t previous[PIECES_MAX_BYTES], next[PIECES_MAX_BYTES]; /* -1: none */
    Candidate heap[3 * PIECES_MAX_BYTES];
    int n_heap;
} Merging;

static bool sooner(Candidate a, Candidate b)
{
    return a.token != b.token ? a.token < b.token : a.at < b.at;
}

/* What the tokens at `at` and after it become, or -1. */
static int32_t merged_token(const Merging *m, int32_t at)
{
    if (m->token[at] < 0 || m->next[at] < 0) return -1;
    return (int32_t)map_get(&m->tokenizer->merge, pair_key(m->token[at], m->token[m->next[at]]), -1);
}

static void push(Merging *m, Candidate new)
{
    int i = m->n_heap++;
    for (; i > 0 && sooner(new, m->heap[(i - 1) / 2]); i = (i - 1) / 2) m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = new;
}

/* Push the pair that begins here, if it can be merged. */
static void push_pair(Merging *m, int32_t at)
{
    const int32_t token = merged_token(m, at);
    if (token >= 0) push(m, (Candidate){.token = token, .at = at});
}

static Candidate pop(Merging *m)
{
    Candidate first = m->heap[0], last = m->heap[--m->n_heap];
    int i = 0;
    for (int child = 1; child < m->n_heap; child = 2 * i + 1) {
        if (child + 1 < m->n_heap && sooner(m->heap[child + 1], m->heap[child])) child++;
        if (!sooner(m->heap[child], last)) break;
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = last;
    return first;
}

/* The tokens of the piece's characters, those of bytes where a character isn't known. Returns their number. */
static int split(Merging *m, const char *piece, size_t n)
{
    int count = 0;
    for (size_t i = 0; i < n;) {
        int32_t code;
        size_t length = utf8_decode(piece + i, n - i, &code);
        int32_t token = code < 0 ? -1 : tokenizer_character(m->tokenizer, code);
        if (token >= 0) m->token[count++] = token;
        else
            for (size_t k = 0; k < length; k++) m->token[count++] = TOKENIZER_FIRST_BYTE + (uint8_t)piece[i + k];
        i += length;
    }
    return count;
}

/* Make of the pair what it becomes. */
static void merge(Merging *m, Candidate c)
{
    const int32_t right = m->next[c.at];
    m->token[c.at] = c.token;
    m->token[right] = -1;
    m->next[c.at] = m->next[right];
    if (m->next[c.at] >= 0) m->previous[m->next[c.at]] = c.at;
    push_pair(m, c.at);
    if (m->previous[c.at] >= 0) push_pair(m, m->previous[c.at]);
}

/* Is the candidate left out, for now? */
static bool leave_out(Merging *m, MergeDropout *dropout, Candidate c)
{
    if (!dropout || random_uniform(&dropout->stream, dropout->position++) >= dropout->probability) return false;
    m->left_out[m->n_left_out++] = c;
    return true;
}

/* `dropout` may be NULL. */
static void encode_piece(const Tokenizer *t, const char *piece, size_t n, MergeDropout *dropout, Tokens *out)
{
    const int32_t whole = t->words ? strings_find(&t->text, piece, n) : -1;
    if (whole >= 0) {
        tokenizer_append(out, whole);
        return;
    }
    Merging m;
    m.tokenizer = t;
    m.n_heap = m.n_left_out = 0;
    int count = split(&m, piece, n);
    for (int i = 0; i < count; i++) {
        m.previous[i] = i - 1;
        m.next[i] = i + 1 < count ? i + 1 : -1;
    }
    for (int i = 0; i < count; i++) push_pair(&m, i);
    while (m.n_heap) {
        Candidate c = pop(&m);
        if (merged_token(&m, c.at) != c.token) continue; /* one of the two has been merged with another */
        if (leave_out(&m, dropout, c)) continue;
        merge(&m, c);
        while (m.n_left_out) push(&m, m.left_out[--m.n_left_out]);
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): a piece has at least one character */
    for (int32_t i = 0; i >= 0; i = m.next[i]) tokenizer_append(out, m.token[i]);
}

/* The symbol at the start of the text, the longest if there are several: its token without the space, or -1. */
static int32_t symbol_at(const Tokenizer *t, const char *text, size_t n, size_t *length)
{
    int32_t symbol = -1;
    *length = 0;
    if (!t->begins[(uint8_t)text[0]]) return -1;
    for (int32_t i = TOKENIZER_FIRST_CHARACTER; i < t->first_character; i += 2) {
        size_t n_symbol;
        const char *bytes = strings_get(&t->text, i, &n_symbol);
        if (n_symbol <= *length || n_symbol > n || memcmp(bytes, text, n_symbol)) continue;
        symbol = i;
        *length = n_symbol;
    }
    return symbol;
}

/* Find the next symbol. A space before it belongs to it. */
static void find_symbol(PieceCursor *c)
{
    const Tokenizer *t = c->tokenizer;
    c->symbol_at = c->n;
    if (t->first_character == TOKENIZER_FIRST_CHARACTER) return;
    for (size_t i = 0; i < c->n; i++) {
        c->symbol = symbol_at(t, c->text + i, c->n - i, &c->symbol_length);
        if (c->symbol < 0) continue;
        const bool spaced = i && c->text[i - 1] == ' ';
        c->symbol_at = i - spaced;
        c->symbol += spaced;
        c->symbol_length += spaced;
        return;
    }
}

PieceCursor tokenizer_pieces(const Tokenizer *t, const Text *prepared)
{
    PieceCursor cursor = {.tokenizer = t, .text = prepared->data, .n = prepared->n};
    find_symbol(&cursor);
    return cursor;
}

const char *tokenizer_next_piece(PieceCursor *c, size_t *n, int32_t *symbol)
{
    const char *piece = c->text;
    if (!c->n) return NULL;
    const bool is_symbol = !c->symbol_at;
    *symbol = is_symbol ? c->symbol : -1;
    if (is_symbol) *n = c->symbol_length;
    else *n = c->tokenizer->words ? pieces_next_word(piece, c->symbol_at) : pieces_next(piece, c->symbol_at);
    c->text += *n;
    c->n -= *n;
    if (is_symbol) find_symbol(c);
    else c->symbol_at -= *n;
    return piece;
}

void tokenizer_encode(const Tokenizer *t, TokenizerCache *cache, const char *text, size_t length, Tokens *out)
{
    if (cache->hash != t->hash) memset(cache->slot, 0, sizeof cache->slot);
    cache->hash = t->hash;
    pieces_prepare(&cache->text, text, length);
    PieceCursor cursor = tokenizer_pieces(t, &cache->text);
    const char *piece;
    int32_t symbol;
    for (size_t n; (piece = tokenizer_next_piece(&cursor, &n, &symbol));) {
        if (symbol >= 0) {
            tokenizer_append(out, symbol);
            continue;
        }
        if (n > SLOT_BYTES) {
            encode_piece(t, piece, n, NULL, out);
            continue;
        }
        Slot *slot = &cache->slot[strings_hash(piece, n) % N_SLOTS];
        if (slot->n_bytes == n && !memcmp(slot->bytes, piece, n)) {
            for (int i = 0; i < slot->n_tokens; i++) tokenizer_append(out, slot->token[i]);
            continue;
        }
        size_t first = out->n;
        encode_piece(t, piece, n, NULL, out);
        if (out->n - first > SLOT_TOKENS) continue;
        slot->n_bytes = (uint8_t)n;
        slot->n_tokens = (uint8_t)(out->n - first);
        memcpy(slot->bytes, piece, n);
        memcpy(slot->token, out->token + first, (out->n - first) * sizeof *slot->token);
    }
}

void tokenizer_encode_again(const Tokenizer *t, const int32_t *token, size_t n, double probability, const RandomStream *stream,
                            uint32_t place, Text *text, Tokens *out)
{
    MergeDropout dropout = {.probability = probability, .stream = *stream, .position = (uint64_t)place << 32};
    text->n = 0;
    for (size_t i = 0; i < n; i++) {
        size_t length;
        const char *bytes = tokenizer_bytes(t, token[i], &length);
        text_append(text, bytes, length);
    }
    PieceCursor cursor = tokenizer_pieces(t, text);
    const char *piece;
    int32_t symbol;
    for (size_t length; (piece = tokenizer_next_piece(&cursor, &length, &symbol));) {
        if (symbol >= 0) tokenizer_append(out, symbol);
        else encode_piece(t, piece, length, &dropout, out);
    }
}

void tokenizer_decode(const Tokenizer *t, const int32_t *token, size_t n, Text *out)
{
    Text raw = {0};
    for (size_t i = 0; i < n; i++) {
        if (token[i] < N_SPECIAL) continue;
        size_t length;
        const char *bytes = tokenizer_bytes(t, token[i], &length);
        text_append(&raw, bytes, length);
    }
    text_normalize(out, raw.data, raw.n);
    text_free(&raw);
}
