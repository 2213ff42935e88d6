#include "system/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WIDTH = 500 };

void progress_init(Progress *progress, FILE *out)
{
    const char *kind = getenv("TERM");
    bool terminal = isatty(fileno(out)) && kind && strcmp(kind, "dumb");
    *progress = (Progress){.out = out, .terminal = terminal, .interval = terminal ? 0.2 : 5, .last = -INFINITY};
}

bool progress_due(const Progress *progress)
{
    return progress_clock() - progress->last >= progress->interval;
}

/* Columns that a line may take: one less than there are, for some terminals wrap when the last one is filled. */
static int line_width(const Progress *progress)
{
    struct winsize size;
    if (!progress->terminal) return MAX_WIDTH - 1;
    if (ioctl(fileno(progress->out), TIOCGWINSZ, &size) || size.ws_col < 2) return 79;
    return size.ws_col < MAX_WIDTH ? size.ws_col - 1 : MAX_WIDTH - 1;
}

/* Cut `text` after `width` characters of UTF-8. */
static void cut(char *text, int width)
{
    for (; *text; text++)
        if ((*text & 0xc0) != 0x80 && width-- == 0) break;
    *text = '\0';
}

void progress_state(Progress *progress, const char *format, ...)
{
    if (!progress_due(progress)) return;
    char text[4 * MAX_WIDTH];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cut(text, line_width(progress));
    /* The cursor goes back to the start, so that a message from elsewhere overwrites the state rather than follow it. */
    if (progress->terminal) fprintf(progress->out, "\r\033[K%s\r", text);
    else fprintf(progress->out, "%s\n", text);
    fflush(progress->out);
    progress->shown = progress->terminal;
    progress->last = progress_clock();
}

void progress_line(Progress *progress, const char *format, ...)
{
    progress_clear(progress);
    va_list args;
    va_start(args, format);
    vfprintf(progress->out, format, args);
    va_end(args);
    putc('\n', progress->out);
    fflush(progress->out);
}

void progress_clear(Progress *progress)
{
    if (!progress->shown) return;
    fputs("\r\033[K", progress->out);
    fflush(progress->out);
    progress->shown = false;
    progress->last = -INFINITY;
}

double progress_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

char *progress_duration(char out[FIGURE_SIZE], double seconds)
{
    if (!(seconds >= 0 && seconds < 1e9)) snprintf(out, FIGURE_SIZE, "?");
    else if (seconds < 0.9995) snprintf(out, FIGURE_SIZE, "%.3f s", seconds);
    else if (seconds < 9.95) snprintf(out, FIGURE_SIZE, "%.1f s", seconds);
    else if (seconds < 59.5) snprintf(out, FIGURE_SIZE, "%.0f s", seconds);
    else {
        long whole = lround(seconds), hours = whole / 3600, minutes = whole / 60 % 60;
        if (hours) snprintf(out, FIGURE_SIZE, "%ld:%02ld:%02ld", hours, minutes, whole % 60);
        else snprintf(out, FIGURE_SIZE, "%ld:%02ld", minutes, whole % 60);
    }
    return out;
}

/* Three digits, and the power of 1000 that they are counted in. */
static char *figure(char out[FIGURE_SIZE], double value, const char *const units[], int n_units)
{
    int unit = 0;
    while (fabs(value) >= 999.5 && unit < n_units - 1) {
        value /= 1000;
        unit++;
    }
    int decimals = unit == 0 || fabs(value) >= 99.95 ? 0 : fabs(value) >= 9.995 ? 1 : 2;
    snprintf(out, FIGURE_SIZE, "%.*f%s", decimals, value, units[unit]);
    return out;
}

char *progress_count(char out[FIGURE_SIZE], double count)
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    return figure(out, count, units, 5);
}

char *progress_bytes(char out[FIGURE_SIZE], double bytes)
{
    static const char *const units[] = {" B", " kB", " MB", " GB", " TB"};
    return figure(out, bytes, units, 5);
}
