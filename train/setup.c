#include "train/setup.h"

#include <inttypes.h>
#include <string.h>

#include "core/memory.h"
#include "core/threads.h"
#include "data/tokenizer_file.h"
#include "run/machine.h"
#include "system/signals.h"
#include "train/budget.h"

/* ---- the checkpoint to go on from ---- */

static bool same_options(const Trainer *t, Error *error)
{
    Options before;
    options_init(&before);
    bool good = options_from_text(&before, t->checkpoint.path, t->checkpoint.origin.options, error);
    char *differences = good ? options_differences(&before, t->options, NULL, ", now ") : NULL;
    options_free(&before);
    if (!differences) return good;
    error_usage(error,
                "%s was trained with other options:\n%sGo on with the old values, or train into another folder (--run).",
                t->folder, differences);
    mem_free(differences);
    return false;
}

bool setup_find(Trainer *t, Error *error)
{
    t->claim = (Claim){.folder = t->folder, .lock = -1};
    if (!file_exists(t->folder)) return true;
    if (!claim_lock(&t->claim, error) || !run_newest(t->folder, &t->checkpoint, &t->resumes, error)) return false;
    if (!t->resumes) return claim_check_new(&t->claim, error);
    t->state = t->checkpoint.state;
    char *log = path_join(t->folder, RUN_LOG);
    const bool good = same_options(t, error) && log_seconds(log, &t->seconds_before, error);
    mem_free(log);
    return good;
}

/* ---- the data ---- */

/* The tokenizer of the checkpoint. */
static bool read_tokenizer(Trainer *t, Error *error)
{
    char *path = path_join(t->folder, RUN_TOKENIZER);
    bool good;
    if (file_exists(path)) {
        t->tokenizer = tokenizer_file_load(path, error);
        good = t->tokenizer || error_context(error, "the checkpoints need the tokenizer that they were trained with; put the "
                                                    "old one back, or train into another folder (--run)");
    } else {
        good = error_set(
            error, "%s is missing, and the checkpoints need it; put it back, or train into another folder (--run)", path);
    }
    if (good && tokenizer_hash(t->tokenizer) != t->checkpoint.origin.tokenizer_hash)
        good = error_set(
            error,
            "%s is not the tokenizer that %s was trained with; put the old one back, or train into another folder (--run)",
            path, t->checkpoint.path);
    mem_free(path);
    return good;
}

/* What a new run has of another one, or what a run that goes on has of itself; a tokenizer that is to be learned comes
 * later. */
static bool open_origin(Trainer *t, Error *error)
{
    if (t->resumes) return read_tokenizer(t, error);
    if (!*t->options->train_init_from) return true;
    if (!parent_open(&t->parent, t->options, error)) return false;
    t->tokenizer = run_tokenizer(t->parent.folder, &t->parent.checkpoint, error);
    return t->tokenizer != NULL;
}

static bool load_training(Trainer *t, Error *error)
{
    const Corpora *c = &t->corpora;
    if (!corpora_training(&t->corpora, t->options, t->folder, t->resumes, error)) return false;
    if (!t->tokenizer) t->tokenizer = corpora_learn(c, t->options, error);
    const StoreOrigin origin = {.corpus = c->corpus, .n_corpora = c->n, .tokenizer = t->tokenizer, .copy = c->copy,
                                .filter = corpora_training_filter(t->options)};
    if (t->tokenizer && store_open(&t->store, &t->bitext, t->folder, &origin, error)) {
        corpora_say("training", c, t->store.counts, &t->bitext.counts);
        return true;
    }
    return c->new_copy ? error_context(error, "standard input") : false;
}

/* An epoch's pairs are numbered in 32 bits. */
static bool check_epoch(const Bitext *bitext, Error *error)
{
    const uint64_t n = batches_epoch_pairs(bitext);
    if (n && n <= UINT32_MAX) return true;
    return error_usage(error, "an epoch has %" PRIu64 " pair%s by data.train_weight; it may have 1 to 4294967295", n,
                       plural((int64_t)n));
}

/* The lines of the validation set: soon read, so a mistake there is told before the training text is tokenized. */
static bool read_validation(Trainer *t, Error *error)
{
    const Options *o = t->options;
    if (!*o->data_valid_source) return true;
    t->has_validation = scores_read_set(&t->valid_set, o->data_valid_source, o->data_valid_target, error);
    return t->has_validation || error_context(error, "the validation set");
}

/* Its pairs as tokens, for the loss. */
static bool load_validation(Trainer *t, Error *error)
{
    if (!t->has_validation) return true;
    Corpora corpora;
    const BitextFilter filter = corpora_validation_filter(t->options);
    const bool good = corpora_validation(&corpora, t->options, error) &&
                      (bitext_load(&t->valid_pairs, t->tokenizer, corpora.corpus, corpora.n, &filter, error) ||
                       error_context(error, "the validation set"));
    if (good) corpora_say("validation", NULL, NULL, &t->valid_pairs.counts);
    corpora_free(&corpora);
    return good;
}

/* ---- the model ---- */

bool setup_machine(Trainer *t, Error *error)
{
    if (!machine_start(t->options, &t->compute, error)) return false;
    t->tape.compute = t->compute;
    t->tape.precision = machine_precision(&t->compute, (Precision)t->options->train_precision, "train.precision");
    t->decode_precision = machine_precision(&t->compute, (Precision)t->options->decode_precision, "decode.precision");
    compute_name(&t->compute, t->tape.precision, t->compute_name);
    return true;
}

/* Those of the checkpoint to go on from, those of another run, or random ones. */
static bool first_weights(Trainer *t, Error *error)
{
    if (t->resumes) return checkpoint_read_params(&t->checkpoint, &t->model->params, error);
    if (t->parent.folder) return parent_weights(&t->parent, t->options, &t->model->params, error);
    model_init(t->model, (uint64_t)t->options->train_seed);
    return true;
}

static bool check_memory(Trainer *t, const ModelConfig *config, Error *error)
{
    const BudgetText text = {t->bitext.counts.n_tokens_source, t->bitext.counts.n_tokens_target,
                             t->valid_pairs.counts.n_pairs, t->valid_pairs.counts.n_tokens_source};
    const Budget available = budget_available("");
    if (!budget_check(t->options, config, &text, t->resumes, &available, error)) return false;
    arena_reserve(&t->tape.arena, budget_need(t->options, config, &text, false).arena);
    return true;
}

static int stop_requested(void *context)
{
    (void)context;
    return signals_stop_requested();
}

bool setup_model(Trainer *t, Error *error)
{
    const Options *o = t->options;
    const ModelConfig config = run_model_config(o, tokenizer_size(t->tokenizer));
    if (!check_memory(t, &config, error)) return false;
    t->model = model_new(&config, true);
    t->model->compute = t->compute;
    adam_init(&t->adam, t->model->params.size, o->train_beta1, o->train_beta2, o->train_epsilon);
    t->adam.kernels = t->compute.kernels;
    tree_sum_init(&t->sum, t->model->params.size, o->train_accumulate);
    t->batches = (BatchIterator){
        .bitext = &t->bitext, .seed = (uint64_t)o->train_seed, .batch_tokens = (int32_t)o->train_batch_tokens,
        .bpe_dropout = o->train_bpe_dropout, .tokenizer = t->tokenizer, .max_length = (int32_t)o->data_max_length};
    t->batch = mem_zalloc((size_t)o->train_accumulate * sizeof *t->batch);
    t->tape.seed = (uint64_t)o->train_seed;
    translator_init(&t->translator, t->model, t->tokenizer, o);
    t->translator.stop = stop_requested;
    t->adam.weight_decay = o->train_weight_decay;
    if (!first_weights(t, error)) return false;
    if (o->train_ema > 0) adam_start_ema(&t->adam, &t->model->params, o->train_ema);
    if (!t->resumes) return true;
    if (!checkpoint_read_adam(&t->checkpoint, &t->model->params, &t->adam, error)) return false;
    t->batches.epoch = (uint32_t)t->state.epoch;
    t->batches.position = (uint32_t)t->state.position;
    t->saved = true;
    return true;
}

/* The decode options that differ from those that the checkpoint was validated with, a line each; NULL: none, or they
 * are not known. Free with mem_free. */
static char *decode_differences(const Trainer *t)
{
    static const char *const decode[] = {"decode.", NULL};
    const CheckpointOrigin *origin = &t->checkpoint.origin;
    Error ignored = {0}; /* of another version's options */
    if (!origin->decoding) return NULL;
    Options before;
    options_copy(&before, t->options);
    char *differences = options_from_text(&before, t->checkpoint.path, origin->decoding, &ignored)
                            ? options_differences(&before, t->options, decode, ", now ") : NULL;
    options_free(&before);
    return differences;
}

/* Validation may be done on another set than before, or by another search; but then its scores don't compare. */
static void settle_validation(Trainer *t)
{
    if (!t->has_validation) return;
    const int64_t hash = (int64_t)(bitext_hash(&t->valid_pairs) >> 1), before = t->state.validation_hash;
    if (before && hash != before)
        warn("the validation set is not the one that %s was validated on: new scores don't compare with its best one",
             t->checkpoint.path);
    char *differences = t->state.best_step ? decode_differences(t) : NULL;
    if (differences)
        warn("%s was validated by another search: new scores don't compare with its best one\n%.*s", t->checkpoint.path,
             (int)strlen(differences) - 1, differences);
    mem_free(differences);
    t->state.validation_hash = hash;
}

/* What the last bits depend on. The order in which the gradients of several batches are added is part of it: before there was the
 * tree, each was added to those before it. Free with mem_free. */
static char *kernel_line(const Trainer *t)
{
    return mem_format(t->options->train_accumulate > 1 ? "%s, batches added in a tree" : "%s", t->compute_name);
}

/* What the checkpoints of this run belong to; on resuming, it must be what it was. */
static bool settle_origin(Trainer *t, Error *error)
{
    t->options_text = options_to_text(t->options);
    t->kernel_text = kernel_line(t);
    if (t->has_validation) t->decode_text = options_to_decode_text(t->options);
    t->origin = (CheckpointOrigin){.options = t->options_text, .decoding = t->decode_text,
                                   .tokenizer_hash = tokenizer_hash(t->tokenizer),
                                   .data_hash = batches_hash(&t->bitext, t->store.hash), .kernel = t->kernel_text};
    if (!t->resumes) return true;
    if (t->origin.data_hash != t->checkpoint.origin.data_hash)
        return error_set(error,
                         "the training text is not the one that %s was trained on (its hash is %016" PRIx64
                         ", that was %016" PRIx64 "); put the old text back, or train into another folder (--run)",
                         t->checkpoint.path, t->origin.data_hash, t->checkpoint.origin.data_hash);
    if (strcmp(t->origin.kernel, t->checkpoint.origin.kernel))
        warn("the checkpoint was computed by '%s', this run computes by '%s': the last bits of the results may differ",
             t->checkpoint.origin.kernel, t->origin.kernel);
    return true;
}

static void say_model(const Trainer *t)
{
    const ModelConfig *c = &t->model->config;
    char count[FIGURE_SIZE];
    fprintf(stderr,
            "model: %d + %d layers, d_model %d, d_ff %d, %d head%s, %s-norm, %d tokens in the vocabulary: %s parameters\n",
            c->encoder_layers, c->decoder_layers, c->d_model, c->d_ff, c->heads, plural(c->heads), c->norm == MODEL_PRE_NORM ? "pre" : "post",
            c->vocab_size, progress_count(count, (double)t->model->params.size));
    const int n_threads = threads_count();
    fprintf(stderr, "products by %s, %d thread%s; run folder %s\n", t->compute_name, n_threads, plural(n_threads), t->folder);
    if (t->parent.folder)
        fprintf(stderr, "beginning with the weights and the tokenizer of %s\n", t->parent.checkpoint.path);
    if (t->resumes) fprintf(stderr, "going on from step %" PRId64 "\n", t->state.step);
}

/* ---- both phases ---- */

bool setup_check(Trainer *t, Error *error)
{
    return setup_machine(t, error) && corpora_check(t->options, error) && open_origin(t, error) &&
           read_validation(t, error) && claim_make(&t->claim, error) && load_training(t, error) &&
           check_epoch(&t->bitext, error) && load_validation(t, error) && settle_origin(t, error) &&
           setup_model(t, error);
}

bool setup_tidy(Trainer *t, Error *error)
{
    return claim_tidy(&t->claim, error) &&
           (!t->resumes || run_link(t->folder, t->state.step, t->state.best_step, error));
}

/* First of all, since it tells later trainings that what lies beside it is of one. */
static bool write_config(Trainer *t, Error *error)
{
    char *path = claim_path(&t->claim, RUN_CONFIG);
    const bool good = options_write(t->options, path, error);
    mem_free(path);
    return good;
}

/* One that is there is of a run that saved nothing, perhaps with another text or vocab_size. */
static bool write_tokenizer(Trainer *t, Error *error)
{
    if (t->resumes) return true;
    char *path = claim_path(&t->claim, RUN_TOKENIZER);
    Text content = {0};
    tokenizer_file_format(t->tokenizer, &content);
    const bool good = file_write_all(path, content.data, content.n, error);
    text_free(&content);
    mem_free(path);
    return good;
}

static bool write_texts(Trainer *t, Error *error)
{
    static const char *const names[] = {RUN_PAIRS, RUN_TOKENS, RUN_INDEX};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) mem_free(claim_path(&t->claim, names[i]));
    return corpora_commit(&t->corpora, error) && store_commit(&t->store, error);
}

static bool open_log(Trainer *t, Error *error)
{
    char *path = claim_path(&t->claim, RUN_LOG);
    const bool good = log_open(&t->log, path, t->state.logged_step, error);
    t->seconds_before = t->log.seconds;
    mem_free(path);
    return good;
}

bool setup_commit(Trainer *t, Error *error)
{
    /* Our own temporaries have their names when the leftovers are removed. */
    if (!write_config(t, error) || !write_tokenizer(t, error) || !write_texts(t, error) || !open_log(t, error) ||
        !setup_tidy(t, error))
        return false;
    claim_keep(&t->claim);
    settle_validation(t);
    say_model(t);
    corpora_free(&t->corpora);
    parent_close(&t->parent);
    if (t->resumes) checkpoint_close(&t->checkpoint); /* so that its disk space is free once it is removed */
    return true;
}

void setup_close(Trainer *t)
{
    parent_close(&t->parent);
    if (t->checkpoint.file) checkpoint_close(&t->checkpoint);
    if (t->translator.cache) translator_free(&t->translator);
    if (t->has_validation) scores_free_set(&t->valid_set);
    for (int64_t i = 0; t->batch && i < t->options->train_accumulate; i++) batches_free(&t->batch[i]);
    mem_free(t->batch);
    log_close(&t->log);
    tape_free(&t->tape);
    adam_free(&t->adam);
    tree_sum_free(&t->sum);
    model_free(t->model);
    bitext_free(&t->bitext);
    store_close(&t->store);
    bitext_free(&t->valid_pairs);
    tokenizer_free(t->tokenizer);
    corpora_free(&t->corpora);
    mem_free(t->options_text);
    mem_free(t->decode_text);
    mem_free(t->kernel_text);
    claim_close(&t->claim);
}
