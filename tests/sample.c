#include "tests/sample.h"

#include "core/random.h"

void sample_normal(uint64_t seed, double deviation, size_t n, real *out)
{
    RandomStream stream = random_stream(seed, RANDOM_TEST, 1, 0);
    for (size_t i = 0; i < n; i++) out[i] = (real)(deviation * random_normal(&stream, i));
}

/* Sentences of `tokens` with `before` (or 0) put in front, `after` (or 0) behind. */
static Ragged with_ends(Arena *arena, const Ragged *tokens, int32_t before, int32_t after)
{
    const int extra = (before > 0) + (after > 0), n = tokens->n_seq, n_tokens = tokens->n_tokens + extra * n;
    int32_t *start = arena_alloc(arena, ((size_t)n + 1) * sizeof *start);
    int32_t *token = arena_alloc(arena, (size_t)n_tokens * sizeof *token);
    int at = 0;
    for (int s = 0; s < n; s++) {
        start[s] = at;
        if (before) token[at++] = before;
        for (int i = tokens->start[s]; i < tokens->start[s + 1]; i++) token[at++] = tokens->token[i];
        if (after) token[at++] = after;
    }
    start[n] = at;
    return (Ragged){.n_seq = n, .n_tokens = n_tokens, .start = start, .token = token};
}

static Ragged sentences(Arena *arena, const RandomStream *stream, int n_seq, int shortest, int longest, int vocab_size)
{
    int32_t *start = arena_alloc(arena, ((size_t)n_seq + 1) * sizeof *start);
    uint64_t position = 0;
    start[0] = 0;
    for (int s = 0; s < n_seq; s++)
        start[s + 1] = start[s] + shortest + (int32_t)random_below(stream, position++, (uint32_t)(longest - shortest + 1));
    const int n_tokens = start[n_seq];
    int32_t *token = arena_alloc(arena, (size_t)n_tokens * sizeof *token);
    for (int i = 0; i < n_tokens; i++)
        token[i] = N_SPECIAL + (int32_t)random_below(stream, position++, (uint32_t)(vocab_size - N_SPECIAL));
    return (Ragged){.n_seq = n_seq, .n_tokens = n_tokens, .start = start, .token = token};
}

Batch sample_batch(Arena *arena, uint64_t seed, int n_seq, int shortest, int longest, int vocab_size)
{
    const RandomStream source = random_stream(seed, RANDOM_TEST, 2, 0), target = random_stream(seed, RANDOM_TEST, 2, 1);
    const Ragged from = sentences(arena, &source, n_seq, shortest, longest, vocab_size);
    const Ragged to = sentences(arena, &target, n_seq, shortest, longest, vocab_size);
    return (Batch){.source = with_ends(arena, &from, 0, TOKEN_EOS), .target = with_ends(arena, &to, TOKEN_BOS, 0),
                   .label = with_ends(arena, &to, 0, TOKEN_EOS).token};
}

Ragged sample_sentence(Arena *arena, const Ragged *ragged, int s)
{
    const int32_t first = ragged->start[s], n = ragged->start[s + 1] - first;
    int32_t *start = arena_alloc(arena, 2 * sizeof *start);
    start[0] = 0;
    start[1] = n;
    return (Ragged){.n_seq = 1, .n_tokens = n, .start = start, .token = ragged->token + first};
}

Model *sample_model(const ModelConfig *config, uint64_t seed, bool gradients)
{
    Model *model = model_new(config, gradients);
    model_init(model, seed);
    real *noise = mem_alloc(model->params.size * sizeof *noise);
    sample_normal(seed, 0.1, model->params.size, noise);
    for (size_t i = 0; i < model->params.size; i++) model->params.value[i] += noise[i];
    mem_free(noise);
    return model;
}
