/* The line reader. Bytes as they are: lines, or an error that names the file; zlib's own reader must agree with what they
 * uncompress to. Bytes that we compressed, in two members: exactly their lines. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "data/lines.h"
#include "tests/fuzz/fuzz.h"

static void add_line(Text *out, const char *line, size_t n)
{
    text_append_format(out, "%zu:", n);
    text_append(out, line, n);
}

/* All lines, each with its length before it; false if the file can't be read to its end. */
static bool read_lines(const char *path, Text *out)
{
    Error error = {0};
    LineReader *reader = lines_open(path, &error);
    CHECK(reader, "%s", error.text);
    const char *line;
    size_t n;
    int64_t count = 0;
    int status;
    while ((status = lines_next(reader, &line, &n, &error)) > 0) {
        CHECK(!n || !memchr(line, '\n', n), "a newline in line %lld", (long long)count);
        add_line(out, line, n);
        count++;
        CHECK(lines_number(reader) == count, "line %lld", (long long)count);
    }
    if (status == 0) CHECK(lines_next(reader, &line, &n, &error) == 0, "a line after the end");
    else CHECK(error.code && strstr(error.text, path), "no name in '%s'", error.text);
    lines_close(reader);
    return status == 0;
}

/* What read_lines should give. */
static void split(const char *bytes, size_t n, Text *out)
{
    if (n >= 3 && !memcmp(bytes, "\xEF\xBB\xBF", 3)) {
        bytes += 3;
        n -= 3;
    }
    if (!n) return;
    for (const char *end = bytes + n, *next; bytes < end; bytes = next) {
        const char *stop = memchr(bytes, '\n', (size_t)(end - bytes));
        next = stop ? stop + 1 : end;
        if (!stop) stop = end;
        if (stop > bytes && stop[-1] == '\r') stop--;
        add_line(out, bytes, (size_t)(stop - bytes));
    }
}

static void assert_same(const Text *lines, const Text *expected)
{
    CHECK(lines->n == expected->n && (!lines->n || !memcmp(lines->data, expected->data, lines->n)), "%zu and %zu bytes of lines",
          lines->n, expected->n);
}

static void compress_member(Text *out, const uint8_t *bytes, size_t n)
{
    z_stream z = {.next_in = (unsigned char *)bytes, .avail_in = (uInt)n};
    CHECK(deflateInit2(&z, 1, Z_DEFLATED, 10 + 16, 1, Z_DEFAULT_STRATEGY) == Z_OK, "deflateInit2");
    size_t most = deflateBound(&z, (uLong)n);
    z.next_out = (unsigned char *)text_reserve(out, most);
    z.avail_out = (uInt)most;
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END, "deflate");
    out->n += most - z.avail_out;
    deflateEnd(&z);
}

/* What zlib makes of the file. */
static void gunzip(const char *path, Text *out)
{
    gzFile file = gzopen(path, "rb");
    CHECK(file, "gzopen");
    int n;
    while ((n = gzread(file, text_reserve(out, 4096), 4096)) > 0) out->n += (size_t)n;
    CHECK(n == 0, "zlib refuses what we take");
    gzclose(file);
}

int fuzz_lines(const uint8_t *data, size_t size)
{
    Text lines = {0}, expected = {0}, content = {0};
    FuzzFile file = fuzz_file(data, size);
    bool good = read_lines(file.path, &lines);
    const bool zipped = size && data[0] == 0x1F && (size == 1 || data[1] == 0x8B);
    CHECK(good || zipped, "text can't be read");
    if (good && zipped) gunzip(file.path, &content);
    else text_append(&content, (const char *)data, size);
    split(content.data, content.n, &expected);
    if (good) assert_same(&lines, &expected);
    fuzz_file_close(&file);

    content.n = lines.n = expected.n = 0;
    const size_t cut = size ? data[size - 1] % (size + 1) : 0;
    compress_member(&content, data, cut);
    compress_member(&content, data + cut, size - cut);
    file = fuzz_file(content.data, content.n);
    CHECK(read_lines(file.path, &lines), "good gzip can't be read");
    split((const char *)data, size, &expected);
    assert_same(&lines, &expected);
    fuzz_file_close(&file);
    text_free(&content);
    text_free(&lines);
    text_free(&expected);
    return 0;
}
