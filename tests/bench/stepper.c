#include "tests/bench/stepper.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/threads.h"
#include "tests/bench/peaks.h"
#include "train/setup.h"
#include "train/trainer.h"

const OpDef *const stepper_ops[N_OPS] = {
#define OP(name) &op_##name,
#include "autograd/ops.def"
#undef OP
};

/* ---- the clock that watches the tape ---- */

typedef struct OpClock {
    TapeObserver observer;
    double seconds[N_OPS][2], calls[N_OPS][2];
    double entered, left;  /* the last op's begin and end */
    double first, between; /* before a step's first op, between its ops; summed over steps like the others */
    double started;        /* of the step; 0 once its first op has begun */
} OpClock;

static int index_of(const OpDef *op)
{
    int i = 0;
    while (stepper_ops[i] != op) i++;
    return i;
}

static void before(TapeObserver *observer, const OpDef *op, bool backward)
{
    (void)op;
    (void)backward;
    OpClock *clock = (OpClock *)observer;
    clock->entered = progress_clock();
    if (clock->started > 0) clock->first += clock->entered - clock->started;
    else clock->between += clock->entered - clock->left;
    clock->started = 0;
}

static void after(TapeObserver *observer, const OpDef *op, bool backward)
{
    OpClock *clock = (OpClock *)observer;
    clock->left = progress_clock();
    const int i = index_of(op);
    clock->seconds[i][backward] += clock->left - clock->entered;
    clock->calls[i][backward]++;
}

/* ---- memory ---- */

/* Let the system's record of the most resident memory start anew; false where it can't. */
static bool forget_peak(void)
{
    const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (file < 0) return false;
    const bool good = write(file, "5", 1) == 1;
    close(file);
    return good;
}

static double resident_peak(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    long kilobytes = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %ld", &kilobytes) == 1) break;
    if (file) fclose(file);
    return 1024.0 * (double)kilobytes;
}

/* ---- the steps ---- */

enum { N_BATCHES = 64 }; /* of an epoch; as many steps are made at most */

/* The bitext must live as long as the trainer. */
static bool trainer_open(Trainer *t, Bitext *bitext, const StepPlan *plan, Error *error)
{
    *t = (Trainer){.options = &plan->options, .folder = "the bench", .claim.lock = -1};
    const int vocab_size = (int)plan->options.data_vocab_size;
    t->tokenizer = workload_tokenizer(vocab_size);
    *bitext = workload_bitext(vocab_size, plan->lengths,
                              (N_BATCHES + 1) * plan->options.train_batch_tokens * plan->options.train_accumulate);
    if (!setup_machine(t, error) || !setup_model(t, error)) return false;
    t->batches.bitext = bitext;
    return true;
}

/* `n` steps from the start of the epoch, so that each time has the same batches. Adds to the clock, to *last what came after
 * the last op, and to *counts. */
static bool make_steps(Trainer *t, int n, OpClock *clock, double *seconds, double *last, Counts *counts, Error *error)
{
    t->batches.epoch = 0;
    t->batches.position = 0;
    for (int i = 0; i < n; i++) {
        const double started = progress_clock();
        clock->started = started;
        if (!trainer_step(t, error)) return false;
        const double ended = progress_clock();
        *seconds += ended - started;
        *last += ended - clock->left;
        for (int64_t b = 0; b < t->options->train_accumulate; b++) workload_count(counts, &t->batch[b].batch);
    }
    return true;
}

/* The batches of n steps alone. */
static double batch_seconds(Trainer *t, int n)
{
    t->batches.epoch = 0;
    t->batches.position = 0;
    const double started = progress_clock();
    for (int i = 0; i < n; i++)
        for (int64_t b = 0; b < t->options->train_accumulate; b++) batches_next(&t->batches, &t->batch[b]);
    return (progress_clock() - started) / n;
}

/* How many steps take `seconds`, after warming up. */
static bool plan_steps(Trainer *t, double seconds, int *n_steps, Error *error)
{
    double total = 0, ignored = 0;
    Counts counts = {0};
    OpClock clock = {.observer = {before, after}};
    t->tape.observer = &clock.observer;
    bool good = make_steps(t, 2, &clock, &total, &ignored, &counts, error); /* takes the memory */
    if (!good || total >= 2 * seconds) {
        *n_steps = 1;
        return good;
    }
    total = 0;
    if (!make_steps(t, 2, &clock, &total, &ignored, &counts, error)) return false;
    const double n = 2 * seconds / total + 0.999;
    *n_steps = n > N_BATCHES ? N_BATCHES : (int)n;
    return true;
}

typedef struct Runs {
    double step[FIGURE_RUNS], op[N_OPS][2][FIGURE_RUNS], first[FIGURE_RUNS], between[FIGURE_RUNS], last[FIGURE_RUNS],
        batch[FIGURE_RUNS], gflops[FIGURE_RUNS], sgemm[FIGURE_RUNS], share[FIGURE_RUNS];
} Runs;

/* Repetition r into `runs`, memory and counts into the report. */
static bool repeat(Trainer *t, const StepPlan *plan, int r, Runs *runs, StepReport *report, Error *error)
{
    const int n = report->n_steps;
    double seconds = 0, last = 0;
    Counts counts = {0};
    OpClock clock = {.observer = {before, after}};
    runs->sgemm[r] = plan->beside_sgemm ? peaks_sgemm() : 1;
    t->tape.observer = &clock.observer;
    const bool tells = forget_peak();
    if (!make_steps(t, n, &clock, &seconds, &last, &counts, error)) return false;
    const double resident = tells ? resident_peak() : 0;
    if (resident > report->resident) report->resident = resident;
    report->counts = workload_scaled(counts, 1.0 / n);
    runs->step[r] = seconds / n;
    runs->first[r] = clock.first / n;
    runs->between[r] = clock.between / n;
    runs->last[r] = last / n;
    runs->batch[r] = batch_seconds(t, n);
    runs->gflops[r] = workload_operations(&report->config, &report->counts) / runs->step[r] / 1e9;
    runs->share[r] = runs->gflops[r] / runs->sgemm[r];
    for (int i = 0; i < N_OPS; i++)
        for (int backward = 0; backward <= 1; backward++) {
            runs->op[i][backward][r] = clock.seconds[i][backward] / n;
            report->calls[i][backward] = clock.calls[i][backward] / n;
        }
    return true;
}

static void summarize(const Runs *runs, int n, StepReport *report)
{
    report->step = figure_of(runs->step, n);
    report->first = figure_of(runs->first, n);
    report->between = figure_of(runs->between, n);
    report->last = figure_of(runs->last, n);
    report->batch = figure_of(runs->batch, n);
    report->gflops = figure_of(runs->gflops, n);
    report->sgemm = figure_of(runs->sgemm, n);
    report->share = figure_of(runs->share, n);
    for (int i = 0; i < N_OPS; i++)
        for (int backward = 0; backward <= 1; backward++) report->op[i][backward] = figure_of(runs->op[i][backward], n);
}

bool stepper_measure(const StepPlan *plan, StepReport *report, Error *error)
{
    Trainer t;
    Bitext bitext;
    static Runs runs;
    *report = (StepReport){0};
    bool good = trainer_open(&t, &bitext, plan, error) && plan_steps(&t, plan->seconds, &report->n_steps, error);
    if (good) {
        snprintf(report->kernel, sizeof report->kernel, "%s", t.compute_name);
        report->n_parameters = t.model->params.size;
        report->n_threads = threads_count();
        report->config = t.model->config;
    }
    for (int r = 0; r < plan->repeat && good; r++) good = repeat(&t, plan, r, &runs, report, error);
    if (good) summarize(&runs, plan->repeat, report);
    report->arena = (double)(t.tape.arena.peak + tape_gradient_bytes(&t.tape));
    setup_close(&t);
    bitext_free(&bitext);
    return good;
}
