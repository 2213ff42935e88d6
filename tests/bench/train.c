/* make bench: training steps by op, beside what the machine can do at best. */
#include <stdio.h>
#include <string.h>

#include "core/blas.h"
#include "core/kernels.h"
#include "core/threads.h"
#include "system/progress.h"
#include "tests/bench/bench.h"
#include "tests/bench/peaks.h"
#include "tests/bench/report.h"
#include "tests/bench/settings.h"
#include "tests/bench/stepper.h"

enum { NAME_WIDTH = 34, RATE_WIDTH = 26 };

static const char *threads_text(int n)
{
    static char text[32];
    snprintf(text, sizeof text, "%d thread%s", n, n == 1 ? "" : "s");
    return text;
}

typedef struct Plan {
    Settings shapes;
    int threads[SETTINGS_MOST];
    int n_threads, repeat;
    double seconds;
} Plan;

/* ---- peaks ---- */

/* All of them; copy[t] becomes that of copying with plan->threads[t]. */
static void measure_peaks(const Plan *plan, double *copy)
{
    report_cell(-NAME_WIDTH, "peaks of this machine");
    for (int t = 0; t < plan->n_threads; t++) report_cell(RATE_WIDTH, "%s", threads_text(plan->threads[t]));
    report_end();
    const Peak *peak;
    for (int p = 0; (peak = peaks_get(p)); p++) {
        report_cell(-NAME_WIDTH, "%s", peak->name);
        const bool there = !peak->available || peak->available();
        for (int t = 0; t < plan->n_threads && there; t++) {
            double runs[FIGURE_RUNS];
            threads_set(plan->threads[t]);
            for (int r = -1; r < plan->repeat; r++) { /* the first one warms up */
                const double rate = peak->rate();
                if (r >= 0) runs[r] = rate;
            }
            const Figure figure = figure_of(runs, plan->repeat);
            report_row("machine", plan->threads[t], peak->name, peak->unit, figure);
            report_cell(RATE_WIDTH, "%s", figure_text(figure, p == PEAK_COPY ? 1 : 0));
            if (p == PEAK_COPY) copy[t] = figure.median;
        }
        report_line("  %s", there ? peak->unit : "(this CPU or build has none)");
    }
}

/* ---- one shape ---- */

/* What one row of the table by op is made of */
typedef struct Row {
    const char *name, *pass;
    double calls;
    Figure seconds;
    Work work;
} Row;

static void print_row(const char *shape, const Row *row, const StepReport *r, double copy)
{
    const double operations = row->work.operations / row->seconds.median / 1e9,
                 bytes = row->work.bytes / row->seconds.median / 1e9;
    report_cell(-20, "  %s", row->name);
    report_cell(-9, "%s", row->pass);
    if (row->calls > 0) report_cell(6, "%.0f", row->calls);
    else report_cell(6, "%s", "");
    report_cell(11, "%s", figure_number(1e3 * row->seconds.median, 2));
    report_cell(9, "%s", figure_number(1e3 * row->seconds.low, 2));
    report_cell(9, "%s", figure_number(1e3 * row->seconds.high, 2));
    report_cell(8, "%.1f%%", 100 * row->seconds.median / r->step.median);
    if (row->work.operations > 0) {
        report_cell(10, "%.0f", operations);
        report_cell(10, "%.0f%%", 100 * operations / r->sgemm.median);
    } else if (row->work.bytes > 0) {
        report_cell(30, "%.1f", bytes);
        report_cell(8, "%.0f%%", 100 * bytes / copy);
    }
    report_end();
    char quantity[96];
    snprintf(quantity, sizeof quantity, "%s%s%s", row->name, *row->pass ? " " : "", row->pass);
    report_row(shape, r->n_threads, quantity, "s", row->seconds);
    if (row->work.operations > 0)
        report_row(shape, r->n_threads, quantity, "GFLOP/s",
                   figure_scaled(figure_inverse(row->seconds), row->work.operations / 1e9));
    else if (row->work.bytes > 0)
        report_row(shape, r->n_threads, quantity, "GB/s",
                   figure_scaled(figure_inverse(row->seconds), row->work.bytes / 1e9));
}

static void print_ops(const char *shape, const StepReport *r, double copy)
{
    const double parameter_bytes = (double)r->n_parameters * sizeof(real);
    report_line("  op%31s%11s%9s%9s%9s%10s%10s%10s%8s", "calls", "ms a step", "lowest", "highest", "of step", "GFLOP/s",
                "of sgemm", "GB/s", "of copy");
    print_row(shape, &(Row){"batch, zeros", "", 0, r->first, {0, 0}}, r, copy);
    double sum = r->first.median + r->between.median + r->last.median;
    for (int backward = 0; backward <= 1; backward++)
        for (int i = 0; i < N_OPS; i++) {
            if (!(r->calls[i][backward] > 0)) continue;
            print_row(shape,
                      &(Row){stepper_ops[i]->name, backward ? "backward" : "forward", r->calls[i][backward],
                             r->op[i][backward], workload_of(stepper_ops[i], backward, &r->config, &r->counts)},
                      r, copy);
            sum += r->op[i][backward].median;
        }
    print_row(shape, &(Row){"between ops", "", 0, r->between, {0, 0}}, r, copy);
    /* the norm reads the gradient; Adam reads weight, gradient, m, v and writes all but the gradient */
    print_row(shape, &(Row){"norm, Adam", "", 0, r->last, {0, 8 * parameter_bytes}}, r, copy);
    report_line("  the rows' sum is %.1f%% of the step; making batches alone takes %s ms", 100 * sum / r->step.median,
                figure_text(figure_scaled(r->batch, 1e3), 3));
}

static void print_shape(const char *shape, const StepReport *r)
{
    char count[FIGURE_SIZE];
    const ModelConfig *c = &r->config;
    progress_count(count, (double)r->n_parameters);
    report_line("\n%s: %s parameters, d_model %d, d_ff %d, %d + %d layers, vocabulary %d; products by %s", shape, count,
                c->d_model, c->d_ff, c->encoder_layers, c->decoder_layers, c->vocab_size, r->kernel);
    report_line("a step has %s target tokens and %s GFLOP in products", figure_number(r->counts.target, 0),
                figure_number(workload_operations(c, &r->counts) / 1e9, 1));
}

static Figure token_rate(const StepReport *r)
{
    return figure_scaled(figure_inverse(r->step), r->counts.target);
}

/* single: tokens/s of one thread, 0 if that is not to be compared with */
static void print_step(const char *shape, const StepReport *r, double single)
{
    char resident[FIGURE_SIZE] = "unknown", arena[FIGURE_SIZE];
    const Figure rate = token_rate(r);
    const double speed_up = single > 0 ? rate.median / single : 0;
    progress_bytes(arena, r->arena);
    if (r->resident > 0) progress_bytes(resident, r->resident);
    report_end();
    report_line("%s, %s: %s target tokens/s; %s ms a step (%d step%s a time)", shape, threads_text(r->n_threads),
                figure_text(rate, 0), figure_text(figure_scaled(r->step, 1e3), 1), r->n_steps, r->n_steps == 1 ? "" : "s");
    report_line("  %s GFLOP/s; sgemm beside it %s: %s %% of the peak", figure_text(r->gflops, 0), figure_text(r->sgemm, 0),
                figure_text(figure_scaled(r->share, 100), 1));
    report_line("  memory: arena %s, resident %s%s%s", arena, resident,
                speed_up > 0 ? "; speed-up from one thread " : "", speed_up > 0 ? figure_number(speed_up, 2) : "");
    const int n = r->n_threads;
    report_row(shape, n, "target tokens", "tokens/s", rate);
    report_row(shape, n, "step", "s", r->step);
    report_row(shape, n, "step", "GFLOP/s", r->gflops);
    report_row(shape, n, "sgemm beside it", "GFLOP/s", r->sgemm);
    report_row(shape, n, "of the sgemm peak", "1", r->share);
    report_row(shape, n, "batches alone", "s", r->batch);
    report_value(shape, n, "arena", "bytes", r->arena);
    if (r->resident > 0) report_value(shape, n, "resident", "bytes", r->resident);
    if (speed_up > 0) report_value(shape, n, "speed-up", "1", speed_up);
}

static bool measure_shape(const Plan *plan, const double *copy, const char *shape, Error *error)
{
    double single = 0; /* tokens/s of one thread */
    for (int t = 0; t < plan->n_threads; t++) {
        StepPlan step = {.lengths = MULTI30K_LENGTHS, .repeat = plan->repeat, .seconds = plan->seconds,
                         .beside_sgemm = true};
        StepReport report;
        if (!workload_options(&step.options, shape, error)) return false;
        step.options.train_threads = plan->threads[t];
        const bool good = stepper_measure(&step, &report, error);
        options_free(&step.options);
        if (!good) return false;
        if (t == 0) print_shape(shape, &report);
        if (report.n_threads == 1) single = token_rate(&report).median;
        print_step(shape, &report, report.n_threads > 1 ? single : 0);
        print_ops(shape, &report, copy[t]);
    }
    return true;
}

/* So that nothing is measured if one of them is wrong. */
static bool check_shapes(const Plan *plan, Error *error)
{
    bool good = true;
    for (int i = 0; i < plan->shapes.n && good; i++) {
        Options options;
        good = workload_options(&options, plan->shapes.word[i], error);
        if (good) options_free(&options);
    }
    return good;
}

static bool run_plan(const Plan *plan, Error *error)
{
    Error missing = {0};
    const Blas *blas = blas_load(&missing);
    const char *isa = kernels_get(0)->name;
    report_line("medians of %d, with the lowest and the highest; kernels %s, sgemm by %s %s", plan->repeat, isa,
                blas ? "OpenBLAS" : "our kernel: there is no OpenBLAS;", blas ? blas->name : isa);
    double copy[SETTINGS_MOST];
    measure_peaks(plan, copy);
    for (int i = 0; i < plan->shapes.n; i++)
        if (!measure_shape(plan, copy, plan->shapes.word[i], error)) return false;
    return true;
}

bool bench_train(Error *error)
{
    Plan plan;
    if (!settings_ints("THREADS", settings_threads(), 1, 1024, plan.threads, &plan.n_threads, error) ||
        !settings_int("REPEAT", "5", 1, FIGURE_RUNS, &plan.repeat, error) ||
        !settings_real("STEP_SECONDS", "0.5", &plan.seconds, error))
        return false;
    if (!settings_words("SHAPES", "toy multi30k base", &plan.shapes, error)) return false;
    const bool good = check_shapes(&plan, error) && run_plan(&plan, error);
    settings_free(&plan.shapes);
    return good;
}
