/* failing MODEL SOURCE: memory lacks at each allocation of the library in turn (linked with -Wl,--wrap=malloc,..): an
 * error, nothing is lost, and the next call works. What other libraries allocate isn't made to fail. */
#include "tests/library/host.h"

#include <dirent.h>
#include <pthread.h>
#include <time.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
void __wrap_free(void *block);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long n_calls, fail_at, n_failed, n_live; /* fail_at 0: none fails; from the one on: all of them, if `lasting` */
static int lasting;

static int refused(void)
{
    pthread_mutex_lock(&lock);
    n_calls++;
    const int no = fail_at && (n_calls == fail_at || (lasting && n_calls > fail_at));
    n_failed += no;
    n_live += !no;
    pthread_mutex_unlock(&lock);
    return no;
}

void *__wrap_malloc(size_t bytes)
{
    return refused() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return refused() ? NULL : __real_calloc(n, bytes);
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    return refused() ? NULL : __real_aligned_alloc(align, bytes);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    EXPECT(!block, "the library is known to use no realloc of a block");
    return refused() ? NULL : __real_realloc(block, bytes);
}

void __wrap_free(void *block)
{
    pthread_mutex_lock(&lock);
    n_live -= block != NULL;
    pthread_mutex_unlock(&lock);
    __real_free(block);
}

static void fail_from(long nth)
{
    pthread_mutex_lock(&lock);
    n_calls = n_failed = 0;
    fail_at = nth;
    pthread_mutex_unlock(&lock);
}

static Lines source;
static ferry_error error;

/* Threads that end may have one open for a moment. */
static int n_files(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200 * 1000}, NULL);
    DIR *folder = opendir("/proc/self/fd");
    EXPECT(folder, "/proc/self/fd");
    int n = 0;
    while (readdir(folder)) n++;
    closedir(folder);
    return n;
}

enum { N_KINDS = 4 };

static ferry_result *run(ferry_model *model, int kind)
{
    ferry_call call;
    FERRY_INIT(call);
    const char *settings[] = {"beam=3", "max_source=5", NULL}, *bad = "nothing-like-this";
    call.settings = settings;
    call.n_best = 2;
    call.alignments = call.token_scores = 1;
    switch (kind) {
    case 0: return ferry_translate(model, source.line, NULL, source.n, &call, &error);
    case 1: return ferry_score(model, source.line, NULL, source.line, NULL, source.n, &call, &error);
    case 2: return ferry_tokenize(model, source.line, NULL, source.n, NULL, &error);
    default: return ferry_detokenize(model, &bad, NULL, 1, NULL, &error); /* an error of its own */
    }
}

/* Returns whether an allocation failed; then there must be an error that says so. */
static int told(const void *object, const char *what, long nth)
{
    const long failed = n_failed;
    fail_from(0);
    if (failed) EXPECT(!object && error.code == FERRY_NO_MEMORY && *error.text, "%s, allocation %ld: %d %s", what, nth,
                       error.code, error.text);
    return failed != 0;
}

/* Lack of memory at the nth allocation of each kind of call with an opened model, which then works. */
static long calls_lack(const char *name, int kind)
{
    ferry_model *model = NULL;
    ferry_result *expected = NULL;
    if (kind != N_KINDS - 1) {
        model = open_model(name, NULL);
        expected = run(model, kind);
        EXPECT(expected, "%s", error.text);
    }
    for (long nth = 1;; nth++) {
        if (!model) model = open_model(name, NULL);
        fail_from(nth);
        ferry_result *result = run(model, kind);
        const int failed = told(result, "a call", nth);
        ferry_free(result);
        result = run(model, kind);
        if (expected) {
            EXPECT(result, "after allocation %ld failed: %s", nth, error.text);
            expect_same(expected, result);
        } else {
            EXPECT(!result && error.code == FERRY_FAILED, "after allocation %ld failed: %s", nth, error.text);
        }
        ferry_free(result);
        /* A new model has no context yet that is set up. */
        ferry_close(model);
        model = NULL;
        if (failed) continue;
        ferry_free(expected);
        return nth - 1;
    }
}

static long opens_lack(const char *name)
{
    const int files = n_files();
    for (long nth = 1;; nth++) {
        const long live = n_live;
        fail_from(nth);
        ferry_model *model = ferry_open(&name, 1, NULL, &error);
        const int failed = told(model, "open", nth);
        ferry_close(model);
        for (int i = 0; i < 100 && n_files() > files; i++) continue;
        EXPECT(n_files() <= files, "allocation %ld failed: %d files are open, %d before", nth, n_files(), files);
        EXPECT(n_live == live, "allocation %ld failed: %ld blocks are lost", nth, n_live - live);
        if (!failed) return nth - 1;
    }
}

int main(int argc, char **argv)
{
    EXPECT(argc == 3, "failing MODEL SOURCE");
    FERRY_INIT(error);
    source = lines_read(argv[2]);
    if (source.n > 4) source.n = 4;
    ferry_close(open_model(argv[1], NULL)); /* what is found out once */
    const long live = n_live;
    for (lasting = 0; lasting < 2; lasting++) {
        printf("open: %ld allocations\n", opens_lack(argv[1]));
        for (int kind = 0; kind < N_KINDS; kind++)
            printf("call %d: %ld allocations\n", kind, calls_lack(argv[1], kind));
        EXPECT(n_live == live, "%ld blocks are lost", n_live - live);
    }
    lines_end(&source);
    return 0;
}
