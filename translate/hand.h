/* A thread of the library's own, which does what callers' threads ask for: with all signals blocked but those of
 * faults, the standard floating-point mode, the locale "C", and OpenMP as the process began with it. So nothing that a
 * caller has set for its thread counts, and nothing that is set here shows to it; and a team of OpenMP threads, once
 * begun, is kept with it, where a new thread a call would begin one each time. */
#ifndef FERRY_TRANSLATE_HAND_H
#define FERRY_TRANSLATE_HAND_H

typedef struct Hand Hand;

/* NULL if there is no memory, or no thread, for one. */
Hand *hand_new(void);

/* Let it call work(context), and wait. While it works, poll(poll_context) is called some 50 times a second by the
 * calling thread (NULL: isn't). One call at a time. */
void hand_run(Hand *hand, void (*work)(void *context), void *context, void (*poll)(void *context), void *poll_context);

/* End the thread. NULL is allowed. */
void hand_free(Hand *hand);

#endif
