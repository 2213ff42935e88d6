/* make bench-scale: how the cost of a step grows, along one size after another; then loading and translating. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/bench/bench.h"
#include "tests/bench/report.h"
#include "tests/bench/settings.h"
#include "tests/bench/stepper.h"
#include "tests/bench/translation.h"

static void set_length(StepPlan *plan, int value)
{
    plan->lengths = (Lengths){value, 0};
}

static void set_vocabulary(StepPlan *plan, int value)
{
    plan->options.data_vocab_size = value;
}

/* The shape's other widths grow with it; fewer layers and tokens, so that the widest takes seconds. */
static void set_width(StepPlan *plan, int value)
{
    Options *o = &plan->options;
    o->model_d_ff = o->model_d_ff * value / o->model_d_model;
    o->model_heads = value < 32 ? 1 : value / 32;
    o->model_d_model = value;
    o->model_encoder_layers = o->model_decoder_layers = 2;
    o->train_batch_tokens = 2048;
}

static void set_threads(StepPlan *plan, int value)
{
    plan->options.train_threads = value;
}

typedef struct Series {
    const char *title, *name, *variable;
    const char *standard; /* NULL: settings_threads */
    int least, most;
    void (*set)(StepPlan *plan, int value);
} Series;

static const Series series[] = {
    {"sentence length: all sentences have as many tokens, end token included; the batch keeps its size", "length", "LENGTHS",
     "8 16 32 64 128 256 512 1024 2048", 3, 100000, set_length},
    {"vocabulary", "vocabulary", "VOCABULARIES", "1000 4000 16000 64000", 260, 1000000, set_vocabulary},
    {"width d_model, 2 + 2 layers, 2,048 tokens a batch, heads of 32", "width", "WIDTHS", "64 128 256 512 1024", 32, 65536,
     set_width},
    {"threads", "threads", "THREADS", NULL, 1, 1024, set_threads},
};

/* How y grew with x since the row before, as y ~ x^g. */
static double exponent(double x, double y, double x_before, double y_before)
{
    return log(y / y_before) / log(x / x_before);
}

static double attention_seconds(const StepReport *r)
{
    return r->op[OP_attention][0].median + r->op[OP_attention][1].median;
}

static void print_row(const Series *s, int value, const StepReport *r, int value_before, const StepReport *r_before)
{
    const double tokens = r->counts.target;
    report_cell(11, "%s", figure_number(value, 0));
    report_cell(9, "%s", figure_number(tokens, 0));
    report_cell(11, "%s", figure_number(1e3 * r->step.median, 1));
    report_cell(10, "%s", figure_number(1e3 * r->step.low, 1));
    report_cell(10, "%s", figure_number(1e3 * r->step.high, 1));
    report_cell(10, "%s", figure_number(tokens / r->step.median, 0));
    report_cell(9, "%.0f", r->gflops.median);
    report_cell(14, "%s", figure_number(1e3 * attention_seconds(r), 1));
    report_cell(10, "%s", figure_number(r->arena / 1e6, 0));
    report_cell(14, "%s", figure_number(r->arena / tokens, 0));
    report_cell(13, "%s", figure_number(r->resident / 1e6, 0));
    if (r_before) {
        const double x = value, x0 = value_before;
        report_cell(9, "x^%.2f", exponent(x, r->step.median, x0, r_before->step.median));
        report_cell(11, "x^%.2f", exponent(x, attention_seconds(r), x0, attention_seconds(r_before)));
        report_cell(9, "x^%.2f", exponent(x, r->arena, x0, r_before->arena));
    }
    report_end();
    char subject[64];
    snprintf(subject, sizeof subject, "%s %d", s->name, value);
    report_row(subject, r->n_threads, "step", "s", r->step);
    report_row(subject, r->n_threads, "target tokens", "tokens/s", figure_scaled(figure_inverse(r->step), tokens));
    report_row(subject, r->n_threads, "step", "GFLOP/s", r->gflops);
    report_value(subject, r->n_threads, "attention", "s", attention_seconds(r));
    report_value(subject, r->n_threads, "arena", "bytes", r->arena);
    report_value(subject, r->n_threads, "arena a token", "bytes", r->arena / tokens);
    report_value(subject, r->n_threads, "resident", "bytes", r->resident);
}

static bool run_series(const Series *s, const char *shape, int repeat, double seconds, Error *error)
{
    int values[SETTINGS_MOST], n;
    StepReport reports[2]; /* this row's and the one's before */
    double first_bytes = 0, last_bytes = 0;
    const char *standard = s->standard ? s->standard : settings_threads();
    if (!settings_ints(s->variable, standard, s->least, s->most, values, &n, error)) return false;
    report_line("\n%s (%s)", s->title, shape);
    report_line("%11s%9s%11s%10s%10s%10s%9s%14s%10s%14s%13s%9s%11s%9s", s->name, "tokens", "ms a step", "lowest", "highest",
                "tokens/s", "GFLOP/s", "attention ms", "arena MB", "arena B/token", "resident MB", "time ~", "attention ~",
                "arena ~");
    for (int i = 0; i < n; i++) {
        StepPlan plan = {.lengths = MULTI30K_LENGTHS, .repeat = repeat, .seconds = seconds};
        if (!workload_options(&plan.options, shape, error)) return false;
        s->set(&plan, values[i]);
        StepReport *report = &reports[i % 2];
        const bool good = options_check(&plan.options, error) && stepper_measure(&plan, report, error);
        options_free(&plan.options);
        if (!good) return false;
        print_row(s, values[i], report, i ? values[i - 1] : 0, i ? &reports[(i + 1) % 2] : NULL);
        last_bytes = report->arena / report->counts.target;
        if (i == 0) first_bytes = last_bytes;
    }
    if (s->set == set_length)
        report_line("memory of the longest sentences over that of the shortest, a token: %.2f (1: linear in tokens)",
                    last_bytes / first_bytes);
    return true;
}

bool bench_scale(Error *error)
{
    const char *shape = settings_text("SHAPES", "multi30k");
    int repeat;
    double seconds;
    if (strchr(shape, ' ')) return error_usage(error, "SHAPES is one shape here, not '%s'", shape);
    if (!settings_int("REPEAT", "3", 1, FIGURE_RUNS, &repeat, error) ||
        !settings_real("STEP_SECONDS", "0.3", &seconds, error))
        return false;
    report_line("medians of %d; a step is a whole training step; ~ x^g: how that grew with x since the row above", repeat);
    for (size_t i = 0; i < sizeof series / sizeof *series; i++)
        if (!run_series(&series[i], shape, repeat, seconds, error)) return false;
    return translation_scale(shape, repeat, error);
}
