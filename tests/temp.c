#include "tests/temp.h"

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/memory.h"
#include "system/files.h"

char *temp_folder(void)
{
    const char *parent = getenv("TMPDIR");
    char *folder = mem_format("%s/ferry-test-XXXXXX", parent ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    return folder;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

void temp_remove(char *folder)
{
    ck_assert_int_eq(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    mem_free(folder);
}

char *temp_file(const char *folder, const char *name, const void *bytes, size_t n)
{
    char *path = mem_format("%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    if (n) ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

void temp_put(const char *root, const char *path, const char *text)
{
    Error error = {0};
    char *whole = path_join(root, path), *folder = path_folder(whole);
    ck_assert_msg(folder_make(folder, &error) && file_write_all(whole, text, strlen(text), &error), "%s", error.text);
    mem_free(folder);
    mem_free(whole);
}

void temp_gzip(Text *out, const void *bytes, size_t n)
{
    z_stream z = {.next_in = (unsigned char *)bytes, .avail_in = (uInt)n};
    ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t most = deflateBound(&z, (uLong)n);
    z.next_out = (unsigned char *)text_reserve(out, most);
    z.avail_out = (uInt)most;
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->n += most - z.avail_out;
    deflateEnd(&z);
}

Words temp_list(char **path)
{
    return (Words){.word = path, .n = 1};
}
