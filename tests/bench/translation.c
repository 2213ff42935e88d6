#include "tests/bench/translation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/random.h"
#include "core/threads.h"
#include "data/lines.h"
#include "run/run.h"
#include "system/files.h"
#include "system/progress.h"
#include "tests/bench/bench.h"
#include "tests/bench/report.h"
#include "tests/bench/settings.h"
#include "tests/bench/workload.h"
#include "train/trainer.h"
#include "translate/translator.h"

enum { MOST_LINES = 4000, MOST_SETTINGS = 2 + SETTINGS_MOST };

/* ---- a model ---- */

/* The run folder, as ferry translate opens it, for greedy search: with what SET and PRECISION say. */
static bool open_run(Run *run, const char *folder, Error *error)
{
    OptionSetting setting[MOST_SETTINGS] = {{"decode.beam", "1"}};
    OptionSettings settings = {.home = "decode", .setting = setting, .n = 1};
    const char *precision = settings_text("PRECISION", "");
    Settings set;
    if (!settings_words("SET", "", &set, error)) return false;
    if (*precision) setting[settings.n++] = (OptionSetting){"decode.precision", precision};
    bool good = true;
    for (int i = 0; i < set.n && good; i++) {
        char *word = set.text + (set.word[i] - set.text), *equals = strchr(word, '=');
        if (!equals) {
            good = error_usage(error, "SET: '%s' is not section.key=value", word);
            break;
        }
        *equals = '\0';
        setting[settings.n++] = (OptionSetting){word, equals + 1};
    }
    good = good && run_open(run, folder, &settings, error);
    settings_free(&set);
    return good;
}

/* Sentences of invented words: N_WORDS of two or three syllables, drawn alike often. */
static void append_sentence(Text *text, uint32_t number)
{
    enum { N_WORDS = 12000, N_CONSONANTS = 16, N_VOWELS = 6 };
    static const char consonants[] = "bcdfghjklmnprstv", vowels[] = "aeiouy";
    const RandomStream stream = random_stream(1, RANDOM_TEST, 4, number);
    const double length = 10 + 3 * random_normal(&stream, 0);
    for (uint64_t i = 0; i < 2 || (double)i < length; i++) {
        uint32_t word = random_below(&stream, i + 1, N_WORDS);
        if (i) text_append(text, " ", 1);
        for (int syllable = 0; syllable < 2 || word; syllable++, word /= N_CONSONANTS * N_VOWELS) {
            text_append(text, &consonants[word % N_CONSONANTS], 1);
            text_append(text, &vowels[word / N_CONSONANTS % N_VOWELS], 1);
        }
    }
}

static bool write_sentences(const char *path, uint32_t first, int n, Error *error)
{
    Text text = {0};
    for (int i = 0; i < n; i++) {
        append_sentence(&text, first + (uint32_t)i);
        text_append(&text, "\n", 1);
    }
    const bool good = file_write_all(path, text.data, text.n, error);
    text_free(&text);
    return good;
}

/* trainer_run without what it says. */
static bool train_quietly(const Options *options, const char *folder, Error *error)
{
    fflush(stderr);
    const int saved = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDERR_FILENO);
    const bool good = trainer_run(options, folder, error);
    dup2(saved, STDERR_FILENO);
    close(nowhere);
    close(saved);
    return good;
}

/* A run folder as training leaves it after one step of the shape, on invented text. */
static bool make_run(const char *folder, const char *shape, Error *error)
{
    enum { N_LINES = 10000 };
    Options options;
    char *source = path_join(folder, "source"), *target = path_join(folder, "target"), *run = path_join(folder, "run");
    bool good = write_sentences(source, 0, N_LINES, error) && write_sentences(target, N_LINES, N_LINES, error) &&
                workload_options(&options, shape, error);
    if (good) {
        good = options_set(&options, "", "data.train_source", source, error) &&
               options_set(&options, "", "data.train_target", target, error) &&
               options_set(&options, "", "data.valid_source", "", error) &&
               options_set(&options, "", "data.valid_target", "", error) &&
               options_set(&options, "", "train.max_steps", "1", error) && train_quietly(&options, run, error);
        options_free(&options);
    }
    mem_free(source);
    mem_free(target);
    mem_free(run);
    return good;
}

/* ---- measuring ---- */

static bool measure_load(const char *folder, int repeat, Figure *seconds, Error *error)
{
    double runs[FIGURE_RUNS];
    for (int r = -1; r < repeat; r++) { /* the first one brings the files into memory */
        Run run;
        const double started = progress_clock();
        if (!open_run(&run, folder, error)) return false;
        if (r >= 0) runs[r] = progress_clock() - started;
        run_close(&run);
    }
    *seconds = figure_of(runs, repeat);
    return true;
}

typedef struct Lines {
    Text text[MOST_LINES];
    int n;
} Lines;

static void free_lines(Lines *lines)
{
    for (int i = 0; i < lines->n; i++) text_free(&lines->text[i]);
    mem_free(lines);
}

static double count_tokens(const Tokenizer *tokenizer, const Lines *lines)
{
    TokenizerCache *cache = tokenizer_cache_new();
    Tokens tokens = {0};
    for (int i = 0; i < lines->n; i++) tokenizer_encode(tokenizer, cache, lines->text[i].data, lines->text[i].n, &tokens);
    const double n = (double)tokens.n;
    tokenizer_tokens_free(&tokens);
    tokenizer_cache_free(cache);
    return n;
}

/* Seconds for all lines, as the options of the run say; the translations into `out`. */
static Figure translate(Run *run, const Lines *in, Lines *out, int repeat)
{
    double runs[FIGURE_RUNS];
    Translator translator;
    translator_init(&translator, run->model, run->tokenizer, &run->options);
    out->n = in->n;
    for (int r = -1; r < repeat; r++) { /* the first one warms up */
        for (int i = 0; i < out->n; i++) text_free(&out->text[i]);
        const double started = progress_clock();
        translator_lines(&translator, in->text, (size_t)in->n, "the bench", 1, out->text);
        if (r >= 0) runs[r] = progress_clock() - started;
    }
    translator_free(&translator);
    return figure_of(runs, repeat);
}

/* ---- bench-scale ---- */

static void print_load(const Run *run, Figure seconds)
{
    char count[FIGURE_SIZE];
    report_line("\nloading a model of %s parameters, checkpoint and tokenizer: %s ms (wanted: below 50 for 2.6M)",
                progress_count(count, (double)run->model->params.size), figure_text(figure_scaled(seconds, 1e3), 1));
    report_row("load", threads_count(), "load", "s", seconds);
}

static bool print_batches(Run *run, int repeat, Error *error)
{
    int batches[SETTINGS_MOST], n;
    if (!settings_ints("BATCHES", "1 64 256 1024 4096", 1, 100000000, batches, &n, error)) return false;
    Lines *in = mem_zalloc(sizeof *in), *out = mem_zalloc(sizeof *out);
    in->n = 300;
    for (int i = 0; i < in->n; i++) append_sentence(&in->text[i], 1000000 + (uint32_t)i);
    const double source = count_tokens(run->tokenizer, in);
    report_line("greedy search by batch size, %d threads, %d sentences of %.1f tokens", threads_count(), in->n,
                source / in->n);
    report_line("%13s%16s%26s%16s%16s", "batch tokens", "sentences each", "sentences/s", "tokens each", "tokens/s");
    for (int i = 0; i < n; i++) {
        run->options.decode_batch_tokens = batches[i];
        const Figure seconds = translate(run, in, out, repeat), rate = figure_scaled(figure_inverse(seconds), in->n);
        const double target = count_tokens(run->tokenizer, out);
        const double each = (double)batches[i] * in->n / (source + in->n);
        report_line("%13s%16s%26s%16.1f%16s", figure_number(batches[i], 0), figure_number(each < 1 ? 1 : each, 0),
                    figure_text(rate, 0), target / in->n, figure_number(target / seconds.median, 0));
        char subject[64];
        snprintf(subject, sizeof subject, "greedy %d", batches[i]);
        report_row(subject, threads_count(), "sentences", "sentences/s", rate);
        report_value(subject, threads_count(), "tokens", "tokens/s", target / seconds.median);
    }
    free_lines(in);
    free_lines(out);
    return true;
}

static bool scale_with(const char *folder, bool trained, int repeat, Error *error)
{
    Run run;
    Figure seconds;
    if (!measure_load(folder, repeat, &seconds, error) || !open_run(&run, folder, error)) return false;
    print_load(&run, seconds);
    if (!trained) { /* which would never end a sentence */
        run.options.decode_max_ratio = 1;
        run.options.decode_max_extra = 1;
    }
    const bool good = print_batches(&run, repeat, error);
    run_close(&run);
    return good;
}

bool translation_scale(const char *shape, int repeat, Error *error)
{
    const char *trained = settings_text("RUN", "");
    if (*trained) return scale_with(trained, true, repeat, error);
    char *folder = mem_format("%s/ferry-bench-XXXXXX", settings_text("TMPDIR", "/tmp"));
    if (!mkdtemp(folder)) return error_set(error, "the temporary folder %s cannot be made: %s", folder, strerror(errno));
    char *run = path_join(folder, "run");
    report_line("\ntraining one step for a model to load (untrained: its sentences end by their limit)");
    const bool good = make_run(folder, shape, error) && scale_with(run, false, repeat, error);
    mem_free(run);
    char *command = mem_format("rm -rf '%s'", folder);
    if (system(command)) warn("%s is left", folder);
    mem_free(command);
    mem_free(folder);
    return good;
}

/* ---- bench-translate ---- */

static bool read_lines(const char *path, Lines *lines, Error *error)
{
    LineReader *reader = lines_open(path, error);
    if (!reader) return false;
    const char *line;
    size_t length;
    int got;
    while ((got = lines_next(reader, &line, &length, error)) == 1 && lines->n < MOST_LINES)
        text_append(&lines->text[lines->n++], line, length);
    lines_close(reader);
    return got >= 0;
}

static bool write_lines(const char *path, const Lines *lines, Error *error)
{
    Text all = {0};
    for (int i = 0; i < lines->n; i++) {
        if (lines->text[i].n) text_append(&all, lines->text[i].data, lines->text[i].n);
        text_append(&all, "\n", 1);
    }
    const bool good = file_write_all(path, all.data, all.n, error);
    text_free(&all);
    return good;
}

bool bench_translate(Error *error)
{
    const char *folder = settings_text("RUN", ""), *source = settings_text("SOURCE", "");
    const char *output = settings_text("OUTPUT", "");
    int repeat;
    Figure load;
    Run run;
    if (!*folder || !*source) return error_usage(error, "RUN names the run folder of a trained model, SOURCE a text");
    if (!settings_int("REPEAT", "1", 1, FIGURE_RUNS, &repeat, error) || !measure_load(folder, repeat, &load, error) ||
        !open_run(&run, folder, error))
        return false;
    Lines *in = mem_zalloc(sizeof *in), *out = mem_zalloc(sizeof *out);
    bool good = read_lines(source, in, error);
    if (good) {
        const Figure seconds = translate(&run, in, out, repeat);
        const double tokens = count_tokens(run.tokenizer, out);
        report_line("sentences %d, tokens %.0f, load_ms %.1f, sentences/s %.1f, tokens/s %.0f", in->n, tokens,
                    1e3 * load.median, in->n / seconds.median, tokens / seconds.median);
        report_row("translate", threads_count(), "sentences", "sentences/s", figure_scaled(figure_inverse(seconds), in->n));
        good = !*output || write_lines(output, out, error);
    }
    free_lines(in);
    free_lines(out);
    run_close(&run);
    return good;
}

bool bench_vocabulary(Error *error)
{
    Run run;
    const char *folder = settings_text("RUN", "");
    if (!*folder) return error_usage(error, "RUN names the run folder of a trained model");
    if (!open_run(&run, folder, error)) return false;
    Text shown = {0};
    for (int32_t token = 0; token < tokenizer_size(run.tokenizer); token++) {
        shown.n = 0;
        tokenizer_show(run.tokenizer, token, &shown);
        report_line("%.*s", (int)shown.n, shown.data);
    }
    text_free(&shown);
    run_close(&run);
    return true;
}
