/* refuse MODEL SOURCE OTHER: what is wrong is refused with a code and a sentence, what is cut is warned of, and
 * callbacks may give up. OTHER: a model of another vocabulary. */
#include "tests/library/host.h"

static ferry_error error;

static void refused(const void *object, int code, const char *part)
{
    EXPECT(!object, "it is not refused: %s", part);
    EXPECT(error.code == code, "%d: %s", error.code, error.text);
    EXPECT(strstr(error.text, part), "'%s' says nothing of '%s'", error.text, part);
    EXPECT(!strchr(error.text, '\n'), "%s", error.text);
}

static ferry_result *with(ferry_model *model, const char *line, const char *setting, ferry_call *call)
{
    const char *settings[] = {setting, NULL};
    call->settings = setting ? settings : NULL;
    ferry_result *result = ferry_translate(model, &line, NULL, 1, call, &error);
    call->settings = NULL;
    return result;
}

static void refuse_openings(const char *name, const char *other)
{
    ferry_open_options options;
    const char *nowhere = "no/such/model", *two[] = {name, other};
    FERRY_INIT(options);
    refused(ferry_open(&nowhere, 1, NULL, &error), FERRY_FAILED, "no/such/model");
    refused(ferry_open(&name, 0, NULL, &error), FERRY_USAGE, "no model");
    refused(ferry_open(two, 2, NULL, &error), FERRY_USAGE, "vocabular");
    options.precision = "fp8";
    refused(ferry_open(&name, 1, &options, &error), FERRY_USAGE, "decode.precision = 'fp8'");
    FERRY_INIT(options);
    options.threads = -1;
    refused(ferry_open(&name, 1, &options, &error), FERRY_USAGE, "train.threads");
    FERRY_INIT(options);
    options.settings = (const char *[]){"decode.beem=3", NULL};
    refused(ferry_open(&name, 1, &options, &error), FERRY_USAGE, "beam");
    FERRY_INIT(options);
    options.size = 3;
    refused(ferry_open(&name, 1, &options, &error), FERRY_USAGE, "size");
    struct {
        ferry_open_options known;
        long unknown;
    } newer = {.known.size = sizeof newer, .unknown = 1};
    refused(ferry_open(&name, 1, &newer.known, &error), FERRY_USAGE, "older");
    newer.unknown = 0;
    ferry_model *model = ferry_open(&name, 1, &newer.known, &error);
    EXPECT(model, "%s", error.text);
    ferry_close(model);
}

static void refuse_calls(ferry_model *model)
{
    ferry_call call;
    FERRY_INIT(call);
    const char *line = "a", *none = NULL;
    refused(ferry_translate(NULL, &line, NULL, 1, NULL, &error), FERRY_USAGE, "model");
    refused(ferry_translate(model, NULL, NULL, 1, NULL, &error), FERRY_USAGE, "lines");
    refused(ferry_translate(model, &none, NULL, 1, NULL, &error), FERRY_USAGE, "lines[0]");
    EXPECT(error.line == 0, "%d", (int)error.line);
    refused(with(model, "a", "beam", &call), FERRY_USAGE, "'beam'");
    refused(with(model, "a", "beam=0", &call), FERRY_USAGE, "decode.beam");
    refused(with(model, "a", "precision=bf16", &call), FERRY_USAGE, "opened");
    refused(with(model, "a", "train.threads=2", &call), FERRY_USAGE, "opened");
    call.n_best = 3;
    refused(with(model, "a", "beam=2", &call), FERRY_USAGE, "beam");
    refused(with(model, "a", "sample=yes", &call), FERRY_USAGE, "sample");
    FERRY_INIT(call);
    call.tokenized = 1;
    call.name = "mine";
    call.first_line = 8;
    const char *tokens[] = {"a", "a nothing-like-this a"};
    refused(ferry_translate(model, tokens, NULL, 2, &call, &error), FERRY_FAILED, "mine, line 9: 'nothing-like-this'");
    EXPECT(error.line == 1, "%d", (int)error.line);
    refused(with(model, "a </s>", NULL, &call), FERRY_FAILED, "</s>");
    refused(ferry_detokenize(model, tokens, NULL, 2, NULL, &error), FERRY_FAILED, "text, line 2");
    ferry_translation t;
    FERRY_INIT(t);
    EXPECT(!ferry_get(NULL, 0, 0, &t) && !ferry_text(NULL, 0) && !ferry_n_lines(NULL), "a result that is NULL");
    ferry_free(NULL);
    ferry_close(NULL);
}

static void warn(ferry_model *model)
{
    ferry_call call;
    FERRY_INIT(call);
    ferry_result *result = with(model, "a b c d e f g h", "max_source=3", &call);
    EXPECT(result && ferry_warning(result, 0) && !ferry_warning(result, 1), "%s", error.text);
    EXPECT(strstr(ferry_warning(result, 0), "text, line 1: cut from"), "%s", ferry_warning(result, 0));
    EXPECT(!ferry_get(result, 1, 0, NULL) && !ferry_text(result, 1), "there is one line");
    /* What an older program doesn't know isn't written beyond its struct. */
    ferry_translation t;
    memset(&t, 7, sizeof t);
    t.size = offsetof(ferry_translation, n_tokens);
    EXPECT(ferry_get(result, 0, 0, &t) && t.text && t.n_tokens == (size_t)0x0707070707070707, "%zu", t.n_tokens);
    ferry_free(result);
}

static void tokenizer_alone(const char *name)
{
    ferry_open_options options;
    FERRY_INIT(options);
    options.tokenizer_only = 1;
    ferry_model *model = open_model(name, &options);
    const char *line = "one two";
    ferry_result *result = ferry_tokenize(model, &line, NULL, 1, NULL, &error);
    EXPECT(result && *ferry_text(result, 0), "%s", error.text);
    ferry_free(result);
    refused(ferry_translate(model, &line, NULL, 1, NULL, &error), FERRY_USAGE, "tokenizer");
    ferry_close(model);
}

static int asked;

static int give_up_at(void *context, size_t n_done, size_t n)
{
    EXPECT(n_done <= n, "%zu of %zu", n_done, n);
    return asked++ == *(int *)context;
}

static void cancel(ferry_model *model, const Lines *source)
{
    ferry_call call;
    FERRY_INIT(call);
    call.progress = give_up_at;
    /* Long enough that the callback is asked while it works, again and again. */
    const char *settings[] = {"beam=20", NULL}, *many[10000];
    const size_t n = sizeof many / sizeof *many;
    for (size_t i = 0; i < n; i++) many[i] = source->line[i % source->n];
    call.settings = settings;
    for (int when = 0; when < 3; when++) {
        call.progress_context = &when;
        asked = 0;
        refused(ferry_translate(model, many, NULL, n, &call, &error), FERRY_CANCELLED, "cancelled");
        EXPECT(asked == when + 1, "%d", asked);
    }
    ferry_free(translate(model, source, NULL));
}

int main(int argc, char **argv)
{
    EXPECT(argc == 4, "refuse MODEL SOURCE OTHER");
    FERRY_INIT(error);
    Lines source = lines_read(argv[2]);
    refuse_openings(argv[1], argv[3]);
    tokenizer_alone(argv[1]);
    ferry_model *model = open_model(argv[1], NULL);
    refuse_calls(model);
    warn(model);
    cancel(model, &source);
    ferry_description d;
    FERRY_INIT(d);
    EXPECT(ferry_describe(model, &d) && d.n_models == 1 && d.n_parameters > 0, "%d", d.n_models);
    EXPECT(d.step > 0 && d.threads > 0, "%d threads", d.threads);
    EXPECT(*d.kernel && !strcmp(d.precision, "fp32") && strstr(d.options, "[decode]") && *d.source, "%s", d.kernel);
    EXPECT(!ferry_model_warning(model, 0), "%s", ferry_model_warning(model, 0));
    ferry_close(model);
    lines_end(&source);
    return 0;
}
