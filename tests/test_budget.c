/* train/budget: what memory there is, in a made-up /proc and /sys, and what is said if it won't do. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "core/kernels.h"
#include "core/memory.h"
#include "core/threads.h"
#include "data/batches.h"
#include "model/footprint.h"
#include "run/run.h"
#include "tests/suites.h"
#include "tests/temp.h"
#include "train/budget.h"

static char *root;

static void setup(void)
{
    root = temp_folder();
    threads_set(2);
}

static void teardown(void)
{
    temp_remove(root);
}

static void put(const char *path, const char *text)
{
    temp_put(root, path, text);
}

static void assert_available(uint64_t bytes, const char *bound)
{
    const Budget budget = budget_available(root);
    ck_assert_uint_eq(budget.bytes, bytes);
    ck_assert_msg(strstr(budget.bound, bound) != NULL, "%s", budget.bound);
}

START_TEST(the_machine)
{
    assert_available(UINT64_MAX, "nothing");
    put("proc/meminfo", "MemTotal:       100000 kB\nMemFree:          5000 kB\nMemAvailable:    70000 kB\nBuffers: 1 kB\n");
    assert_available(70000 * 1024, "this machine");
}
END_TEST

START_TEST(control_groups)
{
    put("proc/meminfo", "MemAvailable:    70000 kB\n");
    put("proc/self/cgroup", "0::/jobs/mine\n");
    put("sys/fs/cgroup/jobs/mine/memory.max", "max\n");
    put("sys/fs/cgroup/jobs/mine/memory.current", "100\n");
    assert_available(70000 * 1024, "this machine");
    put("sys/fs/cgroup/jobs/memory.max", "5000000\n"); /* that of a group above counts */
    put("sys/fs/cgroup/jobs/memory.current", "2000000\n");
    assert_available(3000000, "container");
    put("sys/fs/cgroup/jobs/memory.stat", "anon 5\nfile 7\ninactive_file 500000\n"); /* the file cache gives way */
    assert_available(3500000, "container");
    put("sys/fs/cgroup/jobs/mine/memory.max", "2000000\n"); /* as does the smaller limit */
    assert_available(1999900, "container");
    put("sys/fs/cgroup/jobs/mine/memory.current", "3000000\n"); /* lowered afterwards, perhaps */
    assert_available(0, "container");
}
END_TEST

START_TEST(control_groups_of_the_first_version)
{
    put("proc/self/cgroup", "9:name=systemd:/\n4:memory:/not/seen/in/here\n0::/\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "8000000\n");
    put("sys/fs/cgroup/memory/memory.usage_in_bytes", "3000000\n");
    put("sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 1000000\n");
    assert_available(6000000, "container");
}
END_TEST

START_TEST(limits_of_the_process)
{
    static const int resources[] = {RLIMIT_DATA, RLIMIT_AS};
    static const char *const names[] = {"ulimit -d", "ulimit -v"};
    for (int i = 0; i < 2; i++) {
        struct rlimit old, low;
        getrlimit(resources[i], &old);
        low = (struct rlimit){(rlim_t)1 << 50, old.rlim_max}; /* more than even AddressSanitizer takes */
        ck_assert_int_eq(setrlimit(resources[i], &low), 0);
        const Budget budget = budget_available(root);
        setrlimit(resources[i], &old);
        ck_assert_msg(strstr(budget.bound, names[i]) != NULL, "%s", budget.bound);
        ck_assert(budget.bytes < low.rlim_cur && budget.bytes > low.rlim_cur / 2);
    }
}
END_TEST

/* ---- what is said ---- */

static const BudgetText text = {.n_source = 1000000, .n_target = 1100000, .n_valid = 500, .n_valid_source = 6000};

static char *refusal(const Options *options, bool resumes, uint64_t bytes)
{
    Error error = {0};
    const ModelConfig config = run_model_config(options, (int)options->data_vocab_size);
    const Budget available = {bytes, "by decree", false};
    ck_assert(!budget_check(options, &config, &text, resumes, &available, &error));
    ck_assert_int_eq(error.code, ERROR_FAILED);
    ck_assert_ptr_nonnull(strstr(error.text, "by decree"));
    return mem_string(error.text);
}

/* What the message proposes fits, and trains on as many tokens a step. */
static void assert_proposal_fits(const Options *options, bool resumes, uint64_t bytes)
{
    char *message = refusal(options, resumes, bytes);
    Options proposed = *options;
    const char *step = strstr(message, "--batch-tokens "), *decode = strstr(message, "decode.batch_tokens=");
    ck_assert_msg(step || decode, "%s", message);
    if (step) ck_assert(!resumes);
    int batch_tokens, accumulate, decode_tokens;
    if (step && sscanf(step, "--batch-tokens %d --accumulate %d", &batch_tokens, &accumulate) == 2) {
        proposed.train_batch_tokens = batch_tokens;
        proposed.train_accumulate = accumulate;
    }
    if (decode && sscanf(decode, "decode.batch_tokens=%d", &decode_tokens) == 1) proposed.decode_batch_tokens = decode_tokens;
    ck_assert_int_eq(proposed.train_batch_tokens * proposed.train_accumulate,
                     options->train_batch_tokens * options->train_accumulate);
    const ModelConfig config = run_model_config(options, (int)options->data_vocab_size);
    const Budget available = {bytes, "by decree", false};
    Error error = {0};
    ck_assert_msg(budget_check(&proposed, &config, &text, resumes, &available, &error), "%s\n%s", message, error.text);
    mem_free(message);
}

START_TEST(what_does_not_fit_is_refused_with_a_way_out)
{
    Error error = {0};
    Options options;
    options_init(&options);
    ck_assert(options_set(&options, "", "data.valid_source", "valid.en", &error));
    const ModelConfig config = run_model_config(&options, (int)options.data_vocab_size);
    const BudgetNeed need = budget_need(&options, &config, &text, false);
    ck_assert_uint_eq(need.total, need.model + need.step + need.validation);
    ck_assert(budget_check(&options, &config, &text, false, &(Budget){need.total, "by decree", false}, &error));
    ck_assert(!budget_check(&options, &config, &text, false, &(Budget){need.total, "by decree", true}, &error));
    /* with less, more batches a step take for their gradients what smaller ones save */
    for (uint64_t share = 2; share <= 6; share++)
        assert_proposal_fits(&options, false, need.total - (need.step + need.validation) * share / 9);
    assert_proposal_fits(&options, true, need.total - need.validation / 4);
    char *message = refusal(&options, true, need.model + need.step / 2);
    ck_assert_msg(strstr(message, "in another folder (--run) take a smaller model") != NULL, "%s", message);
    mem_free(message);
    message = refusal(&options, false, need.model / 2);
    ck_assert_msg(strstr(message, "or take a smaller model") != NULL, "%s", message);
    mem_free(message);
    for (int n = 1; n <= 9; n++) { /* the most sums that wait for their right neighbours: see train/tree_sum.h */
        static const uint64_t waiting[] = {0, 1, 1, 2, 2, 2, 2, 3, 3};
        Options several = options;
        several.train_accumulate = n;
        const BudgetNeed more = budget_need(&several, &config, &text, false);
        ck_assert_uint_eq(more.model - need.model, waiting[n - 1] * footprint_parameters(&config) * sizeof(real));
    }
    const BudgetText little = {.n_source = 100, .n_target = 100}; /* a batch is no larger than the corpus */
    ck_assert_uint_lt(budget_need(&options, &config, &little, false).step, need.step / 3);
    ck_assert_uint_eq(budget_need(&options, &config, &little, false).validation, 0);
    options_free(&options);
}
END_TEST

START_TEST(what_is_needed)
{
    Options options;
    options_init(&options);
    const ModelConfig config = run_model_config(&options, (int)options.data_vocab_size);
    const BudgetNeed need = budget_need(&options, &config, &text, false), addresses = budget_need(&options, &config, &text, true);
    const uint64_t parameters = footprint_parameters(&config) * sizeof(real);
    ck_assert_uint_eq(addresses.model - need.model, 2 * ((uint64_t)64 << 20)); /* malloc's, for each of two threads */
    ck_assert_uint_eq(addresses.step, need.step);
    ck_assert_uint_eq(addresses.validation - parameters, 2 * (need.validation - parameters));
    options.train_ema = 0.9;
    ck_assert_uint_eq(budget_need(&options, &config, &text, false).model, need.model + parameters);
    /* A pair may be longer than a batch. */
    options.train_batch_tokens = 10;
    options.data_max_length = 1000;
    const BudgetNeed long_pairs = budget_need(&options, &config, &text, false);
    options.train_batch_tokens = 1001;
    ck_assert_uint_eq(budget_need(&options, &config, &text, false).arena, long_pairs.arena);
    /* Batches of a step: no more than an epoch has. */
    options.train_accumulate = 100;
    const uint64_t hundred = budget_need(&options, &config, &text, false).step - long_pairs.step;
    ck_assert(hundred >= 99 * 12 * 1000 && hundred <= 100 * 40 * 1000);
    options.train_accumulate = 1000000;
    const uint64_t million = budget_need(&options, &config, &text, false).step - long_pairs.step;
    ck_assert(million >= 1000000 * sizeof(BatchBuffer) && million <= 1000000 * (sizeof(BatchBuffer) + 40));
    options_free(&options);
}
END_TEST

Suite *suite_budget(void)
{
    Suite *suite = suite_create("budget");
    TCase *tcase = tcase_create("budget");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, the_machine);
    tcase_add_test(tcase, control_groups);
    tcase_add_test(tcase, control_groups_of_the_first_version);
    tcase_add_test(tcase, limits_of_the_process);
    tcase_add_test(tcase, what_is_needed);
    tcase_add_test(tcase, what_does_not_fit_is_refused_with_a_way_out);
    suite_add_tcase(suite, tcase);
    return suite;
}
