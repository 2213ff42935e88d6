/* Does training fit into memory? Asked before it takes any. */
#ifndef FERRY_TRAIN_BUDGET_H
#define FERRY_TRAIN_BUDGET_H

#include <stdint.h>

#include "core/error.h"
#include "model/model.h"
#include "options/options.h"

/* Memory that this process may still take, and what bounds it, for people. */
typedef struct Budget {
    uint64_t bytes;
    const char *bound;
    bool of_addresses; /* what is asked for counts, not what is used */
} Budget;

/* The least of: what the machine has left, what the control groups that this process is in leave it, and its own limits.
 * `root` stands before /proc and /sys: "", but for tests. */
Budget budget_available(const char *root);

/* The texts: tokens of the training pairs on each side; sentences and tokens of the validation sources (0: there are none). */
typedef struct BudgetText {
    int64_t n_source, n_target, n_valid, n_valid_source;
} BudgetText;

/* What training takes, in bytes. */
typedef struct BudgetNeed {
    uint64_t model;      /* parameters, gradients (those of a step's batches that wait, too), Adam's moments, moving average */
    uint64_t arena;      /* of a step on the largest batch that there may be */
    uint64_t step;       /* with its gradients and all its batches */
    uint64_t validation; /* the weights once more, packed, and the search, whose arenas grow by doubling: twice of addresses */
    uint64_t total;
} BudgetNeed;

BudgetNeed budget_need(const Options *options, const ModelConfig *config, const BudgetText *text, bool of_addresses);

/* An error that names what is needed, what there is, and a way out, unless it fits. */
bool budget_check(const Options *options, const ModelConfig *config, const BudgetText *text, bool resumes,
                  const Budget *available, Error *error);

#endif
