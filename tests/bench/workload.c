#include "tests/bench/workload.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "core/random.h"

/* ---- options ---- */

typedef struct Shape {
    const char *name, *config, *changes;
} Shape;

static const Shape shapes[] = {
    {"toy", "configs/toy.ini", ""},
    {"multi30k", "configs/multi30k.ini", "train.precision=fp32"},
    {"base", "configs/base.ini", "data.vocab_size=10000 train.accumulate=1"}, /* as the peer's base model */
};

/* "key=value key=value"; `source` is named in errors. */
static bool apply(Options *options, const char *settings, const char *source, Error *error)
{
    char *text = mem_string(settings), *rest = text, *word;
    bool good = true;
    while (good && (word = strtok_r(rest, " \t\n", &rest))) {
        char *equals = strchr(word, '=');
        if (!equals) {
            good = error_usage(error, "%s: '%s' is not of the form section.key=value", source, word);
            break;
        }
        *equals = '\0';
        good = options_set(options, "train", word, equals + 1, error) || error_context(error, "%s", source);
    }
    mem_free(text);
    return good;
}

bool workload_options(Options *options, const char *shape, Error *error)
{
    const char *config = shape, *changes = "", *precision = getenv("PRECISION"), *set = getenv("SET");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (!strcmp(shapes[i].name, shape)) {
            config = shapes[i].config;
            changes = shapes[i].changes;
        }
    options_init(options);
    bool good = (options_read(options, config, error) && apply(options, changes, shape, error)) ||
                error_context(error, "SHAPES (toy, multi30k, base, or configuration files)");
    if (good && precision && *precision) {
        good = options_set(options, "", "train.precision", precision, error) || error_context(error, "PRECISION");
    }
    good = good && (!set || apply(options, set, "SET", error)) && options_check(options, error);
    if (!good) options_free(options);
    return good;
}

/* ---- words and sentences ---- */

Tokenizer *workload_tokenizer(int size)
{
    Tokenizer *tokenizer = tokenizer_new();
    /* Every run of letters comes from the one without its last letter, so no two are the same text. */
    int32_t letters = TOKENIZER_FIRST_BYTE + 'a', before = letters;
    for (int32_t last = letters + 25; tokenizer_size(tokenizer) < size;) {
        for (int letter = 0; letter < 26 && tokenizer_size(tokenizer) < size; letter++)
            CHECK(tokenizer_add_merge(tokenizer, before, letters + letter) >= 0, "no token %d", tokenizer_size(tokenizer));
        before = before == last ? TOKENIZER_FIRST_CHARACTER : before + 1;
    }
    return tokenizer;
}

static int draw_length(const RandomStream *stream, uint32_t place, Lengths lengths)
{
    const double length = lengths.mean + lengths.deviation * random_normal(stream, place);
    return length < 3 ? 3 : (int)length;
}

/* A sentence of `length` tokens; free with mem_free. */
static int32_t *random_sentence(RandomStream words, int vocab_size, int length)
{
    int32_t *token = mem_alloc((size_t)length * sizeof *token);
    for (int i = 0; i < length; i++)
        token[i] = N_SPECIAL + (int32_t)random_below(&words, (uint64_t)i, (uint32_t)(vocab_size - N_SPECIAL));
    return token;
}

Bitext workload_bitext(int vocab_size, Lengths lengths, int64_t tokens)
{
    Bitext bitext = bitext_new(vocab_size);
    const RandomStream stream = random_stream(1, RANDOM_TEST, 1, 0);
    BitextCounts *c = &bitext.counts;
    bitext_add_part(&bitext, 1);
    for (uint32_t pair = 0; c->n_tokens_source < tokens || c->n_tokens_target < tokens; pair++) {
        const int source = draw_length(&stream, 2 * pair, lengths), target = draw_length(&stream, 2 * pair + 1, lengths);
        int32_t *x = random_sentence(random_stream(1, RANDOM_TEST, 2, pair), vocab_size, source);
        int32_t *y = random_sentence(random_stream(1, RANDOM_TEST, 3, pair), vocab_size, target - 1);
        x[source - 1] = TOKEN_EOS;
        bitext_append(&bitext, x, (size_t)source, y, (size_t)target - 1);
        mem_free(x);
        mem_free(y);
        c->n_pairs++;
        c->n_tokens_source += source;
        c->n_tokens_target += target;
    }
    c->n_lines = c->n_pairs;
    return bitext;
}

/* ---- operations and bytes ---- */

void workload_count(Counts *counts, const Batch *batch)
{
    counts->source += batch->source.n_tokens;
    counts->target += batch->target.n_tokens;
    for (int s = 0; s < batch->source.n_seq; s++) {
        const double n = batch->source.start[s + 1] - batch->source.start[s],
                     m = batch->target.start[s + 1] - batch->target.start[s];
        counts->source_pairs += n * n;
        counts->target_pairs += m * (m + 1) / 2;
        counts->cross_pairs += n * m;
    }
}

Counts workload_scaled(Counts c, double factor)
{
    return (Counts){c.source * factor, c.target * factor, c.source_pairs * factor, c.target_pairs * factor,
                    c.cross_pairs * factor};
}

/* Operations of the forward products; backward has two for each. */
static double linear_operations(const ModelConfig *c, const Counts *n)
{
    const double d = c->d_model, f = c->d_ff;
    return 2 * (c->encoder_layers * n->source * (4 * d * d + 2 * d * f) +
                c->decoder_layers * (n->target * (6 * d * d + 2 * d * f) + n->source * 2 * d * d));
}

static double attention_operations(const ModelConfig *c, const Counts *n)
{
    return 2 * 2 * (double)c->d_model *
           (c->encoder_layers * n->source_pairs + c->decoder_layers * (n->target_pairs + n->cross_pairs));
}

static double projection_operations(const ModelConfig *c, const Counts *n)
{
    return 2 * n->target * c->d_model * c->vocab_size;
}

double workload_operations(const ModelConfig *c, const Counts *n)
{
    return 3 * (linear_operations(c, n) + attention_operations(c, n) + projection_operations(c, n));
}

/* Elements of all of an op's results that are [tokens, d_model] (or d_ff, for activation) */
static double embedded(const ModelConfig *c, const Counts *n)
{
    return (n->source + n->target) * c->d_model;
}

static double activated(const ModelConfig *c, const Counts *n)
{
    return (c->encoder_layers * n->source + c->decoder_layers * n->target) * c->d_ff;
}

static double summed(const ModelConfig *c, const Counts *n)
{
    return (2 * c->encoder_layers * n->source + 3 * c->decoder_layers * n->target) * c->d_model;
}

static double projected(const ModelConfig *c, const Counts *n)
{
    return (n->target + c->vocab_size) * (double)c->d_model;
}

/* Operations: how many times those of the forward products each direction has. Bytes: how many elements are read or written
 * for each element of the result (a gradient that is added to counts twice). */
static const struct OpWork {
    const OpDef *op;
    double (*operations)(const ModelConfig *c, const Counts *n);
    double times[2];
    double (*elements)(const ModelConfig *c, const Counts *n);
    double accesses[2];
} op_works[] = {
    {&op_linear, linear_operations, {1, 2}, NULL, {0, 0}},
    {&op_attention, attention_operations, {1, 2}, NULL, {0, 0}},
    {&op_projection_loss, projection_operations, {3, 0}, projected, {0, 3}}, /* forward computes the gradients */
    {&op_embedding, NULL, {0, 0}, embedded, {2, 3}},
    {&op_activation, NULL, {0, 0}, activated, {2, 4}},
    {&op_residual_norm, NULL, {0, 0}, summed, {4, 8}},
    {&op_layer_norm, NULL, {0, 0}, embedded, {2, 4}},
};

Work workload_of(const OpDef *op, bool backward, const ModelConfig *config, const Counts *counts)
{
    Work work = {0, 0};
    for (size_t i = 0; i < sizeof op_works / sizeof *op_works; i++) {
        const struct OpWork *w = &op_works[i];
        if (w->op != op) continue;
        if (w->operations) work.operations = w->times[backward] * w->operations(config, counts);
        if (w->elements) work.bytes = w->accesses[backward] * w->elements(config, counts) * sizeof(real);
    }
    return work;
}
