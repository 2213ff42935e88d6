#include "translate/library.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/matmul.h"
#include "core/threads.h"
#include "system/number.h"
#include "translate/abi.h"
#include "translate/tokens.h"

const char *ferry_version(void)
{
    return FERRY_VERSION;
}

void warnings_take(void *context, const char *text)
{
    Warnings *warnings = context;
    MemScope *own = mem_switch(warnings->scope);
    ARRAY_RESERVE(warnings->text, warnings->n, warnings->capacity);
    warnings->text[warnings->n] = mem_string(text);
    warnings->n++;
    mem_switch(own);
}

/* ---- contexts ---- */

Context *context_take(ferry_model *model, ferry_error *error)
{
    pthread_mutex_lock(&model->lock);
    Context *context = model->idle;
    if (context) model->idle = context->next;
    pthread_mutex_unlock(&model->lock);
    if (context) return context;
    context = calloc(1, sizeof *context);
    if (context) context->hand = hand_new();
    if (context && context->hand) return context;
    free(context);
    abi_error(error, FERRY_NO_MEMORY, -1, "there is no memory, or no thread, for another call");
    return NULL;
}

void context_give(ferry_model *model, Context *context)
{
    pthread_mutex_lock(&model->lock);
    context->next = model->idle;
    model->idle = context;
    pthread_mutex_unlock(&model->lock);
}

void context_forget(Context *context)
{
    mem_scope_free(&context->scope);
    context->ready = false;
}

/* ---- settings ---- */

void library_settings_add(OptionSettings *settings, const char *key, const char *value)
{
    ARRAY_RESERVE(settings->setting, settings->n, settings->capacity);
    settings->setting[settings->n] = (OptionSetting){.key = mem_string(key), .value = value};
    settings->n++;
}

bool library_settings_parse(OptionSettings *settings, const char *const *texts, Error *error)
{
    for (; texts && *texts; texts++) {
        const char *equals = strchr(*texts, '=');
        if (!equals) return error_usage(error, "the setting '%s': expected section.key=value", *texts);
        char *key = mem_format("%.*s", (int)(equals - *texts), *texts);
        library_settings_add(settings, key, equals + 1);
        mem_free(key);
    }
    return true;
}

void library_settings_free(OptionSettings *settings)
{
    for (int i = 0; i < settings->n; i++) mem_free(settings->setting[i].key);
    mem_free(settings->setting);
    *settings = (OptionSettings){0};
}

/* ---- opening ---- */

/* One ferry_open. */
typedef struct Opening {
    ferry_model *model;
    const char *const *names;
    size_t n;
    ferry_open_options options;
    bool good, lacked;
    size_t wanted; /* bytes that lacked */
    Error error;
} Opening;

/* What a description tells of the models; its texts are the model's. */
static void describe(ferry_model *model)
{
    static const char *const precisions[] = {"fp32", "bf16", "int8"};
    ferry_description *d = &model->description;
    Run *first = &model->ensemble.run[0];
    const ModelConfig *config = &first->model->config;
    const Options *o = &first->options;
    const Precision wanted = (Precision)o->decode_precision,
                    precision = matmul_can(&first->compute, wanted) ? wanted : PRECISION_FP32;
    char kernel[COMPUTE_NAME];
    d->n_models = model->ensemble.n;
    d->d_model = config->d_model;
    d->d_ff = config->d_ff;
    d->heads = config->heads;
    d->encoder_layers = config->encoder_layers;
    d->decoder_layers = config->decoder_layers;
    d->threads = threads_count();
    for (int i = 0; i < model->ensemble.n; i++) d->n_parameters += (int64_t)model->ensemble.model[i]->params.size;
    d->step = first->checkpoint.state.step;
    d->precision = precisions[precision];
    d->kernel = mem_string(compute_name(&first->compute, precision, kernel));
    d->symbols = o->data_symbols;
    d->source = o->data_train_source;
    d->target = o->data_train_target;
    d->options = options_to_long_text(o);
}

static bool open_models(Opening *opening)
{
    ferry_model *model = opening->model;
    OptionSettings settings = {.home = "decode"};
    char threads[NUMBER_SIZE];
    if (!library_settings_parse(&settings, opening->options.settings, &opening->error)) return false;
    if (opening->options.precision) library_settings_add(&settings, "decode.precision", opening->options.precision);
    if (opening->options.threads)
        library_settings_add(&settings, "train.threads", number_write_real(threads, opening->options.threads));
    const bool good = ensemble_open(&model->ensemble, opening->names, (int)opening->n, &settings, &opening->error);
    library_settings_free(&settings);
    if (!good) return false;
    model->tokenizer = model->ensemble.run[0].tokenizer;
    describe(model);
    /* The weights are in memory: the files may go. */
    for (int i = 0; i < model->ensemble.n; i++) checkpoint_close(&model->ensemble.run[i].checkpoint);
    return true;
}

static void open_all(void *context)
{
    Opening *opening = context;
    ferry_model *model = opening->model;
    model->description.precision = model->description.kernel = model->description.symbols = model->description.source =
        model->description.target = model->description.options = "";
    if (opening->options.tokenizer_only) {
        model->tokenizer = tokens_open(opening->names[0], &opening->error);
        opening->good = model->tokenizer != NULL;
    } else {
        opening->good = open_models(opening);
    }
    if (opening->good) model->description.vocab_size = tokenizer_size(model->tokenizer);
}

static void open_by_hand(void *context)
{
    Opening *opening = context;
    const WarningSink sink = {.take = warnings_take, .context = &opening->model->warnings};
    warnings_to(&sink);
    opening->lacked = !mem_run(&opening->model->scope, open_all, opening, &opening->wanted);
    if (opening->lacked) opening->good = false;
    warnings_to(NULL);
}

static bool check_arguments(const char *const *models, size_t n, const ferry_open_options *options, ferry_error *error)
{
    if (!models || !n) return abi_error(error, FERRY_USAGE, -1, "no model is named");
    if (n > INT_MAX) return abi_error(error, FERRY_USAGE, -1, "%zu models are too many", n);
    for (size_t i = 0; i < n; i++)
        if (!models[i]) return abi_error(error, FERRY_USAGE, -1, "the name of model %zu is NULL", i);
    if (options->tokenizer_only && n > 1)
        return abi_error(error, FERRY_USAGE, -1, "tokenizer_only is for one model, not %zu", n);
    return true;
}

ferry_model *ferry_open(const char *const *models, size_t n_models, const ferry_open_options *options,
                        ferry_error *error)
{
    Opening opening = {.names = models, .n = n_models};
    abi_error(error, FERRY_OK, -1, "%s", "");
    if (!abi_read(&opening.options, sizeof opening.options, options, "ferry_open_options", error) ||
        !check_arguments(models, n_models, &opening.options, error))
        return NULL;
    ferry_model *model = calloc(1, sizeof *model);
    if (!model) {
        abi_error(error, FERRY_NO_MEMORY, -1, "there is no memory for a model");
        return NULL;
    }
    model->process = getpid();
    model->warnings.scope = &model->scope;
    pthread_mutex_init(&model->lock, NULL);
    opening.model = model;
    Context *context = context_take(model, error);
    if (context) {
        hand_run(context->hand, open_by_hand, &opening, NULL, NULL);
        context_give(model, context);
        if (opening.good) return model;
        if (opening.lacked)
            abi_error(error, FERRY_NO_MEMORY, -1, "out of memory: %zu bytes could not be had", opening.wanted);
        else abi_error(error, (int)opening.error.code, -1, "%s", opening.error.text);
    }
    ferry_close(model);
    return NULL;
}

void ferry_close(ferry_model *model)
{
    if (!model || model->process != getpid()) return;
    for (Context *context = model->idle, *next; context; context = next) {
        next = context->next;
        hand_free(context->hand);
        context_forget(context);
        free(context);
    }
    mem_scope_free(&model->scope);
    pthread_mutex_destroy(&model->lock);
    free(model);
}

int ferry_describe(const ferry_model *model, ferry_description *description)
{
    return model && abi_write(description, &model->description, sizeof model->description);
}

const char *ferry_model_warning(const ferry_model *model, size_t i)
{
    return model && i < model->warnings.n ? model->warnings.text[i] : NULL;
}
