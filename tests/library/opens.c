/* opens N MODEL: opened, used and closed N times: memory, threads and files don't grow. */
#include "tests/library/host.h"

#include <dirent.h>
#include <malloc.h>
#include <time.h>

static int entries(const char *folder)
{
    DIR *opened = opendir(folder);
    EXPECT(opened, "%s", folder);
    int n = 0;
    while (readdir(opened)) n++;
    closedir(opened);
    return n;
}

/* Threads that were ended are a moment later gone. */
static int threads_at_rest(int wanted)
{
    int n = entries("/proc/self/task");
    for (int i = 0; i < 1000 && n > wanted; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
        n = entries("/proc/self/task");
    }
    return n;
}

int main(int argc, char **argv)
{
    EXPECT(argc == 3, "opens N MODEL");
    const char *line = "the small cat";
    const int n = atoi(argv[1]), warm = 20;
    EXPECT(n > warm, "%d", n);
    size_t before = 0, after = 0;
    int files = 0, threads = 0;
    for (int i = 0; i < n; i++) {
        ferry_model *model = open_model(argv[2], NULL);
        ferry_result *result = ferry_translate(model, &line, NULL, 1, NULL, NULL);
        EXPECT(result, "translate");
        ferry_free(result);
        ferry_close(model);
        if (i + 1 > warm)
            EXPECT(threads_at_rest(threads) <= threads, "%d threads, %d before", entries("/proc/self/task"), threads);
        const struct mallinfo2 memory = mallinfo2();
        after = memory.uordblks + memory.hblkhd;
        if (i + 1 != warm) continue;
        before = after;
        nanosleep(&(struct timespec){.tv_nsec = 100 * 1000 * 1000}, NULL);
        files = entries("/proc/self/fd");
        threads = entries("/proc/self/task"); /* 1 with GNU OpenMP; clang's keeps its threads */
    }
    EXPECT(entries("/proc/self/fd") == files, "%d files, %d before", entries("/proc/self/fd"), files);
    EXPECT(after <= before + (32 << 10), "%zu bytes after %d times, %zu after %d", after, n, before, warm);
    printf("%zu bytes after %d times, %zu after %d\n", before, warm, after, n);
    return 0;
}
