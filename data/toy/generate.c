/* generate FOLDER: writes the toy corpus, FOLDER/{train,valid,test}.{en,fr}.gz. `make toy-data` runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/error.h"
#include "core/memory.h"
#include "data/toy/corpus.h"

/* Write the text as one gzip member whose header tells neither the time nor the system, so that it is always the same. */
static bool write_gzip(const char *path, const char *text, size_t length, Error *error)
{
    enum { GZIP_WINDOW = 15 + 16, UNKNOWN_SYSTEM = 255 };
    gz_header header = {.os = UNKNOWN_SYSTEM};
    z_stream stream = {0};
    CHECK(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) == Z_OK, "deflate");
    deflateSetHeader(&stream, &header);
    size_t room = deflateBound(&stream, (uLong)length);
    unsigned char *packed = mem_alloc(room);
    stream.next_in = (Bytef *)text;
    stream.avail_in = (uInt)length;
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END, "deflate");
    size_t size = room - stream.avail_out;
    deflateEnd(&stream);

    FILE *file = fopen(path, "wb");
    bool written = file && fwrite(packed, 1, size, file) == size;
    if (file && fclose(file)) written = false;
    mem_free(packed);
    if (!written) return error_set(error, "%s: can't be written; is its folder there and is there room?", path);
    return true;
}

/* One side of a part of the corpus, a sentence a line. */
static bool write_side(const char *folder, const CorpusPair *pairs, const CorpusPart *part, bool french, Error *error)
{
    size_t length = 0, capacity = 0;
    char *text = NULL;
    for (int i = part->first; i < part->first + part->count; i++)
        for (const char *c = french ? pairs[i].fr : pairs[i].en;; c++) {
            ARRAY_RESERVE(text, length, capacity);
            text[length++] = (char)(*c ? *c : '\n');
            if (!*c) break;
        }
    char *path = mem_format("%s/%s.%s.gz", folder, part->name, french ? "fr" : "en");
    bool written = write_gzip(path, text, length, error);
    mem_free(path);
    mem_free(text);
    return written;
}

int main(int argc, char **argv)
{
    Error error = {0};
    if (argc != 2) {
        fputs("usage: generate FOLDER\n", stderr);
        return ERROR_USAGE;
    }
    CorpusPair *pairs = corpus_make();
    bool written = true;
    for (int i = 0; written && i < CORPUS_PARTS; i++)
        written = write_side(argv[1], pairs, &corpus_parts[i], false, &error) &&
                  write_side(argv[1], pairs, &corpus_parts[i], true, &error);
    corpus_free(pairs);
    if (!written) fprintf(stderr, "generate: %s\n", error.text);
    return written ? EXIT_SUCCESS : EXIT_FAILURE;
}
