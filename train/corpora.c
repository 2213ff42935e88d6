#include "train/corpora.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"
#include "data/learner.h"
#include "options/sets.h"
#include "run/run.h"
#include "system/number.h"
#include "system/progress.h"

/* ---- files ---- */

/* All files are there, and none is standard input or a pipe, which can't be read twice. */
static bool check_files(const Words *files, const char *option, bool allows_stdin, Error *error)
{
    for (int i = 0; i < files->n; i++) {
        const char *path = files->word[i];
        struct stat status;
        const bool is_stdin = !strcmp(path, "-");
        if (is_stdin && allows_stdin) continue;
        if (!is_stdin && stat(path, &status))
            return error_set(error, "%s can't be read: %s; %s names it, and relative paths start at the folder in which "
                             "ferry is run", path, strerror(errno), option);
        if (!is_stdin && S_ISDIR(status.st_mode))
            return error_set(error, "%s is a folder; %s must name files", path, option);
        if (is_stdin || !S_ISREG(status.st_mode))
            return error_usage(error, "%s: training reads its text more than once, so %s must name files, not standard "
                               "input or a pipe (data.train_pairs = - takes pairs from standard input)", path, option);
    }
    return true;
}

enum { BLOCK = 1 << 16 };

/* The next bytes of standard input: how many, 0 at its end, -1 and *error. */
static ssize_t read_stdin(char block[BLOCK], Error *error)
{
    ssize_t n;
    do n = read(STDIN_FILENO, block, BLOCK);
    while (n < 0 && errno == EINTR);
    if (n < 0) error_set(error, "standard input can't be read: %s", strerror(errno));
    return n;
}

/* Copy standard input to a temporary of the file. */
static AtomicFile *copy_stdin(const char *path, Error *error)
{
    AtomicFile *file = file_create(path, error);
    char *block = mem_alloc(BLOCK);
    bool good = file != NULL;
    ssize_t n = 1;
    while (good && n) good = (n = read_stdin(block, error)) >= 0 && file_write(file, block, (size_t)n, error);
    mem_free(block);
    if (good && file_flush(file, error)) return file;
    file_abandon(file);
    return NULL;
}

/* Whether standard input is, up to its end, what the file holds; *is_empty whether there is nothing in it. */
static bool read_same(FILE *file, bool *is_same, bool *is_empty, Error *error)
{
    char *block = mem_alloc(BLOCK), *wanted = mem_alloc(BLOCK);
    ssize_t n = 1;
    *is_same = *is_empty = true;
    while (*is_same && n > 0 && (n = read_stdin(block, error)) > 0) {
        *is_empty = false;
        *is_same = fread(wanted, 1, (size_t)n, file) == (size_t)n && !memcmp(block, wanted, (size_t)n);
    }
    *is_same = *is_same && fgetc(file) == EOF;
    mem_free(block);
    mem_free(wanted);
    return n >= 0;
}

/* A run that goes on has its copy of standard input: what comes in now must not be another text. */
static bool compare_stdin(const char *path, Error *error)
{
    const int mode = fcntl(STDIN_FILENO, F_GETFL);
    if (isatty(STDIN_FILENO) || mode < 0 || (mode & O_ACCMODE) == O_WRONLY) return true; /* nothing comes in */
    fprintf(stderr, "standard input is compared with %s, which this run is trained on\n", path);
    FILE *file = fopen(path, "rbe");
    bool is_same, is_empty;
    if (!file) return error_set(error, "%s can't be read: %s", path, strerror(errno));
    const bool good = read_same(file, &is_same, &is_empty, error);
    fclose(file);
    if (!good || is_same || is_empty) return good;
    return error_set(error, "standard input is not the text that this run is trained on, which is kept in %s; put in the "
                     "same again, or nothing (</dev/null), or train into another folder (--run)", path);
}

/* Put the name of the copy in place of "-". Without a folder, see only that "-" comes once. */
static bool settle_stdin(Corpora *corpora, Words *pairs, const char *folder, bool resumes, Error *error)
{
    int found = -1;
    for (int i = 0; i < pairs->n; i++) {
        if (strcmp(pairs->word[i], "-")) continue;
        if (found >= 0) return error_usage(error, "data.train_pairs names standard input (\"-\") twice");
        found = i;
    }
    if (found < 0 || !folder) return true;
    char *copy = path_join(folder, RUN_PAIRS);
    const bool has_copy = resumes && file_exists(copy);
    bool good = has_copy ? compare_stdin(copy, error) : (corpora->new_copy = copy_stdin(copy, error)) != NULL;
    if (good && !has_copy) {
        mem_free(copy);
        copy = mem_string(file_temporary(corpora->new_copy));
    }
    mem_free(pairs->word[found]);
    corpora->copy = pairs->word[found] = copy;
    return good;
}

bool corpora_commit(Corpora *corpora, Error *error)
{
    AtomicFile *file = corpora->new_copy;
    corpora->new_copy = NULL;
    return !file || file_commit(file, error);
}

/* The corpora of two lists of files take the files' names. */
static bool add_two_sides(Corpora *corpora, Words *source, Words *target, const char *which, Error *error)
{
    const Words *missing = !source->n ? source : !target->n ? target : NULL;
    if (missing)
        return error_usage(error, "data.%s_%s is not set; name the text files in the configuration or by --set "
                           "data.%s_%s=FILE", which, missing == source ? "source" : "target", which,
                           missing == source ? "source" : "target");
    if (source->n != target->n)
        return error_usage(error, "there are %d source file%s but %d target file%s: file n of one side goes with file n of "
                           "the other", source->n, plural(source->n), target->n, plural(target->n));
    for (int i = 0; i < source->n; i++) {
        corpora->corpus[corpora->n++] = (Corpus){.source = source->word[i], .target = target->word[i], .weight = 1};
        source->word[i] = target->word[i] = NULL;
    }
    return true;
}

static bool set_weights(Corpora *corpora, const char *value, Error *error)
{
    Words weights = words_split(value);
    bool good = !weights.n || weights.n == corpora->n;
    if (!good)
        error_usage(error, "data.train_weight has %d number%s, not %d: it takes one for each file of data.train_source, "
                    "then of data.train_pairs", weights.n, plural(weights.n), corpora->n);
    double sum = 0;
    for (int i = 0; i < weights.n && good; i++) {
        double *weight = &corpora->corpus[i].weight;
        good = number_read_real(weights.word[i], weight) && *weight >= 0 && *weight <= 1e6;
        if (good) sum += *weight;
        else error_usage(error, "data.train_weight: '%s': expected a number from 0 to 1e6", weights.word[i]);
    }
    if (good && weights.n && sum <= 0) good = error_usage(error, "data.train_weight leaves nothing: all weights are 0");
    words_free(&weights);
    return good;
}

bool corpora_training(Corpora *corpora, const Options *o, const char *folder, bool resumes, Error *error)
{
    Words source = words_split(o->data_train_source), target = words_split(o->data_train_target);
    Words pairs = words_split(o->data_train_pairs);
    *corpora = (Corpora){.corpus = mem_zalloc((size_t)(source.n + pairs.n) * sizeof *corpora->corpus)};
    bool good = settle_stdin(corpora, &pairs, folder, resumes, error) &&
                check_files(&source, "data.train_source", false, error) &&
                check_files(&target, "data.train_target", false, error) &&
                check_files(&pairs, "data.train_pairs", !folder, error);
    if (good && (source.n || target.n || !pairs.n)) good = add_two_sides(corpora, &source, &target, "train", error);
    for (int i = 0; i < pairs.n && good; i++) {
        corpora->corpus[corpora->n++] = (Corpus){.source = pairs.word[i], .weight = 1};
        pairs.word[i] = NULL;
    }
    good = good && set_weights(corpora, o->data_train_weight, error);
    words_free(&source);
    words_free(&target);
    words_free(&pairs);
    return good;
}

bool corpora_validation(Corpora *corpora, const Options *o, Error *error)
{
    Words source = words_split(o->data_valid_source), target = words_split(o->data_valid_target);
    *corpora = (Corpora){.corpus = mem_zalloc((size_t)source.n * sizeof *corpora->corpus)};
    const bool good = (!source.n && !target.n) || (check_files(&source, "data.valid_source", false, error) &&
                                                   check_files(&target, "data.valid_target", false, error) &&
                                                   add_two_sides(corpora, &source, &target, "valid", error));
    words_free(&source);
    words_free(&target);
    return good;
}

void corpora_free(Corpora *corpora)
{
    for (int i = 0; i < corpora->n; i++) {
        mem_free(corpora->corpus[i].source);
        mem_free(corpora->corpus[i].target);
    }
    mem_free(corpora->corpus);
    file_abandon(corpora->new_copy);
    *corpora = (Corpora){0};
}

/* ---- the tokenizer ---- */

static bool prepare(Learner *learner, const Options *o, Error *error)
{
    Words symbols = words_split(o->data_symbols);
    const bool good = learner_add_symbols(learner, &symbols, error) || error_context(error, "data.symbols");
    if (o->data_tokenized == TOKENIZED_YES) learner_set_words(learner);
    words_free(&symbols);
    return good;
}

/* The two sides are learned side by side. What is learned doesn't depend on how many threads there are. */
enum { N_SIDES = 2, N_BLOCKS = 8 };

static void add_side(Learner *learner, const PairBlock *block, int n_blocks, int side)
{
    for (int b = 0; b < n_blocks; b++)
        for (int i = side; i < 2 * block[b].n; i += N_SIDES) {
            size_t n;
            const char *line = pairs_line(&block[b], i, &n);
            learner_add(learner, line, n);
        }
}

static bool learn_from(Learner *learner[N_SIDES], const Corpus *corpus, int64_t *n_pairs, Progress *progress, Error *error)
{
    PairReader *reader = pairs_open(corpus, error);
    if (!reader) return false;
    PairBlock *block = mem_zalloc(N_BLOCKS * sizeof *block);
    int status = 1;
    char count[FIGURE_SIZE];
    while (status > 0) {
        int n = 0;
        for (; n < N_BLOCKS && (status = pairs_next_block(reader, &block[n], error)) > 0; n++) *n_pairs += block[n].n;
#pragma omp parallel for if (n > 1)
        for (int side = 0; side < N_SIDES; side++) add_side(learner[side], block, n, side);
        progress_state(progress, "learning the vocabulary: %s pairs", progress_count(count, (double)*n_pairs));
    }
    for (int i = 0; i < N_BLOCKS; i++) text_free(&block[i].text);
    mem_free(block);
    pairs_close(reader);
    return status == 0;
}

static void say_vocabulary(const Learner *learner, const Tokenizer *tokenizer, int64_t wanted)
{
    char forgotten[FIGURE_SIZE], all[FIGURE_SIZE];
    if (learner_forgotten(learner))
        fprintf(stderr, "vocabulary: learned without the rarest words, %s of %s in the text, to bound the memory\n",
                progress_count(forgotten, (double)learner_forgotten(learner)),
                progress_count(all, (double)learner_pieces(learner)));
    if (tokenizer_size(tokenizer) < wanted)
        fprintf(stderr, "vocabulary: the text yields %d tokens, fewer than data.vocab_size = %" PRId64 "\n",
                tokenizer_size(tokenizer), wanted);
}

Tokenizer *corpora_learn(const Corpora *corpora, const Options *o, Error *error)
{
    Learner *learner[N_SIDES] = {learner_new(), learner_new()};
    Progress progress;
    progress_init(&progress, stderr);
    progress.last = progress_clock(); /* what takes a moment needs no report */
    int64_t n_pairs = 0;
    bool good = prepare(learner[0], o, error) && prepare(learner[1], o, error);
    for (int i = 0; i < corpora->n && good; i++)
        good = learn_from(learner, &corpora->corpus[i], &n_pairs, &progress, error);
    progress_clear(&progress);
    Tokenizer *tokenizer = NULL;
    if (good) {
        learner_merge(learner[0], learner[1]);
        tokenizer = learner_finish(learner[0], (int)o->data_vocab_size, error);
        if (tokenizer) say_vocabulary(learner[0], tokenizer, o->data_vocab_size);
        else error_context(error, "%s%s", corpora->corpus->source, corpora->n > 1 ? " .." : "");
    }
    for (int i = 0; i < N_SIDES; i++) learner_free(learner[i]);
    return tokenizer;
}

static bool check_tests(const Options *o, Error *error)
{
    NamedSets tests = {0};
    bool good = sets_parse(&tests, o->data_tests, error);
    for (int i = 0; i < tests.n && good; i++) {
        Words files = {.word = (char *[]){tests.set[i].source, tests.set[i].reference}, .n = 2};
        good = check_files(&files, "data.tests", false, error);
    }
    sets_free(&tests);
    return good;
}

bool corpora_check(const Options *o, Error *error)
{
    Corpora training = {0}, validation = {0};
    Learner *learner = learner_new();
    const bool good = corpora_training(&training, o, NULL, false, error) && corpora_validation(&validation, o, error) &&
                      check_tests(o, error) && prepare(learner, o, error);
    learner_free(learner);
    corpora_free(&validation);
    corpora_free(&training);
    return good;
}

/* ---- filters and counts ---- */

BitextFilter corpora_training_filter(const Options *o)
{
    return (BitextFilter){.max_length = (int)o->data_max_length, .max_ratio = o->data_length_ratio};
}

BitextFilter corpora_validation_filter(const Options *o)
{
    return (BitextFilter){.max_length = (int)o->data_max_length};
}

static void say_counts(const BitextCounts *c, const char *skips)
{
    char source[FIGURE_SIZE], target[FIGURE_SIZE];
    fprintf(stderr, "%" PRId64 " pair%s, %s source and %s target tokens", c->n_pairs, plural(c->n_pairs),
            progress_count(source, (double)c->n_tokens_source), progress_count(target, (double)c->n_tokens_target));
    const struct {
        int64_t n;
        const char *why;
    } skipped[] = {
        {c->n_blank_source, "with a blank source"}, {c->n_blank_target, "with a blank target"},
        {c->n_too_long, "longer than data.max_length"}, {c->n_unequal, "beyond data.length_ratio"},
    };
    if (c->n_pairs < c->n_lines)
        fprintf(stderr, "; %s %" PRId64 " of %" PRId64 " line%s", skips, c->n_lines - c->n_pairs, c->n_lines,
                plural(c->n_lines));
    const char *separator = ": ";
    for (size_t i = 0; i < sizeof skipped / sizeof *skipped; i++) {
        if (!skipped[i].n) continue;
        fprintf(stderr, "%s%" PRId64 " %s", separator, skipped[i].n, skipped[i].why);
        separator = ", ";
    }
    fputc('\n', stderr);
}

void corpora_say(const char *name, const Corpora *corpora, const BitextCounts *counts, const BitextCounts *total)
{
    fprintf(stderr, "%s: ", name);
    say_counts(total, corpora ? "skipped" : "skipped for its loss");
    for (int i = 0; corpora && corpora->n > 1 && i < corpora->n; i++) {
        const Corpus *corpus = &corpora->corpus[i];
        const bool is_new_copy = corpora->new_copy && corpus->source == corpora->copy;
        fprintf(stderr, "  %s", is_new_copy ? "standard input" : corpus->source);
        if (corpus->target) fprintf(stderr, " -> %s", corpus->target);
        if (corpus->weight != 1) fprintf(stderr, " (weight %g)", corpus->weight);
        fputs(": ", stderr);
        say_counts(&counts[i], "skipped");
    }
}
