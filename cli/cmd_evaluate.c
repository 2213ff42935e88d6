#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/models.h"
#include "core/memory.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "options/sets.h"
#include "system/files.h"
#include "system/progress.h"
#include "translate/scores.h"

/* The sets to score, read before the first is translated, so that a missing file shows at once. */
typedef struct Table {
    struct Row {
        char *name, *source; /* the source's name is for warnings */
        TestSet set;
    } *row; /* [n] */
    int n, capacity;
} Table;

/* An argument is one file, whatever blanks are in its name. */
static char *as_list(const char *path)
{
    char *list = mem_alloc(2 * strlen(path) + 1), *to = list;
    for (; *path; *to++ = *path++)
        if (*path == ' ') *to++ = '\\';
    *to = '\0';
    return list;
}

/* The files are lists. */
static bool add_lists(Table *table, const char *name, const char *source, const char *reference, Error *error)
{
    TestSet set;
    if (!scores_read_set(&set, source, reference, error)) return false;
    ARRAY_RESERVE(table->row, table->n, table->capacity);
    table->row[table->n++] = (struct Row){.name = mem_string(name), .source = mem_string(source), .set = set};
    return true;
}

static bool add_files(Table *table, const char *name, const char *source, const char *reference, Error *error)
{
    char *source_list = as_list(source), *reference_list = as_list(reference);
    const bool good = add_lists(table, name, source_list, reference_list, error);
    mem_free(source_list);
    mem_free(reference_list);
    return good;
}

/* The validation set, and those of data.tests. */
static bool add_configured(Table *table, const Options *o, Error *error)
{
    static const char way_out[] = "(name a source and a reference file to score others; relative paths start at the folder in "
                                  "which ferry is run)";
    NamedSets sets;
    if (!sets_parse(&sets, o->data_tests, error)) return false;
    const bool has_validation = *o->data_valid_source && *o->data_valid_target;
    bool good = true;
    if (!has_validation && !sets.n)
        good = error_usage(error, "this run has neither a validation set nor data.tests; name a source and a reference file");
    if (has_validation)
        good = add_lists(table, "validation", o->data_valid_source, o->data_valid_target, error) ||
               error_context(error, "the validation set of this run %s", way_out);
    for (int i = 0; i < sets.n && good; i++) {
        const NamedSet *set = &sets.set[i];
        good = add_files(table, set->name, set->source, set->reference, error) ||
               error_context(error, "the set '%s' of data.tests %s", set->name, way_out);
    }
    sets_free(&sets);
    return good;
}

/* ---- printing ---- */

static void print_header(void)
{
    printf("set\tsentences\tbleu\tchrf\texact\n");
}

static void print_row(const char *name, const Scores *s)
{
    printf("%s\t%zu\t%.2f\t%.2f\t%.2f\n", name, s->n_sentences, s->bleu, s->chrf, s->exact);
    fflush(stdout); /* the next set may take long */
}

/* Beside the table, which programs read. */
static void print_signatures(int n_references)
{
    char *bleu = bleu_signature(n_references), *chrf = chrf_signature(n_references);
    fprintf(stderr, "%s\n%s\n", bleu, chrf);
    mem_free(bleu);
    mem_free(chrf);
}

/* ---- what a model translates ---- */

/* Translate the set and compare. */
static bool translate(ferry_model *model, const TestSet *set, const ferry_call *call, Scores *scores, Error *error)
{
    const size_t n = set->source.n;
    const char **line = mem_alloc(n * sizeof *line);
    size_t *length = mem_alloc(n * sizeof *length);
    for (size_t i = 0; i < n; i++) line[i] = lines_get(&set->source, i, &length[i]);
    ferry_error failure;
    FERRY_INIT(failure);
    ferry_result *result = ferry_translate(model, line, length, n, call, &failure);
    mem_free(line);
    mem_free(length);
    models_warn(result);
    if (!result) return models_failed(&failure, error);
    Text *text = mem_alloc(n * sizeof *text);
    ferry_translation t;
    FERRY_INIT(t);
    for (size_t i = 0; ferry_get(result, i, 0, &t); i++) text[i] = (Text){.data = (char *)t.text, .n = t.length}; /* lent */
    *scores = scores_of_set(set, text);
    mem_free(text);
    ferry_free(result);
    return true;
}

static bool score(const Table *table, ferry_model *model, Error *error)
{
    Progress progress;
    ferry_call call;
    bool good = true;
    progress_init(&progress, stderr);
    FERRY_INIT(call);
    call.progress_context = &progress;
    if (isatty(STDERR_FILENO)) call.progress = models_progress;
    print_header();
    for (int i = 0; i < table->n && good; i++) {
        Scores s;
        call.name = table->row[i].source;
        good = translate(model, &table->row[i].set, &call, &s, error);
        progress_clear(&progress);
        if (good) print_row(table->row[i].name, &s);
    }
    if (good) print_signatures(1);
    return good;
}

static void free_table(Table *table)
{
    for (int i = 0; i < table->n; i++) {
        mem_free(table->row[i].name);
        mem_free(table->row[i].source);
        scores_free_set(&table->row[i].set);
    }
    mem_free(table->row);
}

static bool evaluate_model(const CommandLine *line, Error *error)
{
    const char *const *file = line->argument;
    if (!line->n_models)
        return error_usage(error, "evaluate needs --model RUN, or --hypothesis FILE and its references; usage: ferry evaluate %s",
                           line->command->usage);
    if (line->n_arguments == 1 || line->n_arguments > 2)
        return error_usage(error, "evaluate takes a source and a reference file, or neither (then the validation set of the "
                           "run, and its data.tests)");
    ferry_model *model = models_open(line, false, error);
    if (!model) return false;
    Options options;
    Table table = {0};
    const bool good = models_options(model, &options, error) &&
                      (line->n_arguments ? add_files(&table, path_name(file[0]), file[0], file[1], error)
                                         : add_configured(&table, &options, error)) &&
                      score(&table, model, error);
    free_table(&table);
    options_free(&options);
    ferry_close(model);
    return good;
}

/* ---- translations that are there already ---- */

static bool evaluate_hypothesis(const CommandLine *line, const char *hypothesis, Error *error)
{
    if (line->n_models)
        return error_usage(error, "--hypothesis scores translations that are there already, --model makes them; give one of the two");
    if (!line->n_arguments)
        return error_usage(error, "--hypothesis needs at least one reference: ferry evaluate --hypothesis FILE REFERENCE...");
    int n_stdin = !strcmp(hypothesis, "-");
    for (int r = 0; r < line->n_arguments; r++) n_stdin += !strcmp(line->argument[r], "-");
    if (n_stdin > 1) return error_usage(error, "standard input can be only one of the files");
    Scores s;
    if (!scores_of_files(hypothesis, line->argument, line->n_arguments, &s, error)) return false;
    print_header();
    print_row(strcmp(hypothesis, "-") ? path_name(hypothesis) : "standard input", &s);
    print_signatures(line->n_arguments);
    return true;
}

bool cmd_evaluate(CommandLine *line, Error *error)
{
    const char *hypothesis = line->flag[FLAG_HYPOTHESIS];
    return hypothesis ? evaluate_hypothesis(line, hypothesis, error) : evaluate_model(line, error);
}
