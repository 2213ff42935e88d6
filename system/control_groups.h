/* What Linux's control groups, of version 1 or 2, leave this process: a container's limits, or systemd's. */
#ifndef FERRY_SYSTEM_CONTROL_GROUPS_H
#define FERRY_SYSTEM_CONTROL_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

/* `root` stands before /proc and /sys: "", but for tests. */

/* Call `look` for each folder of the groups that this process lies in by `controller` ("memory", "cpu"): the innermost first, then
 * those around it, of which a container may see only some. `version` is 1 or 2: files have other names in each. */
void control_groups_visit(const char *root, const char *controller,
                          void (*look)(void *context, const char *folder, int version), void *context);

/* The number behind `key` at the beginning of a line of the file (key "": the first number of the file); false if there is none. */
bool control_groups_number(const char *folder, const char *name, const char *key, uint64_t *number);

/* As many processors as this process may keep busy by the groups' quotas, rounded up; INT_MAX if there is none. */
int control_groups_processors(const char *root);

#endif
