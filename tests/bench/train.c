/* make bench: training steps by op, beside what the machine can do at best. */
#include <stdio.h>
#include <string.h>

#include "core/blas.h"
#include "core/kernels.h"
#include "core/matmul.h"
#include "core/threads.h"
#include "tests/bench/bench.h"
#include "tests/bench/peaks.h"
#include "tests/bench/report.h"
#include "tests/bench/settings.h"
#include "tests/bench/stepper.h"
#include "train/progress.h"

enum { NAME_WIDTH = 34 };

typedef struct Plan {
    const char *shapes[SETTINGS_MOST];
    int threads[SETTINGS_MOST];
    int n_shapes, n_threads, repeat;
    double seconds;
} Plan;

/* ---- peaks ---- */

/* The medians that steps are measured beside, for each number of threads */
typedef struct Peaks {
    double copy[SETTINGS_MOST];
} Peaks;

static void measure_peaks(const Plan *plan, Peaks *peaks)
{
    printf("%-*s", NAME_WIDTH, "peaks of this machine");
    for (int t = 0; t < plan->n_threads; t++) report_cell(32, "%d thread%s", plan->threads[t], plan->threads[t] > 1 ? "s" : "");
    report_line("%s", "");
    const Peak *peak;
    for (int p = 0; (peak = peaks_get(p)); p++) {
        printf("%-*s", NAME_WIDTH, peak->name);
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
            report_cell(32, "%s", figure_text(figure, p == PEAK_COPY ? 1 : 0));
            if (p == PEAK_COPY) peaks->copy[t] = figure.median;
        }
        report_line("%s", there ? peak->unit[1] == 'F' ? "  GFLOP/s" : "  GB/s" : "  (this CPU or build has none)");
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
    printf("  %-18s%-9s", row->name, row->pass);
    if (row->calls > 0) report_cell(6, "%.0f", row->calls);
    else report_cell(6, "%s", "");
    report_cell(11, "%s", figure_number(1e3 * row->seconds.median, 2));
    report_cell(9, "%s", figure_number(1e3 * row->seconds.low, 2));
    report_cell(9, "%s", figure_number(1e3 * row->seconds.high, 2));
    report_cell(8, "%.1f%%", 100 * row->seconds.median / r->step.median);
    if (row->work.operations > 0) {
        report_cell(10, "%.0f", operations);
        report_cell(8, "%.0f%%", 100 * operations / r->sgemm.median);
    } else if (row->work.bytes > 0) {
        report_cell(28, "%.1f", bytes);
        report_cell(8, "%.0f%%", 100 * bytes / copy);
    }
    report_line("%s", "");
    char quantity[96];
    snprintf(quantity, sizeof quantity, "%s%s%s", row->name, *row->pass ? " " : "", row->pass);
    report_row(shape, r->n_threads, quantity, "s", row->seconds);
    if (row->work.operations > 0)
        report_row(shape, r->n_threads, quantity, "GFLOP/s",
                   figure_scaled(figure_inverse(row->seconds), row->work.operations / 1e9));
    else if (row->work.bytes > 0)
        report_row(shape, r->n_threads, quantity, "GB/s", figure_scaled(figure_inverse(row->seconds), row->work.bytes / 1e9));
}

static void print_ops(const char *shape, const StepReport *r, double copy)
{
    const double parameter_bytes = (double)r->n_parameters * sizeof(real);
    printf("  %-18s%-9s", "op", "");
    report_line("%6s%11s%9s%9s%9s%10s%8s%10s%8s", "calls", "ms a step", "lowest", "highest", "of step", "GFLOP/s", "of peak",
                "GB/s", "of copy");
    print_row(shape, &(Row){"batch, zeros", "", 0, r->first, {0, 0}}, r, copy);
    double sum = r->first.median + r->between.median + r->last.median;
    for (int backward = 0; backward <= 1; backward++)
        for (int i = 0; i < N_OPS; i++) {
            if (!(r->calls[i][backward] > 0)) continue;
            print_row(shape, &(Row){stepper_ops[i]->name, backward ? "backward" : "forward", r->calls[i][backward],
                                    r->op[i][backward], workload_of(stepper_ops[i], backward, &r->config, &r->counts)}, r, copy);
            sum += r->op[i][backward].median;
        }
    print_row(shape, &(Row){"between ops", "", 0, r->between, {0, 0}}, r, copy);
    /* the norm reads the gradient; Adam reads weight, gradient, m, v and writes all but the gradient */
    print_row(shape, &(Row){"norm, Adam", "", 0, r->last, {0, 8 * parameter_bytes}}, r, copy);
    report_line("  the rows' sum is %.1f%% of the step; making batches alone takes %s ms", 100 * sum / r->step.median,
                figure_text(figure_scaled(r->batch, 1e3), 3));
}

static void print_step(const char *shape, const StepReport *r, const Figure *one_thread)
{
    char resident[FIGURE_SIZE] = "unknown", arena[FIGURE_SIZE];
    const Figure rate = figure_scaled(figure_inverse(r->step), r->counts.target);
    progress_bytes(arena, r->arena);
    if (r->resident > 0) progress_bytes(resident, r->resident);
    report_line("%s", "");
    report_line("%s, %d thread%s: %s target tokens/s; %s ms a step (%d steps a time)", shape, r->n_threads,
                r->n_threads > 1 ? "s" : "", figure_text(rate, 0), figure_text(figure_scaled(r->step, 1e3), 1), r->n_steps);
    report_line("  %s GFLOP/s, sgemm beside it %s: %s%% of the peak", figure_text(r->gflops, 0), figure_text(r->sgemm, 0),
                figure_text(figure_scaled(r->share, 100), 1));
    report_line("  memory: arena %s, resident %s%s%s", arena, resident, one_thread ? "; speed-up from one thread " : "",
                one_thread ? figure_number(one_thread->median / r->step.median, 2) : "");
    const int n = r->n_threads;
    report_row(shape, n, "target tokens", "tokens/s", rate);
    report_row(shape, n, "step", "s", r->step);
    report_row(shape, n, "step", "GFLOP/s", r->gflops);
    report_row(shape, n, "sgemm beside it", "GFLOP/s", r->sgemm);
    report_row(shape, n, "of the sgemm peak", "1", r->share);
    report_row(shape, n, "batches alone", "s", r->batch);
    report_value(shape, n, "arena", "bytes", r->arena);
    if (r->resident > 0) report_value(shape, n, "resident", "bytes", r->resident);
    if (one_thread) report_value(shape, n, "speed-up", "1", one_thread->median / r->step.median);
}

static bool measure_shape(const Plan *plan, const Peaks *peaks, const char *shape, Error *error)
{
    Figure one_thread = {0, 0, 0};
    for (int t = 0; t < plan->n_threads; t++) {
        StepPlan step = {.lengths = MULTI30K_LENGTHS, .repeat = plan->repeat, .seconds = plan->seconds, .beside_sgemm = true};
        StepReport report;
        if (!workload_options(&step.options, shape, error)) return false;
        step.options.train_threads = plan->threads[t];
        const bool good = stepper_measure(&step, &report, error);
        options_free(&step.options);
        if (!good) return false;
        if (t == 0) {
            char count[FIGURE_SIZE];
            const ModelConfig *c = &report.config;
            report_line("%s", "");
            report_line("%s: %s parameters, d_model %d, d_ff %d, %d + %d layers, vocabulary %d; a step has %s target tokens "
                        "and %s GFLOP in products; products by %s", shape, progress_count(count, (double)report.n_parameters),
                        c->d_model, c->d_ff, c->encoder_layers, c->decoder_layers, c->vocab_size,
                        figure_number(report.counts.target, 0),
                        figure_number(workload_operations(c, &report.counts) / 1e9, 1), matmul_name());
        }
        if (report.n_threads == 1) one_thread = report.step;
        print_step(shape, &report, one_thread.median > 0 && report.n_threads > 1 ? &one_thread : NULL);
        print_ops(shape, &report, peaks->copy[t]);
    }
    return true;
}

bool bench_train(Error *error)
{
    Plan plan;
    if (!settings_words("SHAPES", "toy multi30k base", plan.shapes, &plan.n_shapes, error) ||
        !settings_ints("THREADS", threads_count() > 1 ? "1 2" : "1", 1, 1024, plan.threads, &plan.n_threads, error) ||
        !settings_int("REPEAT", "5", 1, FIGURE_RUNS, &plan.repeat, error) ||
        !settings_real("SECONDS", "0.5", &plan.seconds, error))
        return false;
    report_line("medians of %d, with the lowest and the highest; kernels %s, sgemm by %s %s", plan.repeat, kernel.name,
                blas_name() ? "OpenBLAS" : "our kernel: there is no OpenBLAS;", blas_name() ? blas_name() : kernel.name);
    Peaks peaks;
    measure_peaks(&plan, &peaks);
    for (int i = 0; i < plan.n_shapes; i++)
        if (!measure_shape(&plan, &peaks, plan.shapes[i], error)) return false;
    return true;
}
