/* Files and folders of a run. A file is written whole or not at all: into a temporary beside it, which takes its name
 * only when all bytes are on the disk. Whatever fails, and whenever the machine stops, the file that was there before
 * stays. */
#ifndef FERRY_SYSTEM_FILES_H
#define FERRY_SYSTEM_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

/* A file being written. Its owner ends it with file_commit or file_abandon. */
typedef struct AtomicFile AtomicFile;

/* Begin to write the file `path`; its folder must exist. NULL on error. */
AtomicFile *file_create(const char *path, Error *error);
/* Append `bytes` bytes. After an error only file_abandon is left. */
bool file_write(AtomicFile *file, const void *data, size_t bytes, Error *error);
/* Make the file appear under its name, safely on the disk, and free `file`, also on error. If only the last step fails
 * (the fsync of the folder), the error says that the new file is there but may not outlast a power cut. */
bool file_commit(AtomicFile *file, Error *error);
/* Give up: remove the temporary and free `file` (NULL is allowed). */
void file_abandon(AtomicFile *file);
/* See that all bytes so far are in the temporary, whoever reads it (not yet on the disk); more may follow. */
bool file_flush(AtomicFile *file, Error *error);
/* The path that file_create was given, and that of the temporary, both as long as `file` lives. */
const char *file_path(const AtomicFile *file);
const char *file_temporary(const AtomicFile *file);

/* file_create, file_write and file_commit in one, for small files. */
bool file_write_all(const char *path, const void *data, size_t bytes, Error *error);
/* Append to a file, made if need be, and see the bytes on the disk. After an error a part of them may be there. */
bool file_append(const char *path, const void *data, size_t bytes, Error *error);
/* The whole file in memory, a zero byte after it; its length in *bytes (unless NULL). Free with mem_free. NULL on
 * error. */
char *file_read_all(const char *path, size_t *bytes, Error *error);
/* Whether something is there (links are followed). */
bool file_exists(const char *path);
/* Remove a file or a link, not what it points to; that there is none is no error. */
bool file_remove(const char *path, Error *error);

/* Lock a file, made if need be, until the descriptor that is returned is closed or the process ends, however it ends;
 * whoever holds the lock may remove the file. -1 and *error if it can't be done; *held tells whether that is because
 * another process holds the lock. Where the file system has no locks, a warning says so, and the descriptor is of a
 * file that nobody locks. */
int file_lock(const char *path, bool *held, Error *error);

/* Whether it is a folder (links are followed). */
bool folder_exists(const char *path);
/* Make a folder and those above it that are missing; that it is there is no error. */
bool folder_make(const char *path, Error *error);
/* The names (without the folder) of the entries that begin with `prefix` and end with `suffix`, in strcmp order. Free
 * each, and the array, with mem_free. */
bool folder_list(const char *path, const char *prefix, const char *suffix, char ***names, int *n_names, Error *error);
/* Remove the temporaries that a killed process left of files with such names as `is_own` says yes to: nobody else's
 * files. Only for one who knows that nobody writes those now. */
bool folder_remove_temporaries(const char *path, bool (*is_own)(const char *name), Error *error);

/* folder/name, with one slash between; `name` alone if it is absolute or `folder` is empty. Free with mem_free. */
char *path_join(const char *folder, const char *name);
/* The part before the last slash, "." if there is none, "/" for what lies in the root. Free with mem_free. */
char *path_folder(const char *path);
/* The part after the last slash: a pointer into `path`. */
const char *path_name(const char *path);

/* Make `path` a link to `target` (a text, relative to the link's folder); what is there already is replaced in one
 * step. On a file system without symbolic links, a small file that holds the text stands for the link. */
bool symlink_replace(const char *path, const char *target, Error *error);
/* What the link points to, as text, or the line that such a file holds; free with mem_free. NULL if `path` is neither
 * (a file of several lines or more than a name's length isn't) or can't be read. */
char *symlink_target(const char *path);

/* For tests: at the `nth` system call from now on (1 is the next; 0: none) that can lose data, `act` is called. If it
 * returns an error number, the system call is not made but fails with it; 0: it is made. Returns how many such calls
 * there were since this was last called. */
int files_act_at_call(int nth, int (*act)(void));
/* The same with an error number. */
int files_fail_call(int nth, int error_number);

#endif
