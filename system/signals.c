#include "system/signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t deferred, stop_signal;

static void on_signal(int number)
{
    if (!deferred || stop_signal) _exit(128 + number);
    stop_signal = number;
}

void signals_catch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
        sigemptyset(&action.sa_mask);
        sigaction(numbers[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) sigaction(numbers[i], &action, NULL);
    }
}

void signals_defer(void)
{
    signal(SIGPIPE, SIG_IGN);
    deferred = 1;
}

int signals_stop_requested(void)
{
    return stop_signal;
}
