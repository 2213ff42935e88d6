/* Files and folders that shall not stay if the work that they are made for fails. */
#ifndef FERRY_SYSTEM_MADE_H
#define FERRY_SYSTEM_MADE_H

/* In the order in which they are made. Starts as all zeros. */
typedef struct FilesMade {
    char **path; /* [n], owned */
    int n, capacity;
} FilesMade;

/* Before `path` is made: note it, and the folders above it, unless they are there already. */
void made_note(FilesMade *made, const char *path);
/* The work is done: all of it stays. */
void made_keep(FilesMade *made);
/* The work has failed: remove the files, and those folders in which nothing else lies. */
void made_undo(FilesMade *made);

#endif
