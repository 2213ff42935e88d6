#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "train/command.h"
#include "train/ensemble.h"
#include "train/files.h"
#include "train/scores.h"

static void print_row(const char *name, const Scores *scores)
{
    printf("set\tsentences\tbleu\tchrf\texact\n");
    printf("%s\t%zu\t%.2f\t%.2f\t%.2f\n", name, scores->n_sentences, scores->bleu, scores->chrf, scores->exact);
}

static bool evaluate(const Ensemble *ensemble, const char *name, const char *source, const char *reference, Error *error)
{
    TestSet set;
    if (!scores_read_set(&set, source, reference, error)) return false;
    Translator translator;
    ensemble_translator(ensemble, &translator);
    translator.reports = isatty(STDERR_FILENO);
    Scores scores;
    scores_of(&translator, &set, source, &scores, NULL);
    print_row(name, &scores);
    translator_free(&translator);
    scores_free_set(&set);
    return true;
}

/* An argument is one file, whatever blanks are in its name. */
static char *as_list(const char *path)
{
    char *list = mem_alloc(2 * strlen(path) + 1), *to = list;
    for (; *path; *to++ = *path++)
        if (*path == ' ') *to++ = '\\';
    *to = '\0';
    return list;
}

bool cmd_evaluate(CommandLine *line, Error *error)
{
    if (line->n_arguments == 1)
        return error_usage(error,
                           "evaluate takes a source and a reference file, or neither (then the validation set of the run)");
    Ensemble ensemble;
    if (!ensemble_open(&ensemble, line, error)) return false;
    const Options *options = &ensemble.run[0].options;
    bool good;
    if (line->n_arguments) {
        char *source = as_list(line->argument[0]), *reference = as_list(line->argument[1]);
        good = evaluate(&ensemble, path_name(line->argument[0]), source, reference, error);
        mem_free(source);
        mem_free(reference);
    } else if (!*options->data_valid_source || !*options->data_valid_target) {
        good = error_usage(error, "this run has no validation set; name a source and a reference file");
    } else {
        good = evaluate(&ensemble, "validation", options->data_valid_source, options->data_valid_target, error) ||
               error_context(error, "the validation set of this run (name a source and a reference file to choose another)");
    }
    ensemble_close(&ensemble);
    return good;
}
