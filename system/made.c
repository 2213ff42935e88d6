#include "system/made.h"

#include <stdio.h>
#include <sys/stat.h>

#include "core/memory.h"

void made_note(FilesMade *made, const char *path)
{
    char *part = mem_string(path);
    for (size_t i = 1; part[0] && part[i - 1]; i++) {
        if ((part[i] != '/' && part[i]) || part[i - 1] == '/') continue;
        part[i] = '\0';
        struct stat status;
        if (lstat(part, &status) != 0) {
            ARRAY_RESERVE(made->path, made->n, made->capacity);
            made->path[made->n++] = mem_string(part);
        }
        part[i] = path[i];
    }
    mem_free(part);
}

void made_keep(FilesMade *made)
{
    for (int i = 0; i < made->n; i++) mem_free(made->path[i]);
    mem_free(made->path);
    *made = (FilesMade){0};
}

void made_undo(FilesMade *made)
{
    for (int i = made->n - 1; i >= 0; i--) remove(made->path[i]);
    made_keep(made);
}
