#include "data/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/memory.h"
#include "text/text.h"

/* What the file's bytes are. */
typedef enum Kind {
    KIND_UNKNOWN, /* nothing read yet */
    KIND_PLAIN,
    KIND_MEMBER,  /* inside a gzip member */
    KIND_BETWEEN, /* behind a gzip member */
    KIND_PADDING, /* in the zeros that may follow the last member */
} Kind;

enum { BLOCK = 1 << 16, GZIP_FIRST = 0x1F, GZIP_SECOND = 0x8B };

struct LineReader {
    char *name;      /* for messages */
    bool is_gz_name; /* the name ends in .gz */
    MemDeferred *closing, *inflating; /* the file, and z */
    int file;
    Kind kind;
    bool ended;   /* there is no more text to come */
    bool damaged; /* nor after this: z.msg says why; what was uncompressed before is still given */
    int64_t number;
    z_stream z; /* next_in, avail_in: bytes read but not yet used, in `block` */
    unsigned char block[BLOCK];
    Text text;    /* uncompressed text not yet returned: data[begin .. n-1] */
    size_t begin;
    size_t seen; /* data[begin .. seen-1] holds no \n */
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && !strcmp(text + n - n_end, end);
}

static void close_file(void *file)
{
    close((int)(intptr_t)file);
}

static void end_inflating(void *handle)
{
    LineReader *reader = handle;
    if (reader->z.state) inflateEnd(&reader->z);
}

LineReader *lines_open(const char *path, Error *error)
{
    bool is_stdin = !strcmp(path, "-");
    int file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    const char *problem = NULL;
    if (file < 0 || fstat(file, &status)) problem = strerror(errno);
    else if (S_ISDIR(status.st_mode)) problem = "this is a folder, not a file";
    if (problem) {
        error_set(error, "%s can't be read: %s", is_stdin ? "standard input" : path, problem);
        if (file >= 0 && !is_stdin) close(file);
        return NULL;
    }
    MemDeferred *closing = is_stdin ? NULL : mem_defer(close_file, (void *)(intptr_t)file);
    LineReader *reader = mem_zalloc(sizeof *reader);
    reader->closing = closing;
    reader->inflating = mem_defer(end_inflating, reader);
    reader->name = mem_string(is_stdin ? "standard input" : path);
    reader->is_gz_name = ends_with(path, ".gz");
    reader->file = file;
    return reader;
}

void lines_close(LineReader *reader)
{
    if (!reader) return;
    mem_release(reader->inflating);
    mem_release(reader->closing);
    text_free(&reader->text);
    mem_free(reader->name);
    mem_free(reader);
}

int64_t lines_number(const LineReader *reader)
{
    return reader->number;
}

const char *lines_name(const LineReader *reader)
{
    return reader->name;
}

/* ---- bytes ---- */

/* The message says how far reading came. Returns false. */
static bool fail(const LineReader *reader, const char *problem, Error *error)
{
    return error_set(error, "%s: %s, after line %" PRId64, reader->name, problem, reader->number);
}

/* Read what there is, at most n bytes, waiting for at least one. *got is 0 at the end of the file. */
static bool read_bytes(LineReader *reader, void *bytes, size_t n, size_t *got, Error *error)
{
    ssize_t result;
    do result = read(reader->file, bytes, n);
    while (result < 0 && errno == EINTR);
    if (result < 0) return fail(reader, strerror(errno), error);
    *got = (size_t)result;
    return true;
}

/* Read into the block, behind what is there. */
static bool read_block(LineReader *reader, size_t *got, Error *error)
{
    z_stream *z = &reader->z;
    if (z->avail_in) memmove(reader->block, z->next_in, z->avail_in);
    z->next_in = reader->block;
    if (!read_bytes(reader, reader->block + z->avail_in, BLOCK - z->avail_in, got, error)) return false;
    z->avail_in += (uInt)*got;
    return true;
}

/* Tell gzip from text by the first two bytes. */
static bool find_kind(LineReader *reader, Error *error)
{
    size_t got;
    do
        if (!read_block(reader, &got, error)) return false;
    while (got && reader->z.avail_in == 1 && reader->block[0] == GZIP_FIRST);
    uInt n = reader->z.avail_in;
    if (n == 1 && reader->block[0] == GZIP_FIRST) return fail(reader, "the gzip file is cut off", error);
    if (!n && reader->is_gz_name) return fail(reader, "this is an empty file, not a gzip file", error);
    reader->kind = KIND_PLAIN;
    if (n >= 2 && reader->block[0] == GZIP_FIRST && reader->block[1] == GZIP_SECOND) {
        enum { GZIP_ONLY = 15 + 16 };
        CHECK(inflateInit2(&reader->z, GZIP_ONLY) == Z_OK, "zlib %s", zlibVersion());
        reader->kind = KIND_MEMBER;
    }
    return true;
}

/* Make the plain bytes at hand, or more of them, text. */
static bool fill_plain(LineReader *reader, Error *error)
{
    z_stream *z = &reader->z;
    size_t got = z->avail_in;
    if (got) text_append(&reader->text, (const char *)z->next_in, got); /* from find_kind */
    else {
        if (!read_bytes(reader, text_reserve(&reader->text, BLOCK), BLOCK, &got, error)) return false;
        reader->text.n += got;
    }
    z->avail_in = 0;
    reader->ended = !got;
    return true;
}

/* Behind a member come another one, zeros, or the end. */
static bool after_member(LineReader *reader, Error *error)
{
    z_stream *z = &reader->z;
    if (reader->kind == KIND_BETWEEN && *z->next_in == GZIP_FIRST) {
        CHECK(inflateReset(z) == Z_OK, "zlib %s", zlibVersion());
        reader->kind = KIND_MEMBER;
        return true;
    }
    reader->kind = KIND_PADDING;
    for (; z->avail_in; z->avail_in--, z->next_in++)
        if (*z->next_in) return fail(reader, "something other than gzip data follows the gzip data", error);
    return true;
}

/* Uncompress the bytes at hand, or more of them. */
static bool fill_gzip(LineReader *reader, Error *error)
{
    z_stream *z = &reader->z;
    if (!z->avail_in) {
        size_t got;
        if (!read_block(reader, &got, error)) return false;
        if (!got && reader->kind == KIND_MEMBER) return fail(reader, "the gzip file is cut off", error);
        reader->ended = !got;
        if (!got) return true;
    }
    if (reader->kind != KIND_MEMBER) return after_member(reader, error);
    z->next_out = (unsigned char *)text_reserve(&reader->text, BLOCK);
    z->avail_out = BLOCK;
    int status = inflate(z, Z_NO_FLUSH);
    reader->text.n += BLOCK - z->avail_out;
    if (status == Z_STREAM_END) reader->kind = KIND_BETWEEN;
    else reader->damaged = status != Z_OK && status != Z_BUF_ERROR;
    return true;
}

static bool fail_damaged(const LineReader *reader, Error *error)
{
    char problem[128];
    snprintf(problem, sizeof problem, "the gzip data are damaged (%s)", reader->z.msg ? reader->z.msg : "no reason given");
    return fail(reader, problem, error);
}

/* More text, or `ended`. */
static bool fill(LineReader *reader, Error *error)
{
    if (reader->begin) {
        reader->text.n -= reader->begin;
        reader->seen -= reader->begin;
        memmove(reader->text.data, reader->text.data + reader->begin, reader->text.n);
        reader->begin = 0;
    }
    if (reader->kind == KIND_UNKNOWN && !find_kind(reader, error)) return false;
    return reader->kind == KIND_PLAIN ? fill_plain(reader, error) : fill_gzip(reader, error);
}

/* ---- lines ---- */

/* The next line is data[begin .. end-1]; go on behind it at `next`. */
static int give(LineReader *reader, size_t end, size_t next, const char **line, size_t *length)
{
    const char *first = reader->text.data + reader->begin;
    size_t n = end - reader->begin;
    if (n && first[n - 1] == '\r') n--;
    if (reader->number++ == 0 && n >= 3 && !memcmp(first, "\xEF\xBB\xBF", 3)) {
        first += 3;
        n -= 3;
    }
    *line = first;
    *length = n;
    reader->begin = reader->seen = next;
    return 1;
}

/* Nothing, or only a byte order mark, is left. */
static bool is_empty(const LineReader *reader)
{
    const char *rest = reader->text.data + reader->begin;
    size_t n = reader->text.n - reader->begin;
    return !n || (!reader->number && n == 3 && !memcmp(rest, "\xEF\xBB\xBF", 3));
}

int lines_next(LineReader *reader, const char **line, size_t *length, Error *error)
{
    for (;;) {
        const char *end = NULL;
        if (reader->seen < reader->text.n)
            end = memchr(reader->text.data + reader->seen, '\n', reader->text.n - reader->seen);
        if (end) {
            size_t at = (size_t)(end - reader->text.data);
            return give(reader, at, at + 1, line, length);
        }
        reader->seen = reader->text.n;
        if (reader->ended) return is_empty(reader) ? 0 : give(reader, reader->text.n, reader->text.n, line, length);
        if (reader->damaged) fail_damaged(reader, error);
        if (reader->damaged || !fill(reader, error)) return -1;
    }
}

/* ---- whole files ---- */

static bool read_file(LineReader *reader, bool normalize, LineArray *lines, Error *error)
{
    Text normal = {0};
    const char *line;
    size_t n;
    int status;
    while ((status = lines_next(reader, &line, &n, error)) > 0) {
        if (normalize) {
            text_normalize(&normal, line, n);
            line = normal.data;
            n = normal.n;
        }
        text_append(&lines->text, line, n);
        ARRAY_RESERVE(lines->start, lines->n + 1, lines->start_capacity);
        lines->start[++lines->n] = lines->text.n;
    }
    text_free(&normal);
    return status == 0;
}

bool lines_read_all(const Words *files, bool normalize, LineArray *lines, Error *error)
{
    LineArray new = {0};
    ARRAY_RESERVE(new.start, new.n, new.start_capacity);
    new.start[0] = 0;
    for (int i = 0; i < files->n; i++) {
        LineReader *reader = lines_open(files->word[i], error);
        bool good = reader && read_file(reader, normalize, &new, error);
        lines_close(reader);
        if (!good) {
            lines_array_free(&new);
            return false;
        }
    }
    *lines = new;
    return true;
}

const char *lines_get(const LineArray *lines, size_t i, size_t *length)
{
    CHECK(i < lines->n, "line %zu of %zu", i, lines->n);
    *length = lines->start[i + 1] - lines->start[i];
    return *length ? lines->text.data + lines->start[i] : "";
}

void lines_array_free(LineArray *lines)
{
    text_free(&lines->text);
    mem_free(lines->start);
    *lines = (LineArray){0};
}
