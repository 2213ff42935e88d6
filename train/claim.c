#include "train/claim.h"

#include <unistd.h>

#include "core/memory.h"
#include "run/run.h"
#include "system/files.h"

/* A lock file that another process holds isn't ours to remove. */
static bool lock(Claim *claim, Error *error)
{
    const int n = claim->made.n;
    mem_free(claim_path(claim, RUN_LOCK));
    claim->lock = run_lock(claim->folder, error);
    if (claim->lock >= 0) return true;
    while (claim->made.n > n) mem_free(claim->made.path[--claim->made.n]);
    return false;
}

bool claim_lock(Claim *claim, Error *error)
{
    return claim->lock >= 0 || !file_exists(claim->folder) || lock(claim, error);
}

bool claim_make(Claim *claim, Error *error)
{
    if (claim->lock >= 0) return true;
    int64_t *step;
    int n;
    made_note(&claim->made, claim->folder);
    if (!folder_make(claim->folder, error) || !lock(claim, error) || !run_checkpoints(claim->folder, &step, &n, error))
        return false;
    mem_free(step);
    return !n || error_set(error, "another process has just trained in %s; the same command again goes on from there",
                           claim->folder);
}

/* The first name that ends so and that `is_one` says yes to (NULL: any); *name is NULL if there is none. */
static bool find(const char *folder, const char *suffix, bool (*is_one)(const char *name), char **name, Error *error)
{
    char **names;
    int n;
    *name = NULL;
    if (!folder_list(folder, "", suffix, &names, &n, error)) return false;
    for (int i = 0; i < n; i++) {
        if (!*name && (!is_one || is_one(names[i]))) *name = names[i];
        else mem_free(names[i]);
    }
    mem_free(names);
    return true;
}

static bool check_models(const char *folder, Error *error)
{
    char *name;
    if (!find(folder, ".safetensors", NULL, &name, error)) return false;
    if (name)
        error_usage(error, "%s holds %s but no checkpoint to go on from, and a new training would replace the %s that the "
                    "model needs. Train into another folder (--run), which may begin with that model (--init-from %s/%s)",
                    folder, name, RUN_TOKENIZER, folder, name);
    const bool good = !name;
    mem_free(name);
    return good;
}

static bool check_foreign(const char *folder, Error *error)
{
    char *name, *config = path_join(folder, RUN_CONFIG);
    const bool is_ours = options_is_written(config);
    mem_free(config);
    if (is_ours) return true;
    if (!find(folder, "", run_writes, &name, error)) return false;
    if (name)
        error_usage(error, "%s holds %s, which no training of Ferry's left there, and a new training would replace it. Train "
                    "into another folder (--run), or move that file away", folder, name);
    const bool good = !name;
    mem_free(name);
    return good;
}

bool claim_check_new(const Claim *claim, Error *error)
{
    return check_models(claim->folder, error) && check_foreign(claim->folder, error);
}

char *claim_path(Claim *claim, const char *name)
{
    char *path = path_join(claim->folder, name);
    made_note(&claim->made, path);
    return path;
}

bool claim_tidy(const Claim *claim, Error *error)
{
    return folder_remove_temporaries(claim->folder, run_writes, error);
}

void claim_keep(Claim *claim)
{
    made_keep(&claim->made);
}

void claim_close(Claim *claim)
{
    made_undo(&claim->made);
    if (claim->lock >= 0) close(claim->lock);
    claim->lock = -1;
}
