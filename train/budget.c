#include "train/budget.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/threads.h"
#include "data/batches.h"
#include "model/footprint.h"
#include "system/control_groups.h"
#include "system/progress.h"
#include "train/tree_sum.h"

/* ---- what there is ---- */

static void lower(Budget *budget, uint64_t bytes, const char *bound, bool of_addresses)
{
    if (bytes < budget->bytes) *budget = (Budget){bytes, bound, of_addresses};
}

static uint64_t minus(uint64_t limit, uint64_t used)
{
    return limit > used ? limit - used : 0;
}

/* The names of a version's files, and the line of memory.stat with the file cache, which is given up when memory is short. */
static const struct Control {
    const char *limit, *used, *cache;
} controls[] = {
    {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
    {"memory.max", "memory.current", "inactive_file "},
};

static void lower_by_group(void *context, const char *folder, int version)
{
    const struct Control *control = &controls[version - 1];
    uint64_t limit, used, cache = 0;
    if (!control_groups_number(folder, control->limit, "", &limit) || !control_groups_number(folder, control->used, "", &used))
        return;
    control_groups_number(folder, "memory.stat", control->cache, &cache);
    lower(context, minus(limit, minus(used, cache)), "the memory limit of this container or control group", false);
}

/* ulimit -v and -d. What is in use already is counted in pages, the second and the sixth number of statm. */
static void lower_by_limits(Budget *budget)
{
    uint64_t pages[6] = {0};
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return;
    for (int i = 0; i < 6; i++)
        /* NOLINTNEXTLINE(cert-err34-c): the kernel writes numbers that fit */
        if (fscanf(file, "%" SCNu64, &pages[i]) != 1) pages[i] = 0;
    fclose(file);
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit;
    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY)
        lower(budget, minus(limit.rlim_cur, page * pages[0]), "the process's limit, ulimit -v", true);
    if (!getrlimit(RLIMIT_DATA, &limit) && limit.rlim_cur != RLIM_INFINITY)
        lower(budget, minus(limit.rlim_cur, page * pages[5]), "the process's limit, ulimit -d", true);
}

Budget budget_available(const char *root)
{
    Budget budget = {UINT64_MAX, "nothing", false};
    uint64_t kilobytes;
    char *proc = mem_format("%s/proc", root);
    if (control_groups_number(proc, "meminfo", "MemAvailable:", &kilobytes))
        lower(&budget, kilobytes * 1024, "what this machine has left", false);
    mem_free(proc);
    control_groups_visit(root, "memory", lower_by_group, &budget);
    lower_by_limits(&budget);
    return budget;
}

/* ---- what is needed ---- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Sentences of the validation set are translated decode.batch_tokens at a time; the shortest has a token and EOS. */
static uint64_t search_bytes(const Options *o, const ModelConfig *config, const BudgetText *text)
{
    const int64_t n_source = least(o->decode_batch_tokens, text->n_valid_source), n_seq = least(n_source / 2, text->n_valid);
    const double n_rows = o->decode_max_ratio * (double)n_source + (double)(o->decode_max_extra * n_seq);
    return footprint_search(config, (size_t)n_source, (size_t)n_seq, (size_t)n_rows, 1);
}

/* The batches of a step, all of which are there at once: buffers that grow by doubling, a number a source token and two a target
 * token; however many there may be, they come from one epoch. */
static uint64_t batches_bytes(const Options *o, const BudgetText *text, int64_t most)
{
    const double n = (double)o->train_accumulate * (double)most;
    const double n_source = fmin(n, (double)text->n_source), n_target = fmin(n, (double)text->n_target);
    return (uint64_t)o->train_accumulate * sizeof(BatchBuffer) + (uint64_t)(2 * sizeof(int32_t) * (n_source + 2 * n_target));
}

BudgetNeed budget_need(const Options *o, const ModelConfig *config, const BudgetText *text, bool of_addresses)
{
    enum { ALWAYS = 16 << 20, STACK = 10 << 20, HEAP = 64 << 20 }; /* HEAP: addresses that malloc sets aside for a thread */
    const int64_t longest = least(o->data_max_length + 1, text->n_source > text->n_target ? text->n_source : text->n_target);
    const int64_t most = o->train_batch_tokens > longest ? o->train_batch_tokens : longest; /* a long pair is one batch */
    const size_t n_source = (size_t)least(most, text->n_source), n_target = (size_t)least(most, text->n_target);
    const uint64_t parameters = footprint_parameters(config) * sizeof(real);
    const int n_threads = threads_count();
    const uint64_t n_blocks = (o->train_ema > 0 ? 5 : 4) + (uint64_t)tree_sum_held(o->train_accumulate);
    BudgetNeed need = {
        .model = n_blocks * parameters + ALWAYS + (uint64_t)n_threads * (of_addresses ? STACK + HEAP : STACK),
        .arena = footprint_step(config, n_source, n_target, (size_t)longest, n_threads),
    };
    need.step = need.arena + footprint_gradients(config, n_source, n_target) + batches_bytes(o, text, most);
    if (text->n_valid) need.validation = parameters + (of_addresses ? 2 : 1) * search_bytes(o, config, text);
    need.total = need.model + need.step + need.validation;
    return need;
}

/* Halve what takes most, again and again, until it fits. A run that goes on can only translate less at a time. */
static char *way_out(const Options *options, const ModelConfig *config, const BudgetText *text, bool resumes,
                     const Budget *available)
{
    enum { FEWEST = 64 };
    Options smaller = *options; /* its texts are lent */
    BudgetNeed need = budget_need(options, config, text, available->of_addresses);
    while (need.total > available->bytes) {
        if (resumes || need.validation > need.step) {
            if ((smaller.decode_batch_tokens /= 2) < FEWEST) break;
        } else {
            if ((smaller.train_batch_tokens /= 2) < FEWEST) break;
            smaller.train_accumulate *= 2;
        }
        need = budget_need(&smaller, config, text, available->of_addresses);
    }
    if (need.total > available->bytes)
        return mem_format("%stake a smaller model (model.d_model, model.d_ff, layers, data.vocab_size)",
                          resumes ? "in another folder (--run) " : "");
    char size[FIGURE_SIZE], step[100] = "", decode[80] = "";
    if (smaller.train_batch_tokens < options->train_batch_tokens)
        snprintf(step, sizeof step, " --batch-tokens %" PRId64 " --accumulate %" PRId64, smaller.train_batch_tokens,
                 smaller.train_accumulate);
    if (smaller.decode_batch_tokens < options->decode_batch_tokens)
        snprintf(decode, sizeof decode, " --set decode.batch_tokens=%" PRId64, smaller.decode_batch_tokens);
    return mem_format("do the same in smaller portions: %s%s needs %s", step + (*step != 0), decode + (!*step && *decode),
                      progress_bytes(size, (double)need.total));
}

bool budget_check(const Options *options, const ModelConfig *config, const BudgetText *text, bool resumes,
                  const Budget *available, Error *error)
{
    const BudgetNeed need = budget_need(options, config, text, available->of_addresses);
    if (need.total <= available->bytes) return true;
    char total[FIGURE_SIZE], model[FIGURE_SIZE], step[FIGURE_SIZE], validation[FIGURE_SIZE], there[FIGURE_SIZE];
    char *way = way_out(options, config, text, resumes, available);
    error_set(error,
              "training may need %s of memory (model and optimizer %s, a step %s, validation %s), but only %s is there (%s). "
              "Free some, or %s",
              progress_bytes(total, (double)need.total), progress_bytes(model, (double)need.model),
              progress_bytes(step, (double)need.step), progress_bytes(validation, (double)need.validation),
              progress_bytes(there, (double)available->bytes), available->bound, way);
    mem_free(way);
    return false;
}
