#include "system/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"

/* Every system call that can lose data goes through SYSTEM, so that a test can make any one of them fail, in its own
 * thread. */
static _Thread_local int n_calls, act_at, fail_number;
static _Thread_local int (*act_now)(void);

static bool call_refused(void)
{
    if (++n_calls != act_at) return false;
    const int number = act_now();
    if (number) errno = number;
    return number != 0;
}

#define SYSTEM(call) (call_refused() ? -1 : (call))

int files_act_at_call(int nth, int (*act)(void))
{
    int made = n_calls;
    n_calls = 0;
    act_at = nth;
    act_now = act;
    return made;
}

static int fail(void)
{
    return fail_number;
}

int files_fail_call(int nth, int error_number)
{
    fail_number = error_number;
    return files_act_at_call(nth, fail);
}

/* What the user can do about it; NULL if there is nothing to say. */
static const char *hint(int number)
{
    static const struct {
        int number;
        const char *text;
    } hints[] = {
        {ENOSPC, "free some space on that disk"},
        {EDQUOT, "your quota is used up: free some space on that disk"},
        {EFBIG, "raise the limit of file sizes (ulimit -f)"},
        {EACCES, "check the permissions there, or choose another place"},
        {EPERM, "check the permissions there, or choose another place"},
        {EROFS, "choose a place that can be written to"},
        {ENOENT, "check the path"},
        {ENOTDIR, "check the path: a part of it is a file, not a folder"},
        {EISDIR, "check the path: a file is wanted there"},
        {EIO, "the disk reports a fault: check it, and copy what you need elsewhere"},
    };
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (hints[i].number == number) return hints[i].text;
    return NULL;
}

/* The error of the system call that just failed with errno on `path`. Returns false. */
static bool call_failed(Error *error, const char *path, const char *call, const char *consequence)
{
    int number = errno;
    const char *todo = hint(number);
    return error_set(error, "%s: %s failed: %s%s%s%s%s", path, call, strerror(number), todo ? "; " : "", todo ? todo : "",
                     *consequence ? "; " : "", consequence);
}

/* For mem_defer. */
static void close_descriptor(void *descriptor)
{
    close((int)(intptr_t)descriptor);
}

static void close_folder(void *folder)
{
    closedir(folder);
}

/* Close it, errno staying what it is: what is open must not wait for a message, for which memory may lack. */
static void close_quietly(int descriptor)
{
    const int number = errno;
    close(descriptor);
    errno = number;
}

static const char untouched[] = "what was there before is untouched";

/* Paths. */

char *path_join(const char *folder, const char *name)
{
    size_t n = strlen(folder);
    if (!n || *name == '/') return mem_string(name);
    return mem_format("%s%s%s", folder, folder[n - 1] == '/' ? "" : "/", name);
}

char *path_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return mem_string(".");
    return slash == path ? mem_string("/") : mem_format("%.*s", (int)(slash - path), path);
}

const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Writing. */

enum { BUFFER_BYTES = 1 << 16 };

struct AtomicFile {
    char *path, *temporary;
    int descriptor; /* -1: closed */
    MemDeferred *leaving;
    char *buffer;   /* [BUFFER_BYTES], n_buffered of them not written yet */
    size_t n_buffered;
};

static const char temporary_mark[] = ".tmp-";

/* The number of the process keeps two of them apart; a dead one's leftover of the same name is removed before use. */
static char *temporary_path(const char *path)
{
    return mem_format("%s%s%ld", path, temporary_mark, (long)getpid());
}

static int sync_retried(int descriptor)
{
    int result;
    do result = SYSTEM(fsync(descriptor));
    while (result < 0 && errno == EINTR);
    return result;
}

/* Make what happened to the folder's entries outlast a power cut; some file systems know no fsync of folders
 * (EINVAL). */
static bool folder_sync(int descriptor)
{
    return sync_retried(descriptor) == 0 || errno == EINVAL;
}

/* Give the temporary its name. The folder is opened first: when that fails, nothing has changed yet. */
static bool publish(const char *temporary, const char *path, Error *error)
{
    char *folder = path_folder(path);
    int descriptor = SYSTEM(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    bool ok = true;
    if (descriptor < 0) {
        ok = call_failed(error, folder, "opening the folder", untouched);
    } else {
        const bool renamed = SYSTEM(rename(temporary, path)) == 0, synced = renamed && folder_sync(descriptor);
        close_quietly(descriptor);
        if (!renamed) ok = call_failed(error, path, "rename", untouched);
        else if (!synced)
            ok = call_failed(error, folder, "fsync of the folder", "the new file is there, but a power cut could undo it");
    }
    mem_free(folder);
    return ok;
}

/* Close and remove the temporary, unless it has its name already. */
static void leave(void *handle)
{
    AtomicFile *file = handle;
    if (file->descriptor >= 0) close(file->descriptor);
    unlink(file->temporary);
}

AtomicFile *file_create(const char *path, Error *error)
{
    AtomicFile *file = mem_alloc(sizeof *file);
    *file = (AtomicFile){.path = mem_string(path), .temporary = temporary_path(path), .descriptor = -1,
                         .buffer = mem_alloc(BUFFER_BYTES)};
    file->leaving = mem_defer(leave, file);
    if (SYSTEM(unlink(file->temporary)) != 0 && errno != ENOENT) {
        call_failed(error, file->temporary, "removing the leftover of a killed process", untouched);
    } else {
        file->descriptor = SYSTEM(open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (file->descriptor >= 0) return file;
        call_failed(error, path, "creating the file", untouched);
    }
    file_abandon(file);
    return NULL;
}

/* Write all bytes; `path` and `consequence` are for the message. */
static bool write_bytes(int descriptor, const char *path, const void *data, size_t bytes, const char *consequence,
                        Error *error)
{
    for (const char *next = data; bytes > 0;) {
        ssize_t n = SYSTEM(write(descriptor, next, bytes < SSIZE_MAX ? bytes : SSIZE_MAX));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return call_failed(error, path, "write", consequence);
        next += n;
        bytes -= (size_t)n;
    }
    return true;
}

bool file_flush(AtomicFile *file, Error *error)
{
    const size_t n = file->n_buffered;
    file->n_buffered = 0;
    return write_bytes(file->descriptor, file->path, file->buffer, n, untouched, error);
}

bool file_write(AtomicFile *file, const void *data, size_t bytes, Error *error)
{
    if (bytes > BUFFER_BYTES - file->n_buffered && !file_flush(file, error)) return false;
    if (bytes > BUFFER_BYTES) return write_bytes(file->descriptor, file->path, data, bytes, untouched, error);
    if (bytes) memcpy(file->buffer + file->n_buffered, data, bytes);
    file->n_buffered += bytes;
    return true;
}

/* The bytes are on the disk before the name is: else a power cut could leave the name with an empty file. */
static bool flush_and_publish(AtomicFile *file, Error *error)
{
    if (!file_flush(file, error)) return false;
    if (sync_retried(file->descriptor) != 0) return call_failed(error, file->path, "fsync", untouched);
    int descriptor = file->descriptor;
    file->descriptor = -1;
    if (SYSTEM(close(descriptor)) != 0) return call_failed(error, file->path, "close", untouched);
    return publish(file->temporary, file->path, error);
}

bool file_commit(AtomicFile *file, Error *error)
{
    bool ok = flush_and_publish(file, error);
    file_abandon(file); /* after a success the temporary is no more, and removing it does nothing */
    return ok;
}

void file_abandon(AtomicFile *file)
{
    if (!file) return;
    mem_release(file->leaving);
    mem_free(file->buffer);
    mem_free(file->temporary);
    mem_free(file->path);
    mem_free(file);
}

const char *file_path(const AtomicFile *file)
{
    return file->path;
}

const char *file_temporary(const AtomicFile *file)
{
    return file->temporary;
}

bool file_write_all(const char *path, const void *data, size_t bytes, Error *error)
{
    AtomicFile *file = file_create(path, error);
    if (!file) return false;
    if (file_write(file, data, bytes, error)) return file_commit(file, error);
    file_abandon(file);
    return false;
}

bool file_append(const char *path, const void *data, size_t bytes, Error *error)
{
    static const char cut_short[] = "its last line may be cut short";
    int descriptor = SYSTEM(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (descriptor < 0) return call_failed(error, path, "opening the file", "");
    bool ok = write_bytes(descriptor, path, data, bytes, cut_short, error);
    if (ok && sync_retried(descriptor) != 0) ok = call_failed(error, path, "fsync", cut_short);
    if (SYSTEM(close(descriptor)) != 0 && ok) ok = call_failed(error, path, "close", cut_short);
    return ok;
}

/* Whether the name is still that of the open file: who held the lock before us may have removed it. */
static bool is_named(int descriptor, const char *path)
{
    struct stat file, name;
    return !fstat(descriptor, &file) && !stat(path, &name) && file.st_ino == name.st_ino && file.st_dev == name.st_dev;
}

int file_lock(const char *path, bool *held, Error *error)
{
    *held = false;
    for (;;) {
        int descriptor = SYSTEM(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666));
        if (descriptor < 0) {
            call_failed(error, path, "opening the file", "");
            return -1;
        }
        if (SYSTEM(flock(descriptor, LOCK_EX | LOCK_NB)) == 0) {
            if (is_named(descriptor, path)) return descriptor;
        } else if (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS) {
            warn("%s can't be locked (%s): see to it yourself that no second process works there", path,
                 strerror(errno));
            return descriptor;
        } else {
            *held = errno == EWOULDBLOCK;
            close_quietly(descriptor);
            call_failed(error, path, "locking the file", "");
            return -1;
        }
        close(descriptor);
    }
}

/* Reading. */

/* Reads on to the end of the file: the size that stat tells is only a first guess (pipes and /proc tell 0). */
static char *read_to_end(int descriptor, size_t guess, size_t *bytes)
{
    size_t size = 0, capacity = guess + 2;
    char *data = mem_alloc(capacity);
    for (;;) {
        ssize_t n = SYSTEM(read(descriptor, data + size, capacity - 1 - size));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) break;
        size += (size_t)n;
        if (n == 0) {
            data[size] = '\0';
            *bytes = size;
            return data;
        }
        if (size == capacity - 1) {
            data = mem_resize(data, size, 2 * capacity);
            capacity *= 2;
        }
    }
    mem_free(data);
    return NULL;
}

char *file_read_all(const char *path, size_t *bytes, Error *error)
{
    char *data = NULL;
    size_t size = 0;
    struct stat status;
    int descriptor = SYSTEM(open(path, O_RDONLY | O_CLOEXEC));
    if (descriptor < 0) {
        call_failed(error, path, "opening the file", "");
        return NULL;
    }
    MemDeferred *closing = mem_defer(close_descriptor, (void *)(intptr_t)descriptor);
    if (SYSTEM(fstat(descriptor, &status)) == 0) data = read_to_end(descriptor, (size_t)status.st_size, &size);
    if (!data) call_failed(error, path, "reading", "");
    mem_release(closing);
    if (data && bytes) *bytes = size;
    return data;
}

bool file_exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

bool file_remove(const char *path, Error *error)
{
    return SYSTEM(unlink(path)) == 0 || errno == ENOENT || call_failed(error, path, "removing the file", "");
}

/* Folders. */

bool folder_exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Make one folder whose parent is there, and make its entry in the parent last. */
static bool folder_make_one(const char *path, Error *error)
{
    if (SYSTEM(mkdir(path, 0777)) != 0) {
        if (errno == EEXIST && folder_exists(path)) return true;
        return call_failed(error, path, "making the folder", "");
    }
    char *parent = path_folder(path);
    int descriptor = SYSTEM(open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    bool ok = descriptor >= 0 && folder_sync(descriptor);
    if (descriptor >= 0) close_quietly(descriptor);
    if (!ok) call_failed(error, parent, "fsync of the folder", "");
    mem_free(parent);
    return ok;
}

bool folder_make(const char *path, Error *error)
{
    char *part = mem_string(path);
    bool ok = true;
    for (size_t i = 1; ok && part[0] && part[i - 1]; i++) {
        if ((part[i] != '/' && part[i]) || part[i - 1] == '/') continue;
        part[i] = '\0';
        if (!folder_exists(part)) ok = folder_make_one(part, error);
        part[i] = path[i];
    }
    mem_free(part);
    return ok;
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool begins_and_ends(const char *text, const char *prefix, const char *suffix)
{
    size_t n = strlen(text), n_prefix = strlen(prefix), n_suffix = strlen(suffix);
    return n >= n_prefix + n_suffix && !memcmp(text, prefix, n_prefix) && !memcmp(text + n - n_suffix, suffix, n_suffix);
}

static void free_names(char **names, int n)
{
    for (int i = 0; i < n; i++) mem_free(names[i]);
    mem_free(names);
}

bool folder_list(const char *path, const char *prefix, const char *suffix, char ***names, int *n_names, Error *error)
{
    DIR *folder = call_refused() ? NULL : opendir(path);
    if (!folder) return call_failed(error, path, "opening the folder", "");
    MemDeferred *closing = mem_defer(close_folder, folder);
    char **found = NULL;
    int n = 0, capacity = 0;
    struct dirent *entry;
    while (errno = 0, (entry = readdir(folder))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (!begins_and_ends(entry->d_name, prefix, suffix)) continue;
        ARRAY_RESERVE(found, n, capacity);
        found[n++] = mem_string(entry->d_name);
    }
    bool ok = errno == 0 || call_failed(error, path, "reading the folder", "");
    mem_release(closing);
    if (!ok) {
        free_names(found, n);
        return false;
    }
    if (n) qsort(found, (size_t)n, sizeof *found, compare_strings);
    *names = found;
    *n_names = n;
    return true;
}

/* Whether the name is one of those, then ".tmp-" and digits. */
static bool is_temporary(const char *name, bool (*is_own)(const char *name))
{
    const char *mark = NULL;
    for (const char *next = name; (next = strstr(next, temporary_mark)); next++) mark = next;
    if (!mark) return false;
    const char *digits = mark + strlen(temporary_mark);
    if (!*digits || digits[strspn(digits, "0123456789")]) return false;
    char *of = mem_format("%.*s", (int)(mark - name), name);
    const bool own = is_own(of);
    mem_free(of);
    return own;
}

bool folder_remove_temporaries(const char *path, bool (*is_own)(const char *name), Error *error)
{
    char **names = NULL;
    int n = 0;
    if (!folder_list(path, "", "", &names, &n, error)) return false;
    bool ok = true;
    for (int i = 0; ok && i < n; i++) {
        if (!is_temporary(names[i], is_own)) continue;
        char *whole = path_join(path, names[i]);
        ok = file_remove(whole, error);
        mem_free(whole);
    }
    free_names(names, n);
    return ok;
}

/* Links. */

bool symlink_replace(const char *path, const char *target, Error *error)
{
    char *temporary = temporary_path(path);
    bool ok = SYSTEM(unlink(temporary)) == 0 || errno == ENOENT;
    ok = ok && SYSTEM(symlink(target, temporary)) == 0;
    const bool has_none = !ok && (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS);
    if (has_none) ok = file_write_all(path, target, strlen(target), error);
    else if (!ok) call_failed(error, path, "making the link", untouched);
    else if (!(ok = publish(temporary, path, error))) unlink(temporary);
    mem_free(temporary);
    return ok;
}

/* The line that a small file holds, its end aside; NULL if it holds something else. */
static char *read_name(const char *path)
{
    char text[NAME_MAX + 2];
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return NULL;
    const ssize_t n = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    if (n <= 0 || (size_t)n == sizeof text - 1 || memchr(text, '\0', (size_t)n)) return NULL;
    text[n] = '\0';
    const size_t length = strcspn(text, "\r\n");
    if (text[length + strspn(text + length, "\r\n")]) return NULL;
    text[length] = '\0';
    return mem_string(text);
}

char *symlink_target(const char *path)
{
    char target[PATH_MAX];
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n < 0) return errno == EINVAL ? read_name(path) : NULL;
    target[n] = '\0';
    return mem_string(target);
}
