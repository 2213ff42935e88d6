#include "train/setup.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/threads.h"
#include "data/learner.h"
#include "data/tokenizer_file.h"
#include "train/files.h"
#include "train/machine.h"
#include "train/signals.h"

/* ---- the checkpoint to go on from ---- */

static bool same_options(const Trainer *t, Error *error)
{
    Options before;
    options_init(&before);
    bool good = options_from_text(&before, t->checkpoint.path, t->checkpoint.origin.options, error);
    char *differences = good ? options_differences(&before, t->options) : NULL;
    options_free(&before);
    if (!differences) return good;
    error_usage(error,
                "%s was trained with other options:\n%sGo on with the old values, or train into another folder (--run).",
                t->folder, differences);
    mem_free(differences);
    return false;
}

static bool lock_folder(Trainer *t, Error *error)
{
    if (t->lock < 0) t->lock = run_lock(t->folder, error);
    return t->lock >= 0;
}

bool setup_find(Trainer *t, Error *error)
{
    if (!file_exists(t->folder)) return true;
    if (!lock_folder(t, error) || !run_newest(t->folder, &t->checkpoint, &t->resumes, error)) return false;
    if (!t->resumes) return true;
    t->state = t->checkpoint.state;
    return same_options(t, error) && run_link(t->folder, t->state.step, t->state.best_step, error);
}

/* ---- the data ---- */

/* All files are there, and none is standard input or a pipe, which can't be read twice. */
static bool check_files(const FileList *files, const char *option, Error *error)
{
    for (int i = 0; i < files->n; i++) {
        const char *path = files->path[i];
        struct stat status;
        const bool is_stdin = !strcmp(path, "-");
        if (!is_stdin && stat(path, &status))
            return error_set(error, "%s can't be read: %s; %s names it, and relative paths start at the folder in which "
                             "ferry is run", path, strerror(errno), option);
        if (is_stdin || !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)))
            return error_usage(error, "%s: training reads its text more than once, so %s must name files, not standard "
                               "input or a pipe", path, option);
    }
    return true;
}

static bool learn_tokenizer(Trainer *t, const FileList *source, const FileList *target, const char *path, Error *error)
{
    Learner *learner = learner_new();
    bool good = learner_add_files(learner, source, error) && learner_add_files(learner, target, error);
    if (good) t->tokenizer = learner_finish(learner, (int)t->options->data_vocab_size, error);
    if (good && !t->tokenizer) error_context(error, "%s, %s", t->options->data_train_source, t->options->data_train_target);
    learner_free(learner);
    return t->tokenizer && tokenizer_file_save(t->tokenizer, path, error);
}

static bool open_tokenizer(Trainer *t, const FileList *source, const FileList *target, Error *error)
{
    char *path = path_join(t->folder, RUN_TOKENIZER);
    bool good;
    if (!t->resumes) {
        /* One that is there is of a run that saved nothing, perhaps with another text or vocab_size. */
        good = learn_tokenizer(t, source, target, path, error);
    } else if (file_exists(path)) {
        t->tokenizer = tokenizer_file_load(path, error);
        good = t->tokenizer != NULL;
    } else {
        good = error_set(
            error, "%s is missing, and the checkpoints need it; put it back, or train into another folder (--run)", path);
    }
    if (good && t->resumes && tokenizer_hash(t->tokenizer) != t->checkpoint.origin.tokenizer_hash)
        good = error_set(
            error,
            "%s is not the tokenizer that %s was trained with; put the old one back, or train into another folder (--run)",
            path, t->checkpoint.path);
    mem_free(path);
    return good;
}

/* The files of one side, as the option names them. */
static bool list_files(const char *value, const char *option, FileList *files, Error *error)
{
    *files = lines_file_list(value);
    if (!files->n)
        return error_usage(error, "%s is not set; name the text files in the configuration or by --set %s=FILE", option,
                           option);
    return check_files(files, option, error);
}

/* So that a wrong path is told before anything is written. */
static bool check_data(const Options *o, Error *error)
{
    const struct {
        const char *value, *option;
    } sides[] = {{o->data_train_source, "data.train_source"}, {o->data_train_target, "data.train_target"},
                 {o->data_valid_source, "data.valid_source"}, {o->data_valid_target, "data.valid_target"}};
    const int n = *o->data_valid_source || *o->data_valid_target ? 4 : 2;
    bool good = true;
    for (int i = 0; good && i < n; i++) {
        FileList files;
        good = list_files(sides[i].value, sides[i].option, &files, error);
        lines_file_list_free(&files);
    }
    return good;
}

static bool load_training(Trainer *t, Error *error)
{
    const Options *o = t->options;
    FileList sources, targets = {0};
    const bool good = list_files(o->data_train_source, "data.train_source", &sources, error) &&
                      list_files(o->data_train_target, "data.train_target", &targets, error) &&
                      open_tokenizer(t, &sources, &targets, error) &&
                      bitext_load(&t->bitext, t->tokenizer, &sources, &targets, (int)o->data_max_length, error);
    lines_file_list_free(&sources);
    lines_file_list_free(&targets);
    return good;
}

static bool load_validation(Trainer *t, Error *error)
{
    const Options *o = t->options;
    FileList sources, targets = {0};
    t->has_validation = list_files(o->data_valid_source, "data.valid_source", &sources, error) &&
                        list_files(o->data_valid_target, "data.valid_target", &targets, error) &&
                        bitext_load(&t->valid_pairs, t->tokenizer, &sources, &targets, 0, error);
    lines_file_list_free(&sources);
    lines_file_list_free(&targets);
    return t->has_validation && scores_read_set(&t->valid_set, o->data_valid_source, o->data_valid_target, error);
}

static void say_counts(const char *name, const BitextCounts *c)
{
    char source[FIGURE_SIZE], target[FIGURE_SIZE];
    fprintf(stderr, "%s: %" PRId64 " pairs, %s source and %s target tokens", name, c->n_pairs,
            progress_count(source, (double)c->n_tokens_source), progress_count(target, (double)c->n_tokens_target));
    if (c->n_pairs < c->n_lines)
        fprintf(stderr,
                "; skipped %" PRId64 " of %" PRId64 " lines: %" PRId64 " with a blank source, %" PRId64
                " with a blank target, %" PRId64 " longer than data.max_length",
                c->n_lines - c->n_pairs, c->n_lines, c->n_blank_source, c->n_blank_target, c->n_too_long);
    fputc('\n', stderr);
}

static bool open_data(Trainer *t, Error *error)
{
    const Options *o = t->options;
    if (!load_training(t, error)) return false;
    say_counts("training", &t->bitext.counts);
    if (!t->resumes && tokenizer_size(t->tokenizer) < o->data_vocab_size)
        fprintf(stderr, "vocabulary: the text yields %d tokens, fewer than data.vocab_size = %" PRId64 "\n",
                tokenizer_size(t->tokenizer), o->data_vocab_size);
    if (!*o->data_valid_source && !*o->data_valid_target) return true;
    if (!load_validation(t, error)) return false;
    say_counts("validation", &t->valid_pairs.counts);
    return true;
}

/* ---- the model ---- */

static bool open_model(Trainer *t, Error *error)
{
    const Options *o = t->options;
    const ModelConfig config = run_model_config(o, tokenizer_size(t->tokenizer));
    t->model = model_new(&config, true);
    adam_init(&t->adam, t->model->params.size, o->train_beta1, o->train_beta2, o->train_epsilon);
    t->batches = (BatchIterator){
        .bitext = &t->bitext, .seed = (uint64_t)o->train_seed, .batch_tokens = (int32_t)o->train_batch_tokens};
    t->batch = mem_zalloc((size_t)o->train_accumulate * sizeof *t->batch);
    t->tape.seed = (uint64_t)o->train_seed;
    translator_init(&t->translator, t->model, t->tokenizer, o);
    t->translator.stop = signals_stop_requested;
    if (!t->resumes) {
        model_init(t->model, (uint64_t)o->train_seed);
        return true;
    }
    if (!checkpoint_read_params(&t->checkpoint, &t->model->params, error) ||
        !checkpoint_read_adam(&t->checkpoint, &t->model->params, &t->adam, error))
        return false;
    t->batches.epoch = (uint32_t)t->state.epoch;
    t->batches.position = (uint32_t)t->state.position;
    t->saved = true;
    return true;
}

/* What the checkpoints of this run belong to; on resuming, it must be what it was. */
static bool settle_origin(Trainer *t, Error *error)
{
    t->options_text = options_to_text(t->options);
    t->origin = (CheckpointOrigin){.options = t->options_text, .tokenizer_hash = tokenizer_hash(t->tokenizer),
                                   .data_hash = bitext_hash(&t->bitext), .kernel = machine_kernel()};
    if (!t->resumes) return true;
    if (t->origin.data_hash != t->checkpoint.origin.data_hash)
        return error_set(error,
                         "the training text is not the one that %s was trained on; put the old text back, or train into "
                         "another folder (--run)",
                         t->checkpoint.path);
    if (strcmp(t->origin.kernel, t->checkpoint.origin.kernel))
        warn("the checkpoint was computed by '%s', this machine computes by '%s': the last bits of the results may differ",
             t->checkpoint.origin.kernel, t->origin.kernel);
    return true;
}

static void say_model(const Trainer *t)
{
    const ModelConfig *c = &t->model->config;
    char count[FIGURE_SIZE];
    fprintf(stderr,
            "model: %d + %d layers, d_model %d, d_ff %d, %d heads, %s-norm, %d tokens in the vocabulary: %s parameters\n",
            c->encoder_layers, c->decoder_layers, c->d_model, c->d_ff, c->heads, c->norm == MODEL_PRE_NORM ? "pre" : "post",
            c->vocab_size, progress_count(count, (double)t->model->params.size));
    fprintf(stderr, "products by %s, %d threads; run folder %s\n", machine_kernel(), threads_count(), t->folder);
    if (t->resumes) fprintf(stderr, "going on from step %" PRId64 "\n", t->state.step);
}

/* ---- the folder ---- */

static bool open_folder(Trainer *t, Error *error)
{
    return folder_make(t->folder, error) && lock_folder(t, error) && folder_remove_temporaries(t->folder, error);
}

static bool open_log(Trainer *t, Error *error)
{
    char *config = path_join(t->folder, RUN_CONFIG), *log = path_join(t->folder, RUN_LOG);
    bool good = options_write(t->options, config, error) && log_open(&t->log, log, t->state.logged_step, error);
    t->seconds_before = t->log.seconds;
    mem_free(config);
    mem_free(log);
    return good;
}

bool setup_open(Trainer *t, Error *error)
{
    if (!machine_start(t->options, error) || !check_data(t->options, error) || !open_folder(t, error) ||
        !open_data(t, error) || !settle_origin(t, error) || !open_model(t, error) || !open_log(t, error))
        return false;
    say_model(t);
    if (t->resumes) checkpoint_close(&t->checkpoint); /* so that its disk space is free once it is removed */
    return true;
}

void setup_close(Trainer *t)
{
    if (t->checkpoint.file) checkpoint_close(&t->checkpoint);
    if (t->translator.cache) translator_free(&t->translator);
    if (t->has_validation) scores_free_set(&t->valid_set);
    for (int64_t i = 0; t->batch && i < t->options->train_accumulate; i++) batches_free(&t->batch[i]);
    mem_free(t->batch);
    if (t->log.file) log_close(&t->log);
    tape_free(&t->tape);
    adam_free(&t->adam);
    model_free(t->model);
    bitext_free(&t->bitext);
    bitext_free(&t->valid_pairs);
    tokenizer_free(t->tokenizer);
    mem_free(t->options_text);
    if (t->lock >= 0) close(t->lock);
}
