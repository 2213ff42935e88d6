/* host MODEL SOURCE: what a program has set for itself neither counts nor changes: OpenMP regions, floating-point
 * mode, locale, signals, environment; and children after fork(). */
#include "tests/library/host.h"

#include <fenv.h>
#include <locale.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static Lines source;
static ferry_result *expected; /* of a beam of 4, before anything is set */

static ferry_call call;

/* Opens, translates, compares. */
static void open_and_compare(const char *name)
{
    ferry_model *model = open_model(name, NULL);
    ferry_result *result = translate(model, &source, &call);
    expect_same(expected, result);
    ferry_free(result);
    ferry_close(model);
}

static void parallel_regions(const char *name)
{
    omp_set_num_threads(3);
    omp_set_dynamic(1);
    ferry_model *model = open_model(name, NULL);
    int n = 0;
#pragma omp parallel num_threads(3) reduction(+ : n)
    {
        ferry_result *result = translate(model, &source, &call);
        expect_same(expected, result);
        ferry_free(result);
        n++;
#pragma omp barrier
    }
    EXPECT(n >= 1, "%d threads", n);
    ferry_close(model);
    EXPECT(omp_get_max_threads() == 3 && omp_get_dynamic(), "%d threads", omp_get_max_threads());
    omp_set_dynamic(0);
    n = 0;
#pragma omp parallel reduction(+ : n)
    n++;
    EXPECT(n == 3, "%d threads", n);
}

static void rounding(const char *name)
{
    fenv_t mode;
    fesetround(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
#ifdef __SSE__
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); /* flush to zero, denormals are zeros */
    const unsigned before = __builtin_ia32_stmxcsr();
#endif
    open_and_compare(name);
#ifdef __SSE__
    EXPECT(__builtin_ia32_stmxcsr() == before, "%x, %x before", __builtin_ia32_stmxcsr(), before);
#endif
    EXPECT(fegetround() == FE_UPWARD, "%d", fegetround());
    EXPECT(!fetestexcept(FE_ALL_EXCEPT), "%d", fetestexcept(FE_ALL_EXCEPT));
    EXPECT(!fegetenv(&mode) && !fesetenv(FE_DFL_ENV), "the mode");
}

/* A locale whose numbers have a comma, if there is one here. */
static void numbers(const char *name)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "de_DE", "fr_FR"};
    const char *found = getenv("COMMA_LOCALE") ? setlocale(LC_ALL, getenv("COMMA_LOCALE")) : NULL;
    for (size_t i = 0; !found && i < sizeof names / sizeof *names; i++) found = setlocale(LC_ALL, names[i]);
    if (!found) {
        puts("no locale with a comma");
        return;
    }
    char before[64];
    snprintf(before, sizeof before, "%s", found);
    char number[32];
    snprintf(number, sizeof number, "%.1f", 0.5);
    EXPECT(!strcmp(number, "0,5"), "%s in %s", number, before);
    open_and_compare(name);
    EXPECT(!strcmp(setlocale(LC_ALL, NULL), before), "%s, not %s", setlocale(LC_ALL, NULL), before);
    setlocale(LC_ALL, "C");
}

static pthread_t self;
static volatile sig_atomic_t n_signals, n_elsewhere;

static void on_signal(int number)
{
    (void)number;
    n_signals++;
    if (!pthread_equal(pthread_self(), self)) n_elsewhere++;
}

/* A timer whose signals come again and again: only the program's own thread has them. */
static void signals(const char *name)
{
    sigset_t before, after;
    self = pthread_self();
    const struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGALRM, &action, NULL);
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    const struct itimerval every = {.it_interval.tv_usec = 500, .it_value.tv_usec = 500}, never = {0};
    setitimer(ITIMER_REAL, &every, NULL);
    while (n_signals < 50) open_and_compare(name);
    setitimer(ITIMER_REAL, &never, NULL);
    EXPECT(!n_elsewhere, "%d of %d signals", (int)n_elsewhere, (int)n_signals);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (int i = 1; i < 32; i++) EXPECT(sigismember(&before, i) == sigismember(&after, i), "signal %d", i);
}

static size_t n_environment(void)
{
    size_t n = 0;
    while (environ[n]) n++;
    return n;
}

static void ends_well(pid_t child)
{
    int status;
    EXPECT(child > 0 && waitpid(child, &status, 0) == child, "fork");
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %x", (unsigned)status);
}

static void children(const char *name)
{
    ferry_model *model = open_model(name, NULL);
    ferry_free(translate(model, &source, &call));
    const pid_t child = fork();
    if (child == 0) {
        ferry_error error;
        FERRY_INIT(error);
        alarm(60); /* a child that hangs fails */
        EXPECT(!ferry_translate(model, source.line, NULL, source.n, NULL, &error), "the parent's model translates");
        EXPECT(error.code == FERRY_USAGE && strstr(error.text, "fork"), "%s", error.text);
        ferry_close(model);
        open_and_compare(name);
        open_and_compare(name);
        _exit(0);
    }
    ends_well(child);
    ferry_result *result = translate(model, &source, &call);
    expect_same(expected, result);
    ferry_free(result);
    ferry_close(model);
}

static ferry_model *shared;
static volatile int enough;

static void *go_on(void *context)
{
    (void)context;
    while (!enough) ferry_free(translate(shared, &source, &call));
    return NULL;
}

/* Children are born while another thread translates. */
static void children_at_work(const char *name)
{
    pthread_t thread;
    shared = open_model(name, NULL);
    enough = 0;
    EXPECT(!pthread_create(&thread, NULL, go_on, NULL), "a thread");
    for (int i = 0; i < 8; i++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            open_and_compare(name);
            _exit(0);
        }
        ends_well(child);
    }
    enough = 1;
    pthread_join(thread, NULL);
    ferry_close(shared);
}

int main(int argc, char **argv)
{
    EXPECT(argc == 3, "host MODEL SOURCE");
    static const char *settings[] = {"beam=4", "length_penalty=0.5", NULL};
    source = lines_read(argv[2]);
    FERRY_INIT(call);
    call.settings = settings;
    call.n_best = 2;
    const size_t n = n_environment();
    ferry_model *model = open_model(argv[1], NULL);
    expected = translate(model, &source, &call);
    ferry_close(model);
    /* Any number of threads gives the same. */
    ferry_open_options options;
    FERRY_INIT(options);
    for (options.threads = 1; options.threads <= 5; options.threads += 2) {
        model = open_model(argv[1], &options);
        ferry_result *result = translate(model, &source, &call);
        expect_same(expected, result);
        ferry_free(result);
        ferry_close(model);
    }
    parallel_regions(argv[1]);
    rounding(argv[1]);
    numbers(argv[1]);
    signals(argv[1]);
    EXPECT(n_environment() == n, "%zu, not %zu variables", n_environment(), n);
    children(argv[1]);
    children_at_work(argv[1]);
    ferry_free(expected);
    lines_end(&source);
    return 0;
}
