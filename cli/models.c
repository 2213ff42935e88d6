#include "cli/models.h"

#include "core/memory.h"

bool models_failed(const ferry_error *theirs, Error *error)
{
    if (theirs->code == FERRY_USAGE) return error_usage(error, "%s", theirs->text);
    const char *way_out = theirs->code == FERRY_NO_MEMORY ? "; use a smaller model or fewer batch_tokens" : "";
    return error_set(error, "%s%s", theirs->text, way_out);
}

ferry_model *models_open(const CommandLine *line, bool tokenizer_only, Error *error)
{
    ferry_error theirs;
    ferry_open_options options;
    FERRY_INIT(theirs);
    FERRY_INIT(options);
    const OptionSettings *s = &line->settings;
    char **setting = mem_zalloc(((size_t)s->n + 1) * sizeof *setting);
    for (int i = 0; i < s->n; i++) {
        const char *key = options_full_key(s->home, s->setting[i].key);
        setting[i] = mem_format("%s=%s", key ? key : s->setting[i].key, s->setting[i].value);
    }
    options.settings = (const char *const *)setting;
    options.tokenizer_only = tokenizer_only;
    /* Of a tokenizer alone the last one counts, as of any flag that is given twice. */
    const char *const *models = tokenizer_only ? &line->flag[FLAG_MODEL] : line->model;
    ferry_model *model = ferry_open(models, tokenizer_only ? 1 : (size_t)line->n_models, &options, &theirs);
    if (!model) models_failed(&theirs, error);
    for (size_t i = 0; ferry_model_warning(model, i); i++) warn("%s", ferry_model_warning(model, i));
    for (int i = 0; i < s->n; i++) mem_free(setting[i]);
    mem_free(setting);
    return model;
}

bool models_options(const ferry_model *model, Options *options, Error *error)
{
    ferry_description description;
    FERRY_INIT(description);
    ferry_describe(model, &description);
    options_init(options);
    return options_from_text(options, "the model's options", description.options, error);
}

void models_warn(const ferry_result *result)
{
    for (size_t i = 0; ferry_warning(result, i); i++) warn("%s", ferry_warning(result, i));
}

int models_progress(void *progress, size_t n_done, size_t n)
{
    if (n_done) progress_state(progress, "translated %zu of %zu lines", n_done, n);
    return 0;
}

void models_add_line(ModelLines *lines, const char *text, size_t n)
{
    if (lines->n >= lines->capacity) {
        const size_t old = lines->capacity * sizeof *lines->start;
        lines->capacity = lines->capacity ? 2 * lines->capacity : 16;
        lines->start = mem_resize(lines->start, old, lines->capacity * sizeof *lines->start);
        lines->length = mem_resize(lines->length, old, lines->capacity * sizeof *lines->length);
    }
    lines->start[lines->n] = lines->text.n;
    lines->length[lines->n++] = n;
    if (n) text_append(&lines->text, text, n);
}

const char *const *models_lines(ModelLines *lines)
{
    mem_free(lines->line);
    lines->line = mem_alloc(lines->n * sizeof *lines->line);
    for (size_t i = 0; i < lines->n; i++) lines->line[i] = lines->text.n ? lines->text.data + lines->start[i] : "";
    return lines->line;
}

void models_free_lines(ModelLines *lines)
{
    text_free(&lines->text);
    mem_free(lines->start);
    mem_free(lines->length);
    mem_free(lines->line);
    *lines = (ModelLines){0};
}
