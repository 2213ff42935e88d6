#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

FuzzFile fuzz_file(const void *bytes, size_t n)
{
    FuzzFile file = {.descriptor = memfd_create("fuzz", MFD_CLOEXEC)};
    CHECK(file.descriptor >= 0 && write(file.descriptor, bytes, n) == (ssize_t)n, "a file of %zu bytes in memory", n);
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.descriptor);
    return file;
}

void fuzz_file_close(FuzzFile *file)
{
    close(file->descriptor);
}
