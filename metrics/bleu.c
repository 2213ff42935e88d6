#include "metrics/bleu.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "metrics/ngram.h"
#include "metrics/unicode.h"

/* Tokenization: passes over the whole sentence, one after the other, as mteval-v13a defines it. All the characters that it
 * looks for are ASCII, so the passes go by bytes; only whitespace is Unicode's. */

typedef struct Text {
    char *data;
    size_t n, capacity;
} Text;

static void put(Text *text, const char *data, size_t bytes)
{
    while (text->n + bytes > text->capacity) {
        size_t old = text->capacity;
        text->capacity = old ? 2 * old : 256;
        text->data = mem_resize(text->data, old, text->capacity);
    }
    if (bytes) memcpy(text->data + text->n, data, bytes);
    text->n += bytes;
}

static void put_string(Text *text, const char *string)
{
    put(text, string, strlen(string));
}

static const struct {
    const char *from, *to;
} replacements[] = {
    {"<skipped>", ""}, {"-\n", ""}, {"\n", " "}, {"&quot;", "\""}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"},
};

static void replace(const Text *in, Text *out, const char *from, const char *to)
{
    const char *at = in->data, *end = in->data + in->n, *hit;
    for (size_t bytes = strlen(from); (hit = memmem(at, (size_t)(end - at), from, bytes)); at = hit + bytes) {
        put(out, at, (size_t)(hit - at));
        put_string(out, to);
    }
    put(out, at, (size_t)(end - at));
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_no_digit(char c)
{
    return !is_digit(c);
}

static bool is_point(char c)
{
    return c == '.' || c == ',';
}

static bool is_dash(char c)
{
    return c == '-';
}

/* ASCII punctuation but for ' , - . */
static bool is_symbol(char c)
{
    return c && strchr("!\"#$%&()*+/:;<=>?@[\\]^_`{|}~", c);
}

static void split_symbols(const Text *in, Text *out)
{
    for (size_t i = 0; i < in->n; i++) {
        bool symbol = is_symbol(in->data[i]);
        if (symbol) put(out, " ", 1);
        put(out, &in->data[i], 1);
        if (symbol) put(out, " ", 1);
    }
}

/* Points that don't follow a digit, points that don't precede one, dashes that follow one: set apart by blanks. Pairs are
 * taken from left to right and don't overlap. */
static const struct {
    bool (*first)(char), (*second)(char);
    const char *before, *between, *after;
} pair_rules[] = {
    {is_no_digit, is_point, "", " ", " "},
    {is_point, is_no_digit, " ", " ", ""},
    {is_digit, is_dash, "", " ", " "},
};

static void split_pairs(const Text *in, Text *out, size_t rule)
{
    for (size_t i = 0; i < in->n; i++) {
        const char *c = &in->data[i];
        if (i + 1 == in->n || !pair_rules[rule].first(c[0]) || !pair_rules[rule].second(c[1])) {
            put(out, c, 1);
            continue;
        }
        put_string(out, pair_rules[rule].before);
        put(out, c, 1);
        put_string(out, pair_rules[rule].between);
        put(out, c + 1, 1);
        put_string(out, pair_rules[rule].after);
        i++;
    }
}

/* The next pass reads what the last one wrote. */
static void swap(Text *in, Text *out)
{
    Text old = *in;
    *in = *out;
    *out = old;
    out->n = 0;
}

/* The text after all passes; tokens are what lies between whitespace. Free .data with mem_free. */
static Text set_apart(const char *text, size_t bytes)
{
    Text in = {0}, out = {0};
    put(&in, text, unicode_trimmed(text, bytes));
    for (size_t i = 0; i < sizeof replacements / sizeof *replacements; i++) {
        if (!in.n || !memmem(in.data, in.n, replacements[i].from, strlen(replacements[i].from))) continue;
        replace(&in, &out, replacements[i].from, replacements[i].to);
        swap(&in, &out);
    }
    put_string(&out, " ");
    put(&out, in.data, in.n);
    put_string(&out, " ");
    swap(&in, &out);
    split_symbols(&in, &out);
    swap(&in, &out);
    for (size_t i = 0; i < sizeof pair_rules / sizeof *pair_rules; i++) {
        split_pairs(&in, &out, i);
        swap(&in, &out);
    }
    mem_free(out.data);
    return in;
}

/* The token at or after *at, its length in *bytes; moves *at behind it. NULL if there is none. */
static const char *next_token(const Text *text, size_t *at, size_t *bytes)
{
    const char *token = NULL;
    uint32_t character;
    while (*at < text->n) {
        size_t n = unicode_next(text->data + *at, text->n - *at, &character);
        bool space = unicode_is_space(character);
        if (space && token) break;
        if (!space && !token) token = text->data + *at;
        *at += n;
    }
    if (token) *bytes = (size_t)(text->data + *at - token);
    return token;
}

char *bleu_tokenize(const char *text, size_t bytes)
{
    Text apart = set_apart(text, bytes), joined = {0};
    const char *token;
    size_t at = 0, token_bytes;
    while ((token = next_token(&apart, &at, &token_bytes))) {
        if (joined.n) put(&joined, " ", 1);
        put(&joined, token, token_bytes);
    }
    put(&joined, "", 1);
    mem_free(apart.data);
    return joined.data;
}

/* Counting: the tokens of both sentences become numbers, equal for equal tokens. */

typedef struct Token {
    const char *text;
    size_t bytes, place;
} Token;

typedef struct Tokens {
    Token *token;
    size_t n, capacity;
} Tokens;

static void collect(const Text *text, Tokens *tokens)
{
    const char *token;
    size_t at = 0, bytes;
    while ((token = next_token(text, &at, &bytes))) {
        ARRAY_RESERVE(tokens->token, tokens->n, tokens->capacity);
        tokens->token[tokens->n] = (Token){token, bytes, tokens->n};
        tokens->n++;
    }
}

static int compare_tokens(const void *a, const void *b)
{
    const Token *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    return memcmp(x->text, y->text, x->bytes);
}

static uint32_t *number_tokens(Tokens *tokens)
{
    uint32_t *number = mem_alloc(tokens->n * sizeof *number), last = 0;
    if (tokens->n) qsort(tokens->token, tokens->n, sizeof *tokens->token, compare_tokens);
    for (size_t i = 0; i < tokens->n; i++) {
        if (i && compare_tokens(&tokens->token[i - 1], &tokens->token[i])) last++;
        number[tokens->token[i].place] = last;
    }
    return number;
}

static size_t distance(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

void bleu_add_references(Bleu *bleu, const char *hypothesis, size_t hypothesis_bytes, const char *const *reference,
                         const size_t *reference_bytes, int n)
{
    Text *text = mem_alloc(((size_t)n + 1) * sizeof *text); /* the hypothesis, then the references */
    size_t *length = mem_alloc((size_t)n * sizeof *length), n_hypothesis, closest = 0;
    const uint32_t **symbols = mem_alloc((size_t)n * sizeof *symbols);
    Tokens tokens = {0};
    text[0] = set_apart(hypothesis, hypothesis_bytes);
    collect(&text[0], &tokens);
    n_hypothesis = tokens.n;
    for (int r = 0; r < n; r++) {
        const size_t before = tokens.n;
        text[r + 1] = set_apart(reference[r], reference_bytes[r]);
        collect(&text[r + 1], &tokens);
        length[r] = tokens.n - before;
        const size_t apart = distance(length[r], n_hypothesis), least = distance(closest, n_hypothesis);
        if (!r || apart < least || (apart == least && length[r] < closest)) closest = length[r];
    }
    uint32_t *number = number_tokens(&tokens);
    const uint32_t *at = number + n_hypothesis;
    for (int r = 0; r < n; at += length[r++]) symbols[r] = at;

    ngram_add_best_matches(number, n_hypothesis, symbols, length, n, BLEU_ORDER, bleu->match);
    for (int k = 1; k <= BLEU_ORDER; k++) bleu->total[k - 1] += ngram_count(n_hypothesis, k);
    bleu->hypothesis_length += n_hypothesis;
    bleu->reference_length += closest;

    mem_free(number);
    mem_free(tokens.token);
    mem_free(symbols);
    mem_free(length);
    for (int r = 0; r <= n; r++) mem_free(text[r].data);
    mem_free(text);
}

void bleu_add(Bleu *bleu, const char *hypothesis, size_t hypothesis_bytes, const char *reference, size_t reference_bytes)
{
    bleu_add_references(bleu, hypothesis, hypothesis_bytes, &reference, &reference_bytes, 1);
}

char *bleu_signature(int n_references)
{
    return mem_format("BLEU|nrefs:%d|case:mixed|eff:no|tok:13a|smooth:exp|version:ferry-" FERRY_VERSION, n_references);
}

static double brevity_penalty(double hypothesis_length, double reference_length)
{
    if (hypothesis_length >= reference_length) return 1;
    return hypothesis_length > 0 ? exp(1 - reference_length / hypothesis_length) : 0;
}

BleuScore bleu_score(const Bleu *bleu)
{
    BleuScore score = {.brevity_penalty = brevity_penalty((double)bleu->hypothesis_length, (double)bleu->reference_length)};
    if (!bleu->match[0]) return score; /* no token in common, so no n-gram either */
    double smooth = 1, sum = 0;
    for (int i = 0; i < BLEU_ORDER; i++) {
        double match = (double)bleu->match[i], total = (double)bleu->total[i];
        if (!bleu->total[i]) return score; /* no hypothesis is long enough: the geometric mean is 0 */
        if (!bleu->match[i]) smooth *= 2;
        score.precision[i] = bleu->match[i] ? 100 * match / total : 100 / (smooth * total);
        sum += log(score.precision[i]);
    }
    score.score = score.brevity_penalty * exp(sum / BLEU_ORDER);
    return score;
}
