/* The training loop: batches, loss, gradients, Adam; then what is due after the step: validation, a row of the log, a
 * checkpoint. What is due depends on the state alone, which a checkpoint holds; so a resumed run does exactly what an
 * uninterrupted one would have done. */
#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/threads.h"
#include "data/batches.h"
#include "model/transformer.h"
#include "run/finite.h"
#include "run/log.h"
#include "run/machine.h"
#include "system/files.h"
#include "system/progress.h"
#include "system/signals.h"
#include "train/schedule.h"
#include "train/setup.h"

/* ---- one step ---- */

/* The gradients of a step's batches are added up, each computed from zero (train/tree_sum.h); the loss of each is scaled by the
 * number of tokens in all of them. A step's batches never cross the end of an epoch. */
static int draw_batches(Trainer *t, int64_t *n_tokens)
{
    int n = 0;
    const uint32_t epoch = t->batches.epoch;
    *n_tokens = 0;
    while (n < t->options->train_accumulate && t->batches.epoch == epoch) {
        batches_next(&t->batches, &t->batch[n]);
        *n_tokens += t->batch[n++].batch.target.n_tokens;
    }
    return n;
}

/* Whether Adam can make use of the gradient: not beyond what numbers can hold, and neither is the perplexity, exp(loss), which
 * overflows only in a training that has long been lost. */
static bool is_sound(double loss, double norm)
{
    return isfinite(norm) && isfinite(exp(loss));
}

/* What is wrong with a step that isn't sound, for people; free with mem_free. */
static char *what_is_wrong(const Trainer *t, double loss, double norm)
{
    const Params *params = &t->model->params;
    const char *value = finite_first_bad(params, params->value), *gradient = finite_first_bad(params, params->grad);
    loss = fabs(loss); /* NaN may have a sign */
    if (value) return mem_format("the loss is %g, and the parameter %s is not finite", loss, value);
    if (gradient) return mem_format("the loss is %g, and the gradient of %s is not finite", loss, gradient);
    return mem_format("the loss is %g, and the gradient's norm %g, most of it in %s: training diverges", loss, norm,
                      finite_largest(t->adam.kernels, params, params->grad));
}

/* The step isn't sound: an error, or, by option, a step without an update. What a checkpoint holds has not been touched. */
static bool skip(Trainer *t, double loss, double norm, Error *error)
{
    enum { MOST_IN_A_ROW = 20 };
    TrainState *s = &t->state;
    const bool may_skip = t->options->train_on_nonfinite == ON_NONFINITE_SKIP;
    const bool skips = may_skip && s->n_skipped_row < MOST_IN_A_ROW;
    char *what = what_is_wrong(t, loss, norm);
    if (skips) {
        s->n_skipped++;
        s->n_skipped_row++;
        progress_line(&t->progress, "step %" PRId64 "  skipped: %s (%" PRId64 " so far)", s->step + 1, what, s->n_skipped);
    } else {
        error_set(error,
                  "step %" PRId64 ": %s%s. Train into another folder (--run) with a lower train.learning_rate, a longer "
                  "train.warmup or a smaller train.clip_norm%s. What is in %s is untouched",
                  s->step + 1, what, may_skip ? ", after as many such steps in a row as may be skipped" : "",
                  may_skip ? "" : ", or go on without such steps (--on-nonfinite skip)", t->folder);
    }
    mem_free(what);
    return skips;
}

static void update(Trainer *t, double loss, int64_t n_tokens, double norm)
{
    const double limit = t->options->train_clip_norm;
    adam_update(&t->adam, &t->model->params, schedule_rate(t->options, t->state.step + 1),
                limit > 0 && norm > limit ? limit / norm : 1);
    t->state.window_loss += loss;
    t->state.window_tokens += n_tokens;
    t->state.gradient_norm = norm;
    t->state.n_skipped_row = 0;
}

bool trainer_step(Trainer *t, Error *error)
{
    Params *params = &t->model->params;
    int64_t n_tokens;
    const int n = draw_batches(t, &n_tokens);
    double loss = 0;
    tree_sum_begin(&t->sum, n);
    for (int i = 0; i < n; i++) {
        memset(params->grad, 0, params->size * sizeof(real));
        t->tape.step = (uint32_t)t->state.step;
        t->tape.pass = (uint32_t)i;
        t->tape.dropout = true;
        tape_begin(&t->tape, true);
        LossSums sums;
        Tensor *y = transformer_loss(t->model, &t->tape, &t->batch[i].batch, (real)(1 / (double)n_tokens), &sums);
        *tape_grad(&t->tape, y) = 1;
        tape_backward(&t->tape);
        loss = sums.loss;
        tree_sum_add(&t->sum, params->grad, &loss);
    }
    const double norm = adam_gradient_norm(&t->adam, params);
    if (is_sound(loss / (double)n_tokens, norm)) update(t, loss, n_tokens, norm);
    else if (!skip(t, loss / (double)n_tokens, norm, error)) return false;
    t->saved = false;
    t->state.step++;
    t->state.epoch = t->batches.epoch;
    t->state.position = t->batches.position;
    return true;
}

/* ---- after the step ---- */

static bool every(int64_t step, int64_t interval)
{
    return interval > 0 && step > 0 && step % interval == 0;
}

static double epochs_done(const Trainer *t)
{
    return (double)t->state.epoch + (double)t->state.position / (double)batches_epoch_pairs(&t->bitext);
}

static bool validation_due(const Options *o, const TrainState *s)
{
    if (!*o->data_valid_source || s->validated_step == s->step) return false;
    return o->train_validate_every ? every(s->step, o->train_validate_every) : s->step > 0 && s->position == 0;
}

/* A row that the steps alone call for is due now. */
static bool row_due(const Options *o, const TrainState *s)
{
    return s->logged_step != s->step && every(s->step, o->train_report_every);
}

static bool time_is_up(const Options *o, double seconds)
{
    return o->train_minutes > 0 && seconds >= 60 * o->train_minutes;
}

/* Why training is over, or NULL. */
static const char *finished(const Options *o, const TrainState *s, double seconds)
{
    if (o->train_max_steps && s->step >= o->train_max_steps) return "train.max_steps";
    if (o->train_max_epochs && s->epoch >= o->train_max_epochs) return "train.max_epochs";
    if (time_is_up(o, seconds)) return "train.minutes";
    if (o->train_patience && s->best_step && s->n_worse >= o->train_patience) return "train.patience";
    return NULL;
}

static double seconds_so_far(const Trainer *t)
{
    return t->seconds_before + progress_clock() - t->started;
}

/* Cross-entropy a token on the validation pairs. */
static double validation_loss(Trainer *t)
{
    enum { MOST_TOKENS = 1024 }; /* a signal waits for no more than these */
    const int64_t wanted = t->options->decode_batch_tokens, batch_tokens = wanted < MOST_TOKENS ? wanted : MOST_TOKENS;
    BatchBuffer batch = {0};
    double nll = 0;
    int64_t n_tokens = 0;
    t->tape.dropout = false;
    for (size_t first = 0; first < bitext_pairs(&t->valid_pairs) && !signals_stop_requested();) {
        first = batches_fill(&batch, &t->valid_pairs, first, (int32_t)batch_tokens);
        tape_begin(&t->tape, false);
        LossSums sums;
        transformer_loss(t->model, &t->tape, &batch.batch, 1, &sums);
        nll += sums.nll;
        n_tokens += batch.batch.target.n_tokens;
    }
    batches_free(&batch);
    return fabs(nll / (double)(n_tokens ? n_tokens : 1)); /* NaN may have a sign */
}

/* valid-00001000.txt, the n translations a line each, as `ferry translate` prints them. Frees them. */
static bool save_translations(Trainer *t, Text *translation, size_t n, Error *error)
{
    Text all = {0};
    for (size_t i = 0; i < n; i++) {
        text_append(&all, translation[i].data, translation[i].n);
        text_append(&all, "\n", 1);
        text_free(&translation[i]);
    }
    mem_free(translation);
    char *name = run_translations_name(t->state.step), *path = path_join(t->folder, name);
    const bool good = file_write_all(path, all.data, all.n, error);
    text_free(&all);
    mem_free(name);
    mem_free(path);
    return good;
}

/* Fills the row's validation columns and the state. If a signal cuts it short, or on error, neither has changed. */
static bool validate(Trainer *t, LogRow *row, Error *error)
{
    Scores scores;
    Text *translations = NULL;
    const bool ema = t->adam.ema && t->options->decode_weights == WEIGHTS_EMA;
    if (ema) adam_swap_ema(&t->adam, &t->model->params);
    model_freeze(t->model, t->decode_precision);
    const double loss = validation_loss(t);
    const bool whole = scores_of(&t->translator, &t->valid_set, t->options->data_valid_source, &scores,
                                 t->options->train_save_translations ? &translations : NULL) &&
                       !signals_stop_requested();
    model_thaw(t->model);
    if (ema) adam_swap_ema(&t->adam, &t->model->params);
    if (translations && !save_translations(t, translations, scores.n_sentences, error)) return false;
    if (!whole) return true;
    TrainState *s = &t->state;
    const double score = t->options->train_best == BEST_LOSS ? -loss : scores.bleu;
    const bool sound = isfinite(loss), better = sound && (!s->best_step || score > s->best_score);
    const bool best = better || (sound && score == s->best_score);
    t->saved = false;
    s->validated_step = s->step;
    s->n_worse = better ? 0 : s->n_worse + 1;
    if (best) { /* of equals the one that was trained longer: at first, BLEU is 0 again and again */
        s->best_step = s->step;
        s->best_score = score;
    }
    row->validated = true;
    row->valid_loss = loss;
    row->valid_bleu = scores.bleu;
    row->valid_chrf = scores.chrf;
    row->valid_exact = scores.exact;
    progress_line(&t->progress, "step %" PRId64 "  validation: perplexity %.4g, BLEU %.2f, chrF %.2f, exact %.1f%%%s",
                  s->step, exp(loss), scores.bleu, scores.chrf, scores.exact, best ? "  (best so far)" : "");
    return true;
}

/* A row for the steps since the last one; begins a new window. */
static bool write_row(Trainer *t, LogRow *row, double train_seconds, Error *error)
{
    TrainState *s = &t->state;
    row->step = s->step;
    row->epoch = epochs_done(t);
    row->loss = s->window_tokens ? s->window_loss / (double)s->window_tokens : NAN;
    row->learning_rate = schedule_rate(t->options, s->step);
    row->gradient_norm = s->gradient_norm;
    row->n_skipped = s->n_skipped;
    row->tokens_per_s = (double)t->window_tokens / (train_seconds > 0 ? train_seconds : 1e-9);
    row->seconds = seconds_so_far(t);
    t->saved = false;
    s->logged_step = s->step;
    s->window_loss = 0;
    s->window_tokens = 0;
    return log_append(&t->log, row, error);
}

/* Write the checkpoint, point the links to it, and remove those that are no longer kept. */
static bool save(Trainer *t, Error *error)
{
    const TrainState *s = &t->state;
    char *name = run_checkpoint_name(s->step), *path = path_join(t->folder, name);
    t->saved = checkpoint_save(path, &t->model->params, &t->adam, s, &t->origin, error);
    mem_free(name);
    mem_free(path);
    return t->saved && run_link(t->folder, s->step, s->best_step, error) &&
           run_prune(t->folder, s->step, s->best_step, t->options->train_keep, t->options->train_checkpoint_every, error);
}

/* All that is due now. If a signal cuts validation short, nothing else is done: resuming makes up for it. */
static bool after_step(Trainer *t, bool is_last, Error *error)
{
    const double train_seconds = progress_clock() - t->window_started;
    LogRow row = {0};
    const bool validates = validation_due(t->options, &t->state);
    if (validates && !validate(t, &row, error)) return false;
    if (validates && !row.validated) return true;
    const bool logs = validates || row_due(t->options, &t->state) || (is_last && t->state.logged_step != t->state.step);
    if (logs) {
        if (!write_row(t, &row, train_seconds, error)) return false;
        t->window_tokens = 0;
        t->window_started = progress_clock();
    }
    const bool new_best = validates && t->state.best_step == t->state.step;
    if ((new_best || every(t->state.step, t->options->train_checkpoint_every)) && !t->saved) return save(t, error);
    return true;
}

/* ---- the run ---- */

/* The part of the run that is done, by the limit that is nearest; 0 if there is none. */
static double share_done(const Trainer *t)
{
    const Options *o = t->options;
    double share = 0;
    if (o->train_max_steps) share = fmax(share, (double)t->state.step / (double)o->train_max_steps);
    if (o->train_max_epochs) share = fmax(share, epochs_done(t) / (double)o->train_max_epochs);
    if (o->train_minutes > 0) share = fmax(share, seconds_so_far(t) / (60 * o->train_minutes));
    return fmin(share, 1);
}

static void show_progress(Trainer *t)
{
    if (!progress_due(&t->progress)) return;
    const double train_seconds = progress_clock() - t->window_started, share = share_done(t);
    char rate[FIGURE_SIZE], left[FIGURE_SIZE] = "?", steps[2 * FIGURE_SIZE];
    /* Measured from where this process began: a resumed run's earlier time may have been another machine's. */
    if (share > t->share_before && share < 1)
        progress_duration(left, (progress_clock() - t->started) / (share - t->share_before) * (1 - share));
    snprintf(steps, sizeof steps, t->options->train_max_steps ? "%" PRId64 "/%" PRId64 : "%" PRId64, t->state.step,
             t->options->train_max_steps);
    progress_state(&t->progress, "epoch %.2f  step %s  loss %.4f  %s tokens/s  rate %.2e  gradient %.2f  left %s",
                   epochs_done(t), steps,
                   t->state.window_tokens ? t->state.window_loss / (double)t->state.window_tokens : 0.0,
                   progress_count(rate, (double)t->window_tokens / (train_seconds > 0 ? train_seconds : 1e-9)),
                   schedule_rate(t->options, t->state.step), t->state.gradient_norm, left);
}

static bool loop(Trainer *t, Error *error)
{
    t->started = t->window_started = progress_clock();
    t->share_before = share_done(t);
    for (;;) {
        /* The clock is read once: the run whose time is up must say so in its log, where the next process looks. */
        const double seconds = seconds_so_far(t);
        if (!signals_stop_requested() && !after_step(t, time_is_up(t->options, seconds), error)) return false;
        if (signals_stop_requested() || finished(t->options, &t->state, seconds)) break;
        const int64_t before = t->state.window_tokens;
        if (!trainer_step(t, error)) return false;
        t->window_tokens += t->state.window_tokens - before;
        show_progress(t);
    }
    progress_clear(&t->progress);
    return t->saved || t->state.step == 0 || save(t, error);
}

static void say_end(Trainer *t)
{
    char took[FIGURE_SIZE], best[64] = "";
    const int by_signal = signals_stop_requested();
    const char *why = finished(t->options, &t->state, seconds_so_far(t));
    if (t->state.best_step) snprintf(best, sizeof best, "; best validation at step %" PRId64, t->state.best_step);
    progress_line(&t->progress, "%s at step %" PRId64 " after %s%s; %s %s", by_signal ? "stopped by a signal" : "done",
                  t->state.step, progress_duration(took, seconds_so_far(t)), best,
                  t->saved ? "saved in" : "there is nothing to save in", t->folder);
    if (by_signal) progress_line(&t->progress, "the same command goes on from here");
    else if (why) progress_line(&t->progress, "%s is reached; raise it to go on", why);
}

/* A run whose limit is reached is left alone, without reading its data; unless a signal that came with the last step left
 * something undone. */
static bool already_done(const Options *options, const char *folder, const TrainState *state, double seconds)
{
    const char *why = finished(options, state, seconds);
    if (!why || validation_due(options, state) || row_due(options, state)) return false;
    fprintf(stderr,
            "%s is finished: step %" PRId64
            " reached %s. Raise it (--set %s=...) to go on, or choose another folder (--run).\n",
            folder, state->step, why, why);
    return true;
}

bool trainer_run(const Options *options, const char *folder, Error *error)
{
    Trainer t = {.options = options, .folder = folder};
    signals_catch();
    bool good = setup_find(&t, error);
    const bool done = good && t.resumes && already_done(options, folder, &t.state, t.seconds_before);
    if (done) good = setup_tidy(&t, error);
    else good = good && setup_check(&t, error) && setup_commit(&t, error);
    if (good && !done) {
        signals_defer(); /* not before: until here there is nothing to save, and no file that isn't whole */
        progress_init(&t.progress, stderr);
        good = loop(&t, error);
        progress_clear(&t.progress);
        if (good) say_end(&t);
    }
    setup_close(&t);
    return good;
}
