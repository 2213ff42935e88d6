/* Stopping cleanly: SIGINT (Ctrl-C), SIGTERM and SIGHUP (the terminal is gone) end the program with exit code 128 + signal, at
 * once or, where there is something to finish, when that is done; then a second one ends it at once. */
#ifndef FERRY_SYSTEM_SIGNALS_H
#define FERRY_SYSTEM_SIGNALS_H

/* From now on, catch the three (not one that the parent had set to be ignored, as nohup and & do) and end at once. */
void signals_catch(void);

/* From now on, the first only sets what signals_stop_requested returns. Also ignore SIGPIPE: in `ferry train ... 2>&1 | tee
 * log`, Ctrl-C ends tee, too, and our next message must not cost the last checkpoint. */
void signals_defer(void);

/* The signal that asked for a stop, or 0. */
int signals_stop_requested(void);

#endif
