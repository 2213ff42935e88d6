/* What computes here, and what a run holds. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "core/blas.h"
#include "core/compute.h"
#include "core/matmul.h"
#include "core/threads.h"
#include "run/machine.h"
#include "run/run.h"
#include "system/progress.h"

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
    printf("trained by\t%s\nvocabulary\t%d\n", run->checkpoint.origin.kernel, run->model->config.vocab_size);
    printf("parameters\t%zu\t100.0%%\n", params->size);
    for (size_t c = 0; c < sizeof components / sizeof *components; c++) {
        size_t n = 0;
        for (int p = 0; p < params->n; p++)
            if (strstr(params->param[p].name, components[c].part))
                n += (size_t)params->param[p].rows * (size_t)params->param[p].cols;
        if (n) printf("  %s\t%zu\t%.1f%%\n", components[c].name, n, 100.0 * (double)n / (double)params->size);
    }
}

bool cmd_info(CommandLine *line, Error *error)
{
    if (line->flag[FLAG_MODEL]) {
        Run run;
        if (line->n_models > 1) return error_usage(error, "info takes one model; -m is given twice");
        if (!run_open(&run, line->flag[FLAG_MODEL], &line->settings, error)) return false;
        describe_machine(&run.compute);
        describe_run(&run);
        run_close(&run);
        return true;
    }
    Options options;
    if (!options_load(&options, NULL, &line->settings, error)) return false;
    Compute compute;
    bool good = machine_start(&options, &compute, error);
    if (good) describe_machine(&compute);
    options_free(&options);
    return good;
}
