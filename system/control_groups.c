#include "system/control_groups.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

/* The files of /proc and /sys that are read here have short lines. */
enum { MOST_LINE = 4096 };

/* Where groups of version 2 are mounted; those of version 1 in a folder of the controller's name below it. */
#define MOUNT "/sys/fs/cgroup"

/* For mem_defer. */
static void close_file(void *file)
{
    fclose(file);
}

static FILE *open_file(const char *folder, const char *name)
{
    char *path = mem_format("%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    mem_free(path);
    return file;
}

bool control_groups_number(const char *folder, const char *name, const char *key, uint64_t *number)
{
    char line[MOST_LINE], *end;
    FILE *file = open_file(folder, name);
    if (!file) return false;
    const size_t n = strlen(key);
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, n)) continue;
        *number = strtoull(line + n, &end, 10);
        found = end > line + n;
    }
    fclose(file);
    return found;
}

/* Whether `word` is one of the words that `list` names, with commas between. */
static bool names(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == n && !strncmp(list, word, n)) return true;
    return false;
}

/* A line of /proc/self/cgroup, NUMBER:CONTROLLERS:/PATH. One of version 2 has the number 0 and no controllers. */
static void visit_line(const char *root, const char *controller, char *line,
                       void (*look)(void *context, const char *folder, int version), void *context)
{
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path || path[1] != '/') return;
    *path++ = '\0';
    const int version = !strncmp(line, "0:", 2) && !controllers[1] ? 2 : 1;
    if (version == 1 && !names(controllers + 1, controller)) return;
    for (;;) {
        char *folder = mem_format("%s%s%s%s%s", root, MOUNT, version == 1 ? "/" : "", version == 1 ? controller : "", path);
        look(context, folder, version);
        mem_free(folder);
        char *slash = strrchr(path, '/');
        if (!slash) return;
        *slash = '\0';
    }
}

void control_groups_visit(const char *root, const char *controller,
                          void (*look)(void *context, const char *folder, int version), void *context)
{
    char line[MOST_LINE], *proc = mem_format("%s/proc/self", root);
    FILE *file = open_file(proc, "cgroup");
    mem_free(proc);
    if (!file) return;
    MemDeferred *closing = mem_defer(close_file, file);
    while (fgets(line, sizeof line, file)) visit_line(root, controller, line, look, context);
    mem_release(closing);
}

/* cpu.max: QUOTA PERIOD, in microseconds; the quota is "max" where there is none. */
static bool read_max(const char *folder, uint64_t *quota, uint64_t *period)
{
    char line[MOST_LINE] = "", *end;
    FILE *file = open_file(folder, "cpu.max");
    if (!file) return false;
    const bool there = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    if (!there) return false;
    *quota = strtoull(line, &end, 10);
    if (end == line) return false;
    const char *second = end;
    *period = strtoull(second, &end, 10);
    return end > second;
}

static void lower_processors(void *context, const char *folder, int version)
{
    int *least = context;
    uint64_t quota, period;
    const bool found = version == 2 ? read_max(folder, &quota, &period)
                                    : control_groups_number(folder, "cpu.cfs_quota_us", "", &quota) &&
                                          control_groups_number(folder, "cpu.cfs_period_us", "", &period);
    if (!found || !period || quota > INT64_MAX) return; /* -1, in version 1, is no quota */
    const uint64_t processors = quota / period + (quota % period != 0);
    if (processors < (uint64_t)*least) *least = processors ? (int)processors : 1;
}

int control_groups_processors(const char *root)
{
    int least = INT_MAX;
    control_groups_visit(root, "cpu", lower_processors, &least);
    return least;
}
