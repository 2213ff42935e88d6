/* Test sets by name: the option data.tests. */
#ifndef FERRY_OPTIONS_SETS_H
#define FERRY_OPTIONS_SETS_H

#include "core/error.h"

/* A test set that the option names. */
typedef struct NamedSet {
    char *name, *source, *reference; /* the latter two are file names */
} NamedSet;

typedef struct NamedSets {
    NamedSet *set; /* [n] */
    int n;
} NamedSets;

/* Read "NAME=SOURCE,REFERENCE ...": sets are separated by blanks, and in a file name "\ " is a blank and "\," a comma. What
 * isn't such a list and a name that comes twice are usage errors. Whether the files are there isn't looked at. Free with
 * sets_free (on success). */
bool sets_parse(NamedSets *sets, const char *value, Error *error);
void sets_free(NamedSets *sets);

#endif
