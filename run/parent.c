#include "run/parent.h"

#include "core/memory.h"
#include "run/run.h"

/* Weights and tokenizer are of use only where these are as they were when they were learned. */
static bool same_model(const Parent *parent, const Options *options, Error *error)
{
    static const char *const kept[] = {"model.", "data.symbols", "data.tokenized", NULL};
    Options theirs;
    options_init(&theirs);
    bool good = options_from_text(&theirs, parent->checkpoint.path, parent->checkpoint.origin.options, error);
    char *differences = good ? options_differences(&theirs, options, kept, ", now ") : NULL;
    options_free(&theirs);
    if (!differences) return good;
    error_usage(error, "%s, which train.init_from names, was trained with other options:\n%sSet them to its values.",
                parent->checkpoint.path, differences);
    mem_free(differences);
    return false;
}

bool parent_open(Parent *parent, const Options *options, Error *error)
{
    char *path = NULL;
    if (!run_locate(options->train_init_from, &parent->folder, &path, error))
        return error_context(error, "train.init_from");
    const bool good = checkpoint_open(&parent->checkpoint, path, error) && same_model(parent, options, error);
    mem_free(path);
    return good;
}

void parent_close(Parent *parent)
{
    if (parent->checkpoint.file) checkpoint_close(&parent->checkpoint);
    mem_free(parent->folder);
    *parent = (Parent){0};
}

bool parent_weights(const Parent *parent, const Options *options, Params *params, Error *error)
{
    return checkpoint_read_weights(&parent->checkpoint, options->decode_weights == WEIGHTS_EMA, params, error);
}
