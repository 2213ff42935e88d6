#include "train/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/memory.h"
#include "data/strings.h"
#include "run/run.h"
#include "system/progress.h"

/* The end of the index. Before it lie start[2 * n_pairs + 1] and the counts of each corpus. */
typedef struct StoreEnd {
    char mark[16];
    uint64_t key;  /* what the store was made from */
    uint64_t hash; /* bitext_hash */
    uint64_t n_pairs, n_tokens, n_parts, width;
    uint64_t crc; /* CRC-32 of the counts and of this up to here */
} StoreEnd;

static const char mark[16] = "ferry store 1";

static uint64_t end_crc(const BitextCounts *counts, const StoreEnd *end)
{
    uLong crc = crc32_z(0, (const unsigned char *)counts, end->n_parts * sizeof *counts);
    return crc32_z(crc, (const unsigned char *)end, offsetof(StoreEnd, crc));
}

/* ---- what it is made from ---- */

/* `copy` is the name of our own file, whose time of change is that of its renaming. */
static void describe_file(Text *out, const char *path, const char *copy)
{
    struct stat s = {0};
    if (stat(path, &s)) return; /* reading it will say why */
    if (copy && !strcmp(path, copy)) s.st_ctim = s.st_mtim;
    text_append_format(out, " %lld bytes, number %llu, modified %lld.%09ld, changed %lld.%09ld;", (long long)s.st_size,
                       (unsigned long long)s.st_ino, (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec,
                       (long long)s.st_ctim.tv_sec, s.st_ctim.tv_nsec);
}

static uint64_t key_of(const StoreOrigin *origin)
{
    Text text = {0};
    text_append_format(&text, "tokenizer %08" PRIx32 ", at most %d tokens, ratio %a:", tokenizer_hash(origin->tokenizer),
                       origin->filter.max_length, origin->filter.max_ratio);
    for (int i = 0; i < origin->n_corpora; i++) {
        const Corpus *corpus = &origin->corpus[i];
        describe_file(&text, corpus->source, origin->copy);
        if (corpus->target) describe_file(&text, corpus->target, origin->copy);
        text_append(&text, "|", 1);
    }
    const uint64_t key = strings_hash(text.data, text.n);
    text_free(&text);
    return key;
}

/* ---- opening ---- */

static void unmap(StoreMap *map)
{
    if (map->data) munmap((void *)map->data, map->bytes);
    *map = (StoreMap){0};
}

/* Map a file. False if it isn't there, is empty or can't be mapped; *error says why, except if it isn't there. */
static bool map_file(StoreMap *map, const char *path, Error *error)
{
    struct stat status;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const bool missing = file < 0 && errno == ENOENT;
    void *data = MAP_FAILED;
    if (file >= 0 && !fstat(file, &status)) {
        errno = EINVAL; /* of an empty file */
        if (status.st_size > 0) data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, file, 0);
    }
    if (data != MAP_FAILED) *map = (StoreMap){.data = data, .bytes = (size_t)status.st_size};
    else if (!missing) error_set(error, "%s can't be mapped into memory: %s", path, strerror(errno));
    if (file >= 0) close(file);
    return data != MAP_FAILED;
}

/* The end of the index, if it and the sizes of both files are sound; NULL if not. */
static const StoreEnd *find_end(const Store *store)
{
    if (store->index.bytes < sizeof(StoreEnd)) return NULL;
    const size_t at = store->index.bytes - sizeof(StoreEnd);
    const StoreEnd *end = (const void *)((const char *)store->index.data + at);
    if (at % sizeof(uint64_t) || memcmp(end->mark, mark, sizeof mark) || (end->width != 2 && end->width != 4)) return NULL;
    if (end->n_pairs > UINT32_MAX || end->n_tokens > SIZE_MAX / 4 || end->n_parts > at / sizeof(BitextCounts)) return NULL;
    const size_t start_bytes = (2 * end->n_pairs + 1) * sizeof(uint64_t), counts_bytes = end->n_parts * sizeof(BitextCounts);
    if (at != start_bytes + counts_bytes || store->tokens.bytes != end->n_tokens * end->width) return NULL;
    const BitextCounts *counts = (const void *)((const char *)store->index.data + start_bytes);
    return end_crc(counts, end) == end->crc ? end : NULL;
}

static bool borders_are_sound(const uint64_t *start, const StoreEnd *end)
{
    bool good = start[0] == 0 && start[2 * end->n_pairs] == end->n_tokens;
    for (size_t i = 0; i < 2 * end->n_pairs && good; i++)
        good = start[i] <= start[i + 1] && start[i + 1] - start[i] <= INT32_MAX;
    return good;
}

/* Let the bitext be what the maps hold. */
static void lend(Store *store, const StoreEnd *end, Bitext *bitext)
{
    const uint64_t *start = store->index.data;
    const BitextCounts *counts = (const void *)(start + 2 * end->n_pairs + 1);
    store->hash = end->hash;
    *bitext = (Bitext){.sides = {.width = (int)end->width, .data = (void *)store->tokens.data, .start = (uint64_t *)start,
                                 .n = 2 * end->n_pairs}};
    store->counts = mem_alloc(end->n_parts * sizeof *store->counts);
    for (size_t i = 0; i < end->n_parts; i++) {
        store->counts[i] = counts[i];
        bitext_add_part(bitext, 1);
        bitext->part[i].n_pairs = (uint32_t)counts[i].n_pairs;
        bitext_add_counts(&bitext->counts, &counts[i]);
    }
}

/* Tell the kernel how the maps will be read. */
static void advise(const Store *store, int advice)
{
    madvise((void *)store->tokens.data, store->tokens.bytes, advice);
    madvise((void *)store->index.data, store->index.bytes, advice);
}

typedef enum Found { FOUND, FOUND_NOTHING, FOUND_OTHER, FOUND_DAMAGED } Found;

static void unmap_all(Store *store)
{
    mem_free(store->counts);
    store->counts = NULL;
    unmap(&store->tokens);
    unmap(&store->index);
}

/* Open what is there. What is not FOUND leaves the maps and the bitext empty. */
static Found find(Store *store, Bitext *bitext, const char *tokens, const char *index, uint64_t key, Error *error)
{
    *bitext = (Bitext){0};
    Found found = FOUND_NOTHING;
    if (map_file(&store->index, index, error) && map_file(&store->tokens, tokens, error)) {
        const StoreEnd *end = find_end(store);
        found = !end ? FOUND_DAMAGED : end->key != key ? FOUND_OTHER : FOUND;
        if (found == FOUND) {
            advise(store, MADV_SEQUENTIAL);
            found = borders_are_sound(store->index.data, end) ? FOUND : FOUND_DAMAGED;
        }
        if (found == FOUND) {
            lend(store, end, bitext);
            if (bitext_hash(bitext) != store->hash) found = FOUND_DAMAGED;
            advise(store, MADV_RANDOM);
        }
    }
    if (found != FOUND) {
        bitext_free(bitext);
        unmap_all(store);
    }
    return found;
}

/* ---- making ---- */

/* A file that is written through a buffer. */
typedef struct Output {
    AtomicFile *file;
    unsigned char *buffer;
    size_t n;
} Output;

enum { BUFFER = 1 << 18 };

typedef struct Writer {
    Output tokens, index;
    int width;
    uint64_t n_tokens, n_pairs, hash;
    unsigned char *packed; /* the tokens of a side */
    size_t packed_capacity;
    Progress progress;
} Writer;

static bool open_output(Output *output, const char *folder, const char *name, Error *error)
{
    char *path = path_join(folder, name);
    *output = (Output){.file = file_create(path, error), .buffer = mem_alloc(BUFFER)};
    mem_free(path);
    return output->file != NULL;
}

static bool flush(Output *output, Error *error)
{
    const size_t n = output->n;
    output->n = 0;
    return file_write(output->file, output->buffer, n, error);
}

static bool put(Output *output, const void *bytes, size_t n, Error *error)
{
    for (const char *from = bytes; n;) {
        if (output->n == BUFFER && !flush(output, error)) return false;
        const size_t some = n < BUFFER - output->n ? n : BUFFER - output->n;
        memcpy(output->buffer + output->n, from, some);
        output->n += some;
        from += some;
        n -= some;
    }
    return true;
}

static bool put_side(Writer *w, const int32_t *token, size_t n, Error *error)
{
    const size_t bytes = n * (size_t)w->width;
    if (bytes > w->packed_capacity) {
        mem_free(w->packed);
        w->packed_capacity = 2 * bytes;
        w->packed = mem_alloc(w->packed_capacity);
    }
    sequences_pack(w->width, token, n, w->packed);
    w->n_tokens += n;
    return put(&w->tokens, w->packed, bytes, error) && put(&w->index, &w->n_tokens, sizeof w->n_tokens, error);
}

/* BitextTake of a Writer */
static bool put_pair(void *self, const int32_t *source, size_t n_source, const int32_t *target, size_t n_target, Error *error)
{
    Writer *w = self;
    w->hash = bitext_hash_pair(w->hash, source, n_source, target, n_target);
    char count[FIGURE_SIZE];
    if (++w->n_pairs % 4096 == 0)
        progress_state(&w->progress, "tokenizing: %s pairs", progress_count(count, (double)w->n_pairs));
    return put_side(w, source, n_source, error) && put_side(w, target, n_target, error);
}

static bool write_all(Writer *w, const StoreOrigin *from, uint64_t key, Error *error)
{
    const size_t n = (size_t)from->n_corpora;
    StoreEnd end = {.key = key, .n_parts = n, .width = (uint64_t)w->width};
    BitextCounts *counts = mem_zalloc(n * sizeof *counts), total = {0};
    bool good = put(&w->index, &w->n_tokens, sizeof w->n_tokens, error); /* where the first one begins */
    for (size_t i = 0; i < n && good; i++) {
        good = bitext_read(&from->corpus[i], from->tokenizer, &from->filter, put_pair, w, &counts[i], error);
        bitext_add_counts(&total, &counts[i]);
    }
    memcpy(end.mark, mark, sizeof mark);
    end.hash = w->hash;
    end.n_pairs = w->n_pairs;
    end.n_tokens = w->n_tokens;
    end.crc = end_crc(counts, &end);
    good = good && bitext_check(&total, from->corpus, from->n_corpora, &from->filter, error) &&
           put(&w->index, counts, n * sizeof *counts, error) && put(&w->index, &end, sizeof end, error) &&
           flush(&w->tokens, error) && flush(&w->index, error);
    mem_free(counts);
    return good;
}

static bool finish(Output *output, AtomicFile **file, Error *error)
{
    *file = output->file;
    output->file = NULL;
    return file_flush(*file, error);
}

/* Into temporaries, which store_close removes. */
static bool make(Store *store, const char *folder, const StoreOrigin *origin, uint64_t key, Error *error)
{
    Writer w = {.width = sequences_width(tokenizer_size(origin->tokenizer))};
    progress_init(&w.progress, stderr);
    w.progress.last = progress_clock(); /* what takes a moment needs no report */
    const bool good = open_output(&w.tokens, folder, RUN_TOKENS, error) &&
                      open_output(&w.index, folder, RUN_INDEX, error) &&
                      write_all(&w, origin, key, error) && finish(&w.tokens, &store->new_tokens, error) &&
                      finish(&w.index, &store->new_index, error);
    progress_clear(&w.progress);
    file_abandon(w.tokens.file);
    file_abandon(w.index.file);
    mem_free(w.tokens.buffer);
    mem_free(w.index.buffer);
    mem_free(w.packed);
    return good;
}

/* ---- both ---- */

static Found find_old(Store *store, Bitext *bitext, const char *folder, uint64_t key)
{
    Error why = {0}; /* it doesn't matter: the text is there */
    char *tokens = path_join(folder, RUN_TOKENS), *index = path_join(folder, RUN_INDEX);
    const Found found = find(store, bitext, tokens, index, key, &why);
    mem_free(tokens);
    mem_free(index);
    if (found == FOUND_DAMAGED)
        warn("%s/%s or %s is damaged; the text is tokenized again", folder, RUN_TOKENS, RUN_INDEX);
    return found;
}

static bool make_new(Store *store, Bitext *bitext, const char *folder, const StoreOrigin *origin, uint64_t key,
                     Error *error)
{
    if (!make(store, folder, origin, key, error)) return false;
    const char *tokens = file_temporary(store->new_tokens), *index = file_temporary(store->new_index);
    return find(store, bitext, tokens, index, key, error) == FOUND ||
           error_set(error, "%s: what was just written for %s and %s is not what is there", folder, RUN_TOKENS,
                     RUN_INDEX);
}

bool store_open(Store *store, Bitext *bitext, const char *folder, const StoreOrigin *origin, Error *error)
{
    const uint64_t key = key_of(origin);
    *store = (Store){0};
    if (find_old(store, bitext, folder, key) != FOUND && !make_new(store, bitext, folder, origin, key, error)) {
        store_close(store);
        return false;
    }
    for (int i = 0; i < origin->n_corpora; i++) bitext->part[i].weight = origin->corpus[i].weight;
    return true;
}

bool store_commit(Store *store, Error *error)
{
    AtomicFile *tokens = store->new_tokens, *index = store->new_index;
    store->new_tokens = store->new_index = NULL;
    /* The index goes with tokens of its own hash alone, so it doesn't matter when the machine stops. */
    bool good = !tokens || file_commit(tokens, error);
    if (good && index) good = file_commit(index, error);
    else file_abandon(index);
    return good;
}

void store_close(Store *store)
{
    unmap_all(store);
    file_abandon(store->new_tokens);
    file_abandon(store->new_index);
    *store = (Store){0};
}
