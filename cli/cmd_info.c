/* What computes here, what a run holds, what a configuration would train. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "core/blas.h"
#include "core/compute.h"
#include "core/matmul.h"
#include "core/threads.h"
#include "model/footprint.h"
#include "run/machine.h"
#include "run/parent.h"
#include "run/run.h"
#include "system/progress.h"
#include "train/budget.h"

/* "model name : ..." of Linux; "" elsewhere */
static void cpu_name(char *name, size_t size)
{
    *name = '\0';
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file) return;
    char line[256];
    while (!*name && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon) continue;
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(name, size, "%s", colon + 1 + strspn(colon + 1, " "));
    }
    fclose(file);
}

static void describe_machine(const Compute *compute)
{
    char name[128], products[COMPUTE_NAME];
    cpu_name(name, sizeof name);
    printf("version\t%s\n", FERRY_VERSION);
    printf("cpu\t%s\n", *name ? name : "unknown");
    printf("instruction sets\t");
    for (int i = 0; kernels_get(i); i++) printf("%s%s", i ? " " : "", kernels_get(i)->name);
    printf("\nkernels\t%s\nproducts\t%s\n", compute->kernels->name, compute_name(compute, PRECISION_FP32, products));
    printf("products in bf16\t%s\n", matmul_can(compute, PRECISION_BF16) ? compute_name(compute, PRECISION_BF16, products) : "none here: fp32 instead");
    printf("products in int8\t%s\nthreads\t%d\n", compute_name(compute, PRECISION_INT8, products), threads_count());
    Error missing = {0};
    const Blas *blas = blas_load(&missing);
    if (blas) printf("openblas\t%s\n", blas->name);
    else printf("openblas\tnot used: %s\n", missing.text);
}

/* A component and the beginning of the names of its parameters, or the part that they contain. */
static const struct Component {
    const char *name, *part;
} components[] = {
    {"embeddings", "embedding.weight"},     {"output projection", "output_projection"},
    {"self-attention", ".self_attention."}, {"cross-attention", ".cross_attention."},
    {"feed-forward", ".feed_forward."},     {"norms", "norm."},
};

static void describe_run(const Run *run)
{
    const Params *params = &run->model->params;
    const TrainState *s = &run->checkpoint.state;
    printf("run\t%s\ncheckpoint\t%s\n", run->folder, run->checkpoint.path);
    printf("steps\t%" PRId64 "\nepochs\t%" PRId64 "\n", s->step, s->epoch);
    if (s->best_step)
        printf("best score\t%s %.4f at step %" PRId64 "\n",
               run->options.train_best == BEST_LOSS ? "validation loss" : "validation BLEU",
               run->options.train_best == BEST_LOSS ? -s->best_score : s->best_score, s->best_step);
    if (run->checkpoint.origin.averaged) printf("mean of\t%s\n", run->checkpoint.origin.averaged);
    if (checkpoint_has_ema(&run->checkpoint))
        printf("weights\t%s, train.ema = %g\n",
               run->options.decode_weights == WEIGHTS_EMA ? "moving average" : "raw, beside a moving average",
               run->options.train_ema);
    printf("trained by\t%s\n", run->checkpoint.origin.kernel);
    options_print_section(stdout, &run->options, "model");
    printf("vocabulary\t%d\n", run->model->config.vocab_size);
    printf("parameters\t%zu\t100.0%%\n", params->size);
    for (size_t c = 0; c < sizeof components / sizeof *components; c++) {
        size_t n = 0;
        for (int p = 0; p < params->n; p++)
            if (strstr(params->param[p].name, components[c].part))
                n += (size_t)params->param[p].rows * (size_t)params->param[p].cols;
        if (n) printf("  %s\t%zu\t%.1f%%\n", components[c].name, n, 100.0 * (double)n / (double)params->size);
    }
}

/* ---- a configuration ---- */

/* The vocabulary that training would have: that of the run that it begins with, or what data.vocab_size asks for. */
static bool vocabulary_of(const Options *o, int *size, Error *error)
{
    *size = (int)o->data_vocab_size;
    if (!*o->train_init_from) return true;
    Parent parent = {0};
    Tokenizer *tokenizer = parent_open(&parent, o, error) ? run_tokenizer(parent.folder, &parent.checkpoint, error) : NULL;
    if (tokenizer) *size = tokenizer_size(tokenizer);
    const bool good = tokenizer != NULL;
    tokenizer_free(tokenizer);
    parent_close(&parent);
    return good;
}

static void print_bytes(const char *name, uint64_t bytes, const char *unit)
{
    char figure[FIGURE_SIZE];
    printf("%s\t%s%s\n", name, progress_bytes(figure, (double)bytes), unit);
}

/* Texts are taken to be larger than a batch. */
static void describe_plan(const Options *o, int vocab_size)
{
    const ModelConfig config = run_model_config(o, vocab_size);
    const bool validates = *o->data_valid_source != '\0';
    const BudgetText text = {.n_source = INT64_MAX, .n_target = INT64_MAX, .n_valid = validates ? INT64_MAX : 0,
                             .n_valid_source = validates ? INT64_MAX : 0};
    const BudgetNeed need = budget_need(o, &config, &text, false);
    const Budget available = budget_available("");
    options_print_section(stdout, o, "model");
    printf("vocabulary\t%d\nparameters\t%zu\n", vocab_size, footprint_parameters(&config));
    print_bytes("memory to train", need.total, ", at most");
    print_bytes("  model and optimizer", need.model, "");
    print_bytes("  a step", need.step, "");
    print_bytes("  validation", need.validation, "");
    char there[FIGURE_SIZE];
    printf("memory there is\t%s (%s)\n", progress_bytes(there, (double)available.bytes), available.bound);
}

static bool info_of_run(const CommandLine *line, Error *error)
{
    if (line->n_arguments) return error_usage(error, "info describes a model (-m) or a configuration, not both");
    if (line->n_models > 1) return error_usage(error, "info takes one model; -m is given more than once");
    Run run;
    if (!run_open(&run, line->flag[FLAG_MODEL], &line->settings, error)) return false;
    describe_machine(&run.compute);
    describe_run(&run);
    run_close(&run);
    return true;
}

bool cmd_info(CommandLine *line, Error *error)
{
    if (line->flag[FLAG_MODEL]) return info_of_run(line, error);
    const char *config = line->n_arguments ? line->argument[0] : NULL;
    Options options;
    if (!options_load(&options, config, &line->settings, error)) return false;
    Compute compute;
    int vocab_size = 0;
    const bool good = machine_start(&options, &compute, error) && (!config || vocabulary_of(&options, &vocab_size, error));
    if (good) describe_machine(&compute);
    if (good && config) describe_plan(&options, vocab_size);
    options_free(&options);
    return good;
}
