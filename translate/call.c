#include "translate/call.h"

#include <inttypes.h>

#include "core/threads.h"
#include "model/beam.h"
#include "translate/scorer.h"
#include "translate/tokens.h"

Text call_line(const Side *side, size_t i)
{
    const char *line = side->line[i] ? side->line[i] : "";
    return (Text){.data = (char *)line, .n = side->length ? side->length[i] : strlen(line)};
}

static int64_t number_of(const Call *call, size_t i)
{
    return (call->options.first_line ? call->options.first_line : 1) + (int64_t)i;
}

static const char *name_of(const Call *call, const Side *side)
{
    return side == &call->source ? call->name : call->other_name;
}

/* Put the name and the line before the message. Returns false. */
static bool at_line(Call *call, const Side *side, size_t i)
{
    call->at = (int64_t)i;
    return error_context(&call->error, "%s, line %" PRId64, name_of(call, side), number_of(call, i));
}

int call_stopped(void *context)
{
    Call *call = context;
    return atomic_load_explicit(&call->cancelled, memory_order_relaxed);
}

static void progress(void *context, size_t n_done, size_t n)
{
    Call *call = context;
    atomic_store_explicit(&call->n_to_do, n, memory_order_relaxed);
    atomic_store_explicit(&call->n_done, n_done, memory_order_relaxed);
}

/* ---- what is given ---- */

/* The translator of this call's context. */
static Translator *set_up(Call *call)
{
    Translator *t = &call->context->translator;
    const ferry_model *model = call->model;
    if (!call->context->ready && model->ensemble.n) ensemble_translator(&model->ensemble, t);
    else if (!call->context->ready) *t = (Translator){.tokenizer = model->tokenizer, .cache = tokenizer_cache_new()};
    call->context->ready = true;
    t->stop = call_stopped;
    t->progress = progress;
    t->stop_context = t->progress_context = call;
    t->aligns = call->options.alignments != 0;
    t->scores = call->options.token_scores != 0;
    threads_set(model->description.threads);
    return t;
}

/* Only what concerns one call alone may be set for it. */
static bool check_settings(const OptionSettings *settings, Error *error)
{
    for (int i = 0; i < settings->n; i++) {
        const char *key = options_full_key("decode", settings->setting[i].key);
        if (!key) continue; /* options_set knows what to say */
        if (strncmp(key, "decode.", 7) || !strcmp(key, "decode.weights") || !strcmp(key, "decode.precision"))
            return error_usage(error, "%s can't be set for a call; set it when the model is opened", key);
    }
    return true;
}

static bool set_options(Call *call, Options *options)
{
    OptionSettings settings = {.home = "decode"};
    Error *error = &call->error;
    bool good = library_settings_parse(&settings, call->options.settings, error) && check_settings(&settings, error);
    for (int i = 0; i < settings.n && good; i++)
        good = options_set(options, "decode", settings.setting[i].key, settings.setting[i].value, error);
    library_settings_free(&settings);
    return good;
}

static bool set_n_best(Call *call)
{
    SearchOptions *search = &call->context->translator.limits;
    const size_t n = call->options.n_best;
    if (n <= 1) return true;
    if (search->sample)
        return error_usage(&call->error, "n_best lists what beam search finds; it doesn't go with decode.sample = yes");
    if (n > (size_t)search->beam_size)
        return error_usage(&call->error,
                           "n_best = %zu: a beam of %d finds at most so many translations; set decode.beam to %zu or more",
                           n, search->beam_size, n);
    search->n_best = search->beam_size; /* some may have the same text */
    return true;
}

static bool set_up_search(Call *call)
{
    if (!call->model->ensemble.n)
        return error_usage(&call->error, "this is a tokenizer alone (tokenizer_only): it can't translate or score");
    Translator *t = set_up(call);
    Options options;
    options_copy(&options, &call->model->ensemble.run[0].options);
    const bool good = set_options(call, &options);
    if (good) {
        t->limits = translator_search_options(&options, t->tokenizer);
        t->max_source = (int)options.decode_max_source;
        t->batch_tokens = (int)options.decode_batch_tokens;
    }
    options_free(&options);
    return good && set_n_best(call);
}

/* The tokens of a line. Special ones can't be given for what is to be translated. */
static bool read_tokens(Call *call, const Side *side, size_t i, bool special, Tokens *tokens)
{
    const Translator *t = &call->context->translator;
    const Text line = call_line(side, i);
    tokens->n = 0;
    if (!call->options.tokenized) {
        tokenizer_encode(t->tokenizer, t->cache, line.data, line.n, tokens);
        return true;
    }
    bool good = tokens_read(t->tokenizer, line.data, line.n, tokens, &call->error);
    for (size_t k = 0; k < tokens->n && good && !special; k++)
        if (tokens->token[k] < N_SPECIAL)
            good = error_set(&call->error, "<s>, </s> and <pad> stand for no text and can't be translated");
    return good || at_line(call, side, i);
}

/* ---- what comes out ---- */

/* Room for the translations of a line; none yet. */
static ResultLine *begin_line(Call *call, size_t i, size_t most)
{
    ResultLine *line = &call->result->line[i];
    line->translation = arena_alloc(&call->result->arena, most * sizeof *line->translation);
    return line;
}

/* Text and tokens of a translation, into the call's. */
static void show(Call *call, const int32_t *token, size_t n)
{
    const Tokenizer *tokenizer = call->model->tokenizer;
    call->text.n = call->shown.n = 0;
    tokenizer_decode(tokenizer, token, n, &call->text);
    tokens_show(tokenizer, token, n, &call->shown);
}

static bool is(const char *text, const Text *wanted)
{
    return strlen(text) == wanted->n && (!wanted->n || !memcmp(text, wanted->data, wanted->n));
}

/* Is what the call shows in the line already? Text may hold a NUL, tokens can't. */
static bool among(const Call *call, const ResultLine *line)
{
    const Text *text = &call->text;
    for (size_t i = 0; i < line->n; i++) {
        const ferry_translation *t = &line->translation[i];
        if (call->options.distinct_tokens) {
            if (is(t->tokens, &call->shown)) return true;
        } else if (t->length == text->n && (!text->n || !memcmp(t->text, text->data, text->n))) {
            return true;
        }
    }
    return false;
}

/* One more translation: what the call shows. */
static ferry_translation *add(Call *call, ResultLine *line, size_t n_tokens, size_t n_source)
{
    ferry_translation *t = &line->translation[line->n++];
    *t = (ferry_translation){.size = sizeof *t, .length = call->text.n, .n_tokens = n_tokens, .n_source = n_source};
    t->text = result_text(call->result, call->text.data, call->text.n);
    t->tokens = result_text(call->result, call->shown.data, call->shown.n);
    return t;
}

static const double *copy_scores(Call *call, const double *score, size_t n)
{
    return memcpy(arena_alloc(&call->result->arena, n * sizeof *score), score, n * sizeof *score);
}

static const float *copy_alignment(Call *call, const real *weight, size_t n)
{
    float *copy = arena_alloc(&call->result->arena, n * sizeof *copy);
    for (size_t i = 0; i < n; i++) copy[i] = (float)weight[i];
    return copy;
}

static void take_translated(void *context, const Translated *translated)
{
    Call *call = context;
    MemScope *own = mem_switch(&call->result->scope);
    const size_t most = call->options.n_best > 1 ? call->options.n_best : 1, n_source = (size_t)translated->n_source;
    ResultLine *line = begin_line(call, translated->index, most);
    size_t place = 0;
    for (const Translation *t = translated->best; t && line->n < most; t = t->next, place++) {
        const size_t n = (size_t)t->n;
        show(call, t->token, n);
        if (among(call, line)) continue;
        ferry_translation *out = add(call, line, n, n_source);
        out->log_probability = t->log_probability;
        out->score = t->score;
        if (translated->score) out->token_scores = copy_scores(call, translated->score[place], n + 1);
        if (translated->weight) out->alignment = copy_alignment(call, translated->weight[place], (n + 1) * n_source);
    }
    mem_switch(own);
}

static void take_scored(void *context, const Scored *scored)
{
    Call *call = context;
    MemScope *own = mem_switch(&call->result->scope);
    const size_t n = (size_t)scored->n - 1;
    show(call, scored->token, n);
    ferry_translation *out = add(call, begin_line(call, scored->index, 1), n, (size_t)scored->n_source);
    out->log_probability = scored->log_probability;
    out->score = scored->log_probability / call->norm[scored->n];
    if (call->options.token_scores) out->token_scores = copy_scores(call, scored->score, n + 1);
    mem_switch(own);
}

/* A line with the text that the call shows, and nothing more. */
static void take_text(Call *call, size_t i, size_t n_tokens)
{
    MemScope *own = mem_switch(&call->result->scope);
    add(call, begin_line(call, i, 1), n_tokens, 0);
    mem_switch(own);
}

/* ---- the work ---- */

bool call_translate(Call *call)
{
    if (!set_up_search(call)) return false;
    Translator *t = &call->context->translator;
    const Side prefixes = {call->options.prefixes, call->options.prefix_lengths};
    const int32_t n_tokens = tokenizer_size(t->tokenizer);
    Sequences source = sequences_new(n_tokens), prefix = sequences_new(n_tokens);
    Tokens tokens = {0};
    bool good = true;
    for (size_t i = 0; i < call->n && good && !call_stopped(call); i++) {
        good = read_tokens(call, &call->source, i, false, &tokens);
        if (good) translator_append(t, &tokens, call->name, number_of(call, i), &source);
        if (!good || !prefixes.line) continue;
        good = read_tokens(call, &prefixes, i, false, &tokens);
        if (good) sequences_append(&prefix, tokens.token, tokens.n);
    }
    good = good && (call_stopped(call) || translator_run(t, &source, prefixes.line ? &prefix : NULL, number_of(call, 0),
                                                 take_translated, call));
    call->text.n = call->shown.n = 0;
    for (size_t i = 0; i < call->n && good; i++)
        if (!call->result->line[i].n) take_text(call, i, 0); /* a blank line */
    tokenizer_tokens_free(&tokens);
    sequences_free(&source);
    sequences_free(&prefix);
    return good;
}

bool call_score(Call *call)
{
    if (!set_up_search(call)) return false;
    Translator *t = &call->context->translator;
    const int32_t n_tokens = tokenizer_size(t->tokenizer);
    Sequences source = sequences_new(n_tokens), target = sequences_new(n_tokens);
    Tokens tokens = {0};
    Arena arena = {0};
    int32_t longest = 0;
    bool good = true;
    for (size_t i = 0; i < call->n && good && !call_stopped(call); i++) {
        good = read_tokens(call, &call->source, i, true, &tokens);
        if (good) translator_append(t, &tokens, call->name, number_of(call, i), &source);
        good = good && read_tokens(call, &call->target, i, true, &tokens);
        if (good) translator_append(t, &tokens, call->other_name, number_of(call, i), &target);
        if (good && sequences_length(&target, i) > longest) longest = sequences_length(&target, i);
    }
    call->norm = beam_norms(&arena, &t->limits, longest);
    good = good && (call_stopped(call) || scorer_run(t, &source, &target, take_scored, call));
    arena_free(&arena);
    tokenizer_tokens_free(&tokens);
    sequences_free(&source);
    sequences_free(&target);
    return good;
}

bool call_tokenize(Call *call)
{
    const Translator *t = set_up(call);
    Tokens tokens = {0};
    for (size_t i = 0; i < call->n && !call_stopped(call); i++) {
        const Text line = call_line(&call->source, i);
        tokens.n = call->text.n = call->shown.n = 0;
        tokenizer_encode(t->tokenizer, t->cache, line.data, line.n, &tokens);
        tokens_show(t->tokenizer, tokens.token, tokens.n, &call->text);
        take_text(call, i, tokens.n);
        progress(call, i + 1, call->n);
    }
    tokenizer_tokens_free(&tokens);
    return true;
}

bool call_detokenize(Call *call)
{
    const Translator *t = set_up(call);
    Tokens tokens = {0};
    bool good = true;
    for (size_t i = 0; i < call->n && good && !call_stopped(call); i++) {
        const Text line = call_line(&call->source, i);
        tokens.n = call->text.n = call->shown.n = 0;
        good = tokens_read(t->tokenizer, line.data, line.n, &tokens, &call->error) || at_line(call, &call->source, i);
        if (!good) break;
        tokenizer_decode(t->tokenizer, tokens.token, tokens.n, &call->text);
        take_text(call, i, tokens.n);
        progress(call, i + 1, call->n);
    }
    tokenizer_tokens_free(&tokens);
    return good;
}
