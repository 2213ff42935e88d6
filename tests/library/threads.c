/* threads N SECONDS SOURCE MODEL...: N threads translate, score and tokenize with the models at once, for so many
 * seconds and once at least, and have the same as one thread alone. */
#include "tests/library/host.h"

#include <pthread.h>
#include <time.h>

enum { MOST = 64, N_KINDS = 3 };

static Lines source;
static int n_models;
static ferry_model *models[MOST];
static ferry_result *expected[MOST][N_KINDS];
static double seconds;

static ferry_result *run(ferry_model *model, int kind)
{
    ferry_call call;
    ferry_error error;
    FERRY_INIT(call);
    FERRY_INIT(error);
    const char *settings[] = {"beam=3", NULL};
    call.settings = settings;
    call.alignments = call.token_scores = 1;
    ferry_result *result;
    if (kind == 0) result = ferry_translate(model, source.line, NULL, source.n, &call, &error);
    else if (kind == 1) result = ferry_score(model, source.line, NULL, source.line, NULL, source.n, NULL, &error);
    else result = ferry_tokenize(model, source.line, NULL, source.n, NULL, &error);
    EXPECT(result, "%s", error.text);
    return result;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *work(void *number)
{
    const double end = now() + seconds;
    int i = (int)(size_t)number;
    do {
        const int model = i % n_models, kind = i / n_models % N_KINDS;
        ferry_result *result = run(models[model], kind);
        expect_same(expected[model][kind], result);
        ferry_free(result);
        i++;
    } while (now() < end);
    return NULL;
}

int main(int argc, char **argv)
{
    EXPECT(argc > 4 && argc - 4 <= MOST, "threads N SECONDS SOURCE MODEL...");
    const int n = atoi(argv[1]);
    EXPECT(n > 0 && n <= MOST, "%d threads", n);
    seconds = atof(argv[2]);
    source = lines_read(argv[3]);
    if (source.n > 8) source.n = 8;
    n_models = argc - 4;
    for (int i = 0; i < n_models; i++) {
        models[i] = open_model(argv[4 + i], NULL);
        for (int kind = 0; kind < N_KINDS; kind++) expected[i][kind] = run(models[i], kind);
    }
    pthread_t thread[MOST];
    for (int i = 0; i < n; i++) EXPECT(!pthread_create(&thread[i], NULL, work, (void *)(size_t)i), "thread %d", i);
    for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < n_models; i++) {
        for (int kind = 0; kind < N_KINDS; kind++) ferry_free(expected[i][kind]);
        ferry_close(models[i]);
    }
    lines_end(&source);
    return 0;
}
