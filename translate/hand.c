#include "translate/hand.h"

#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

enum { POLL_NANOSECONDS = 20 * 1000 * 1000, SECOND = 1000 * 1000 * 1000, STACK_BYTES = 4 << 20 };

struct Hand {
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    void (*work)(void *context); /* what is to be done; NULL: nothing */
    void *context;
    bool ends;
};

static void *live(void *context)
{
    Hand *hand = context;
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain) uselocale(plain);
    fesetenv(FE_DFL_ENV);
    pthread_mutex_lock(&hand->lock);
    while (!hand->ends) {
        if (!hand->work) {
            pthread_cond_wait(&hand->changed, &hand->lock);
            continue;
        }
        pthread_mutex_unlock(&hand->lock);
        hand->work(hand->context);
        pthread_mutex_lock(&hand->lock);
        hand->work = NULL;
        pthread_cond_broadcast(&hand->changed);
    }
    pthread_mutex_unlock(&hand->lock);
    uselocale(LC_GLOBAL_LOCALE);
    if (plain) freelocale(plain);
    return NULL;
}

/* The thread, and those that it begins, take the mask of who begins it. */
static bool begin(Hand *hand)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    sigset_t blocked, before;
    pthread_attr_t attributes;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&blocked, faults[i]);
    if (pthread_attr_init(&attributes)) return false;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const bool good = pthread_create(&hand->thread, &attributes, live, hand) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return good;
}

Hand *hand_new(void)
{
    Hand *hand = calloc(1, sizeof *hand);
    if (!hand) return NULL;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&hand->lock, NULL);
    pthread_cond_init(&hand->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (begin(hand)) return hand;
    pthread_cond_destroy(&hand->changed);
    pthread_mutex_destroy(&hand->lock);
    free(hand);
    return NULL;
}

void hand_run(Hand *hand, void (*work)(void *context), void *context, void (*poll)(void *context), void *poll_context)
{
    int cancelling;
    /* Else waiting could end the caller's thread, with the lock held. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    pthread_mutex_lock(&hand->lock);
    hand->work = work;
    hand->context = context;
    pthread_cond_broadcast(&hand->changed);
    while (hand->work) {
        if (!poll) {
            pthread_cond_wait(&hand->changed, &hand->lock);
            continue;
        }
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += POLL_NANOSECONDS;
        until.tv_sec += until.tv_nsec / SECOND;
        until.tv_nsec %= SECOND;
        if (pthread_cond_timedwait(&hand->changed, &hand->lock, &until) == 0) continue;
        pthread_mutex_unlock(&hand->lock);
        poll(poll_context);
        pthread_mutex_lock(&hand->lock);
    }
    pthread_mutex_unlock(&hand->lock);
    pthread_setcancelstate(cancelling, NULL);
}

void hand_free(Hand *hand)
{
    if (!hand) return;
    pthread_mutex_lock(&hand->lock);
    hand->ends = true;
    pthread_cond_broadcast(&hand->changed);
    pthread_mutex_unlock(&hand->lock);
    pthread_join(hand->thread, NULL);
    pthread_cond_destroy(&hand->changed);
    pthread_mutex_destroy(&hand->lock);
    free(hand);
}
